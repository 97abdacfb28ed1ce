"""The Arrow table of a population: its columns, and networks to and from its rows.

Arrow columns are made straight from memory: `pyarrow.array` and `to_numpy` would import pandas,
which takes 0.3 s, more than all else that a command does with a population.
"""

import json
from collections.abc import Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from anynet_study.core.errors import UserError
from anynet_study.design_space.architecture import Architecture, checked, ids_of
from anynet_study.design_space.complexity import MEASURES, measure
from anynet_study.design_space.foreign import ForeignNetwork
from anynet_study.design_space.networks import (
    STAGE_FIELDS,
    IntArray,
    Networks,
    Skeleton,
    networks_of,
)

FORMAT = 3
METADATA_KEY = b"anynet_study.sampling"
#: The most architectures of a population.
MAX_COUNT = 10_000_000
#: An architecture's tuples, and the letter that their columns begin with: d1, d2, ...
LETTERS = {
    "depths": "d",
    "widths": "w",
    "bottleneck_ratios": "b",
    "group_widths": "g",
    "strides": "s",
}
SKELETON_COLUMNS = ("stem", "stem_width", "block", "se_ratio")
#: What a population is of.
AnyNetwork: TypeAlias = Architecture | ForeignNetwork


class Group(NamedTuple):
    """The networks of one skeleton, and their rows; or a foreign one, which has a row alone."""

    rows: IntArray
    networks: Networks | ForeignNetwork


def groups_of(architectures: Sequence[AnyNetwork]) -> list[Group]:
    """Return the networks of architectures, those of each skeleton together."""
    rows: dict[Skeleton, list[int]] = {}
    groups = []
    for row, architecture in enumerate(architectures):
        if isinstance(architecture, ForeignNetwork):
            groups.append(Group(np.array([row]), architecture))
        else:
            rows.setdefault(architecture.skeleton, []).append(row)
    for skeleton, places in rows.items():
        stages = [[getattr(architectures[row], f) for f in STAGE_FIELDS] for row in places]
        groups.append(Group(np.array(places), networks_of(stages, skeleton)))
    return groups


def columns_of(field: str, stages: int) -> list[str]:
    """The columns of one of an architecture's tuples, in a table of so many stages."""
    return [f"{LETTERS[field]}{stage}" for stage in range(1, stages + 1)]


def schema_of(stages: int, weighted: bool = False, named: bool = False) -> pa.Schema:
    """The columns of a population whose architectures have up to so many stages.

    Some may be `weighted`, some `named`.
    """
    drawn = [field for field in LETTERS if field != "strides"]
    return pa.schema(
        [
            ("architecture", pa.string()),
            *((("network", pa.string()),) if named else ()),
            *((name, pa.int32()) for field in drawn for name in columns_of(field, stages)),
            ("stem", pa.string()),
            ("stem_width", pa.int32()),
            *((name, pa.int32()) for name in columns_of("strides", stages)),
            ("block", pa.string()),
            ("se_ratio", pa.float64()),
            *((("weight", pa.float64()),) if weighted else ()),
            *((name, pa.int64()) for name in MEASURES),
        ]
    )


def schema_like(table: pa.Table) -> pa.Schema:
    """The columns that a population has which has the columns of this table."""
    names = table.column_names
    return schema_of(stages_of(table), "weight" in names, "network" in names)


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
    names: Any = None,
) -> pa.Table:
    """Make the table of networks, with their ids, what they cost, and how they came about.

    Cells of what an architecture does not have, such as a stage, are null. `names` of networks
    are in the order of the rows, None where one has none.
    """
    stages = max(0 if isinstance(of, ForeignNetwork) else of.skeleton.stages for _, of in groups)
    rows = sum(len(group.rows) for group in groups)
    schema = schema_of(stages, weights is not None, names is not None)
    values = {
        field.name: np.full(rows, None)
        if field.type == pa.string()
        else np.zeros(rows, field.type.to_pandas_dtype())
        for field in schema
    }
    for places, networks in groups:
        if isinstance(networks, ForeignNetwork):
            costs = networks.costs_at(resolution, classes)
            values["architecture"][places] = networks.id
            values["se_ratio"][places] = np.nan
            for name in MEASURES:
                values[name][places] = getattr(costs, name)
            continue
        skeleton = networks.skeleton
        found: dict[str, Any] = {name: getattr(skeleton, name) for name in SKELETON_COLUMNS}
        found["architecture"] = ids_of(networks)
        for field in LETTERS:
            each = skeleton.strides if field == "strides" else getattr(networks, field)
            found |= zip(columns_of(field, skeleton.stages), each, strict=True)
        for name in MEASURES:
            found[name] = measure(name, networks, resolution, classes)
        for name, column in found.items():
            values[name][places] = column
    if weights is not None:
        values["weight"][:] = weights
    if names is not None:
        values["network"][:] = names
    arrays = [_column(values[field.name], field.type) for field in schema]
    return pa.table(arrays, schema=schema.with_metadata(metadata(sampling)))


def taken(table: pa.Table, rows: IntArray) -> pa.Table:
    """Return some rows, without the columns of stages that none of them has."""
    part = table.take(_column(rows, pa.int64()))
    always = schema_of(0).names
    there = [name for name in part.column_names if part[name].null_count < len(rows)]
    return part.select([name for name in part.column_names if name in there or name in always])


def place_of(sampling: dict[str, Any]) -> tuple[int, int]:
    """Resolution and classes at which the costs of a population of this record are counted."""
    moves = (step for step in sampling.get("derived", []) if step["step"] == "at")
    last = [sampling, *moves][-1]
    return last["resolution"], last["classes"]


def foreign_record(architectures: Sequence[AnyNetwork]) -> dict[str, Any]:
    """Return what the record of a population says of its foreign networks."""
    foreign = [one for one in architectures if isinstance(one, ForeignNetwork)]
    return {"networks": {one.id: one.to_record() for one in foreign}} if foreign else {}


def check_record(record: dict[str, Any]) -> None:
    """UserError, TypeError or LookupError where the record of a population makes no sense."""
    checked(*place_of(record))
    for key, one in dict(record.get("networks", {})).items():
        if ForeignNetwork.from_record(one).id != key:
            raise UserError(f"network {key}: the record is of another one")


def column_of(table: pa.Table, name: str) -> list[Any] | None:
    """The cells of a column; None where there is none."""
    return table[name].to_pylist() if name in table.column_names else None


def metadata(sampling: dict[str, Any]) -> dict[bytes, str]:
    """The schema metadata that holds how a population was drawn."""
    return {METADATA_KEY: json.dumps({"format": FORMAT, **sampling})}


def architectures_of(table: pa.Table) -> list[AnyNetwork]:
    """The architectures of the table's rows. Raises UserError naming a row that makes none."""
    stages = stages_of(table)
    kept = json.loads((table.schema.metadata or {}).get(METADATA_KEY, b"{}")).get("networks", {})
    ids = table["architecture"].to_pylist()
    tuples = []
    for field in LETTERS:
        columns = table.select(columns_of(field, stages)).to_pydict().values()
        rows = zip(*columns, strict=True) if columns else [()] * len(ids)
        tuples.append([tuple(value for value in row if value is not None) for row in rows])
    skeleton = [table[name].to_pylist() for name in SKELETON_COLUMNS]
    architectures: list[AnyNetwork] = []
    for row, values in enumerate(zip(*tuples, *skeleton, strict=True), 1):
        try:
            foreign = kept.get(ids[row - 1])
            made = ForeignNetwork.from_record(foreign) if foreign else Architecture(*values)
            architectures.append(made)
        except UserError as error:
            raise UserError(f"row {row}: {str(error).removeprefix('architecture: ')}") from None
    return architectures


def _column(values: npt.NDArray[Any], kind: pa.DataType) -> pa.Array:
    """Return a column straight from memory.

    In columns of int32, which hold sizes, 0 is null; in texts None, and in numbers NaN.
    """
    there = np.ones(len(values), dtype=bool)
    if kind == pa.string():
        there = np.array([value is not None for value in values], dtype=bool)
        encoded = [(value or "").encode() for value in values]
        ends = np.cumsum([0, *map(len, encoded)], dtype=np.int32)
        buffers = [pa.py_buffer(ends), pa.py_buffer(b"".join(encoded))]
    else:
        buffers = [pa.py_buffer(np.ascontiguousarray(values))]
        if kind == pa.int32():
            there = values != 0
        elif kind == pa.float64():
            there = ~np.isnan(values)
    valid = None if there.all() else pa.py_buffer(np.packbits(there, bitorder="little"))
    return pa.Array.from_buffers(kind, len(values), [valid, *buffers])


def values_of(column: pa.ChunkedArray, missing: float = 0) -> npt.NDArray[Any]:
    """Return a column's values, `missing` in place of nulls (`to_numpy` imports pandas)."""
    if column.type == pa.string():
        return np.array([value or "" for value in column.to_pylist()], dtype=object)
    values = [missing if value is None else value for value in column.to_pylist()]
    whole = not column.null_count or isinstance(missing, int)
    return np.array(values, dtype=column.type.to_pandas_dtype() if whole else np.float64)
