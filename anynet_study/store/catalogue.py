"""Every record of every journal, without its arrays: which run, and where its bytes are."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from anynet_study.store.decoding import Columns
from anynet_study.store.frames import Frame, Reading
from anynet_study.store.journal import journal_blocks
from anynet_study.store.layout import CODED
from anynet_study.store.run_kind import RUN

NUMBERS = ("replicate", "error", "seconds", "started")
TEXTS = tuple(name for name in CODED if name != "journal")

#: A record: its scalars but `spec`; `journal` (number of its journal), `offset` and `end`
#: (its bytes there); `spec_bytes`, `epochs`, `images` (lengths).
SCHEMA = pa.schema(
    [
        ("run_id", pa.string()),
        *((name, pa.dictionary(pa.int32(), pa.string())) for name in TEXTS),
        ("replicate", pa.int32()),
        *((name, pa.float64()) for name in NUMBERS[1:]),
        *((name, pa.int32()) for name in ("journal", "epochs", "images")),
        *((name, pa.int64()) for name in ("offset", "end", "spec_bytes")),
    ]
)


def read_catalogue(paths: list[Path], readings: list[Reading]) -> pa.Table:
    """Read journals from where each reading ended; SCHEMA, in reading order.

    Raises UserError or OSError as `journal_frames`.
    """
    blocks = [SCHEMA.empty_table()]
    for number, (path, reading) in enumerate(zip(paths, readings, strict=True)):
        for frames, columns in journal_blocks(RUN, path, reading):
            blocks.append(_table(number, frames, columns))
    return joined(blocks)


def joined(tables: Sequence[pa.Table]) -> pa.Table:
    """Tables of SCHEMA as one."""
    return pa.concat_tables(tables).unify_dictionaries().combine_chunks()


def winners(records: pa.Table) -> NDArray[np.int64]:
    """Row numbers of the one record kept of every run, ascending.

    A completed or diverged record beats a failed one; else the first by (started, journal).
    """
    failed = pc.equal(records["status"], "failed").to_numpy()
    keys = (records["offset"], records["journal"], records["started"])
    order = np.lexsort((*(key.to_numpy() for key in keys), failed))
    run = records["run_id"].combine_chunks().dictionary_encode().indices.to_numpy()
    _, first = np.unique(run[order], return_index=True)
    return np.sort(order[first])


def _table(journal: int, frames: Sequence[Frame], columns: Columns) -> pa.Table:
    found = {"run_id": columns.texts("run_id")}
    found |= {name: columns.texts(name).dictionary_encode() for name in TEXTS}
    found |= {name: columns.numbers(name) for name in NUMBERS}
    found["journal"] = np.full(len(frames), journal)
    found["offset"] = np.array([frame.offset for frame in frames], np.int64)
    found["end"] = np.array([frame.end for frame in frames], np.int64)
    lengths = {"spec_bytes": "spec", "epochs": "test_top1", "images": "predictions"}
    found |= {name: columns.lengths(column) for name, column in lengths.items()}
    return pa.table(found).select(SCHEMA.names).cast(SCHEMA)
