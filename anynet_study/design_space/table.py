"""The Arrow table of a population: its columns, and architectures to and from its rows."""

import json
from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from anynet_study.design_space.architecture import Architecture
from anynet_study.design_space.arrow import integers, numbers, strings

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
    architectures: Sequence[Architecture],
    costs: Sequence[Any],
    sampling: dict[str, Any],
    weights: Any = None,
) -> pa.Table:
    """Make the table; `costs` are FLOPs, parameters and activations, `weights` optional.

    Cells of stages that an architecture does not have are null.
    """
    stages = max(len(a.depths) for a in architectures)
    values: dict[str, Any] = {
        "architecture": [a.id for a in architectures],
        "stem": [a.stem for a in architectures],
        "stem_width": [a.stem_width for a in architectures],
        "block": [a.block for a in architectures],
        "se_ratio": [a.se_ratio for a in architectures],
        "weight": weights,
        **dict(zip(COSTS, costs, strict=True)),
    }
    for field in LETTERS:
        padded = [(*(t := getattr(a, field)), *(0,) * (stages - len(t))) for a in architectures]
        values.update(zip(columns_of(field, stages), zip(*padded, strict=True), strict=True))
    schema = schema_of(stages, weights is not None)
    missing_zero = {name for field in LETTERS for name in columns_of(field, stages)}
    arrays = [
        _column(values[name], kind, name in missing_zero)
        for name, kind in zip(schema.names, schema.types, strict=True)
    ]
    return pa.table(arrays, schema=schema.with_metadata(metadata(sampling)))


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


def _column(values: Any, kind: pa.DataType, zero_is_null: bool) -> pa.Array:
    if kind == pa.string():
        return strings(values)
    if kind == pa.float64():
        return numbers(values)
    return integers(values, kind, zero_is_null)
