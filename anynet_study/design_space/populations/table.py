"""The Arrow table of a population: its columns, and architectures to and from its rows."""

import json
import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from anynet_study.design_space import complexity
from anynet_study.design_space.architecture import Architecture
from anynet_study.design_space.identity import ids_of
from anynet_study.design_space.networks import Counts, IntArray, Networks
from anynet_study.design_space.populations.arrow import integers, numbers, strings, values_of
from anynet_study.design_space.populations.cells import Cells, Group

FORMAT = 2
METADATA_KEY = b"anynet_study.sampling"
#: An architecture's tuples, and the letter that their columns begin with: d1, d2, ...
LETTERS = {
    "depths": "d",
    "widths": "w",
    "bottleneck_ratios": "b",
    "group_widths": "g",
    "strides": "s",
}
COSTS = ("flops", "parameters", "activations")


def columns_of(field: str, stages: int) -> list[str]:
    """The columns of one of an architecture's tuples, in a table of so many stages."""
    return [f"{LETTERS[field]}{stage}" for stage in range(1, stages + 1)]


def schema_of(stages: int, weighted: bool = False) -> pa.Schema:
    """The columns of a population whose architectures have up to so many stages."""
    drawn = [field for field in LETTERS if field != "strides"]
    return pa.schema(
        [
            ("architecture", pa.string()),
            *((name, pa.int32()) for field in drawn for name in columns_of(field, stages)),
            ("stem", pa.string()),
            ("stem_width", pa.int32()),
            *((name, pa.int32()) for name in columns_of("strides", stages)),
            ("block", pa.string()),
            ("se_ratio", pa.float64()),
            *((("weight", pa.float64()),) if weighted else ()),
            *((name, pa.int64()) for name in COSTS),
        ]
    )


def stages_of(table: pa.Table) -> int:
    """The number of stages that the table has columns for."""
    stages = 0
    while f"d{stages + 1}" in table.column_names:
        stages += 1
    return stages


def tabulate(
    groups: Sequence[Group],
    resolution: int,
    classes: int,
    sampling: dict[str, Any],
    weights: Any = None,
) -> pa.Table:
    """Make the table of networks, with their ids and what they cost.

    Cells of stages that an architecture does not have are null.
    """
    stages = max(group.networks.frame.stages for group in groups)
    schema = schema_of(stages, weights is not None)
    values = {
        name: _empty(kind, groups) for name, kind in zip(schema.names, schema.types, strict=True)
    }
    for rows, networks in groups:
        frame = networks.frame
        for field in LETTERS:
            stage_names = columns_of(field, frame.stages)
            for name, one in zip(stage_names, _stages(networks, field), strict=True):
                values[name][rows] = one
        for name in ("stem", "stem_width", "block", "se_ratio"):
            values[name][rows] = getattr(frame, name)
        values["architecture"][rows] = ids_of(networks)
        for name, cost in zip(COSTS, costs_of(networks, resolution, classes), strict=True):
            values[name][rows] = cost
    values["weight"] = weights
    kinds = zip(schema.names, schema.types, strict=True)
    arrays = [_column(values[name], kind) for name, kind in kinds]
    return pa.table(arrays, schema=schema.with_metadata(metadata(sampling)))


def recounted(table: pa.Table, groups: Sequence[Group], resolution: int, classes: int) -> pa.Table:
    """Return the table of the groups' networks with costs counted elsewhere."""
    counts = np.zeros((len(COSTS), table.num_rows), dtype=np.int64)
    for rows, networks in groups:
        counts[:, rows] = costs_of(networks, resolution, classes)
    for name, count in zip(COSTS, counts, strict=True):
        place = table.column_names.index(name)
        table = table.set_column(place, pa.field(name, pa.int64()), integers(count, pa.int64()))
    return table


def taken(table: pa.Table, rows: IntArray) -> pa.Table:
    """Return some rows, without the columns of stages that none of them has."""
    part = table.take(integers(rows, pa.int64()))
    gone = [
        name
        for field in LETTERS
        for name in columns_of(field, stages_of(table))
        if part[name].null_count == len(rows)
    ]
    return part.drop_columns(gone) if gone else part


def costs_of(networks: Networks, resolution: int, classes: int) -> list[Counts]:
    """FLOPs, parameters and activations of each network, as in COSTS."""
    return [
        complexity.flops(networks, resolution, classes),
        complexity.parameters(networks, classes),
        complexity.activations(networks, resolution, classes),
    ]


def cells_of(table: pa.Table) -> Cells:
    """The cells that say what is built."""
    stages = stages_of(table)
    return Cells(
        {
            field: np.array(
                [values_of(table[c]) for c in columns_of(field, stages)], dtype=np.int64
            )
            for field in LETTERS
        },
        table["stem"].to_pylist(),
        values_of(table["stem_width"]).astype(np.int64),
        table["block"].to_pylist(),
        values_of(table["se_ratio"], missing=math.nan),
    )


def metadata(sampling: dict[str, Any]) -> dict[bytes, str]:
    """The schema metadata that holds how a population was drawn."""
    return {METADATA_KEY: json.dumps({"format": FORMAT, **sampling})}


def architectures_of(table: pa.Table) -> list[Architecture]:
    """The architectures of the table's rows."""
    stages = stages_of(table)
    tuples = []
    for field in LETTERS:
        columns = table.select(columns_of(field, stages)).to_pydict().values()
        rows = zip(*columns, strict=True)
        tuples.append([tuple(one for one in row if one is not None) for row in rows])
    frame = [table[name].to_pylist() for name in ("stem", "stem_width", "block", "se_ratio")]
    return [Architecture(*values) for values in zip(*tuples, *frame, strict=True)]


def upgraded(table: pa.Table) -> pa.Table:
    """Add to a table of format 1 the columns that came with format 2, and its number."""
    record = json.loads(table.schema.metadata[METADATA_KEY])
    place = table.column_names.index("flops")
    blocks = strings(["bottleneck"] * table.num_rows)
    table = table.add_column(place, pa.field("block", pa.string()), blocks)
    ratios = numbers([0.0] * table.num_rows)
    table = table.add_column(place + 1, pa.field("se_ratio", pa.float64()), ratios)
    return table.replace_schema_metadata(metadata({**record, "format": FORMAT}))


def _stages(networks: Networks, field: str) -> Any:
    return networks.frame.strides if field == "strides" else getattr(networks, field)


def _empty(kind: pa.DataType, groups: Sequence[Group]) -> Any:
    rows = sum(len(group.networks) for group in groups)
    return np.zeros(rows, dtype=object if kind == pa.string() else kind.to_pandas_dtype())


def _column(values: Any, kind: pa.DataType) -> pa.Array:
    if kind == pa.string():
        return strings(values)
    if kind == pa.float64():
        return numbers(values)
    return integers(values, kind, zero_is_null=kind == pa.int32())  # no stage is of size 0
