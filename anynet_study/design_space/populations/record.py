"""How a population came about: a JSON record in the metadata of its table.

`format`, `resolution`, `classes` and `count`, always. Populations that were drawn also have
`space`, `seed`, the bands (`flops`, `parameters`, `activations`, where limited; meant at
`resolution` and `classes`), `strata` if there were any, and `candidates` (looked at until the last
was found), `in_space` (of these, those that obey the space's constraints), `in_band`,
`duplicates`, `acceptance` = in_band / in_space, `acceptance_interval` (95%). Those that were read
from a file that someone made have its name, `file`, and `sha256`.

`derived` lists what was done afterwards, in order: the `step`, which is the name of a method of
`Population`, its arguments, and how many architectures were `left`. `redraw.redrawn` does it all
again.
"""

import json
from typing import Any

import pyarrow as pa

from anynet_study.design_space.populations.table import METADATA_KEY, metadata

Record = dict[str, Any]


def record_of(table: pa.Table) -> Record:
    """Return the record of a population's table."""
    record: Record = json.loads(table.schema.metadata[METADATA_KEY])
    return record


def extended(table: pa.Table, step: str, arguments: Record) -> pa.Table:
    """Return the table, the result of a step, with that step added to its record."""
    record = record_of(table)
    steps = [*record.get("derived", []), {"step": step, **arguments, "left": table.num_rows}]
    return table.replace_schema_metadata(metadata({**record, "derived": steps}))


def counted_at(record: Record) -> tuple[int, int]:
    """Return the resolution and the number of classes at which costs are counted."""
    places = [record, *(step for step in record.get("derived", []) if step["step"] == "at")]
    return places[-1]["resolution"], places[-1]["classes"]
