"""What is known of imported models, and the ids of those that are networks of ours."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from anynet_study.design_space import Architecture
from anynet_study.errors import UserError
from anynet_study.store.importing.cells import Cells
from anynet_study.store.importing.sheet import clean

#: The tuples of an Architecture, by the letter of their columns.
LETTERS = {
    "d": "depths",
    "w": "widths",
    "b": "bottleneck_ratios",
    "g": "group_widths",
    "s": "strides",
}
_HEXADECIMAL = frozenset("0123456789abcdef")


def describe(cells: Cells) -> pa.Table:
    """One row per model: `architecture`, what the table calls it, and what the table says of it.

    A column of that name that is not the model's becomes `given_architecture`.
    """
    columns = {"architecture": pa.array(cells.models, pa.string())}
    for name, known in cells.described.items():
        name = "given_architecture" if name == "architecture" else name
        columns[name] = _typed([known.get(code) for code in range(len(cells.models))])
    return pa.table(columns)


def recomputed(path: Path, described: pa.Table) -> dict[str, str]:
    """Names of models to their ids, where they are described as networks of ours to the last.

    Raises UserError where that network cannot be built, where two are the same one, and where the
    name is an id, but of another network.
    """
    ids: dict[str, str] = {}
    if not {"d1", "w1", "b1", "g1", "s1", "stem", "stem_width"} <= set(described.column_names):
        return ids
    for row in described.to_pylist():
        network = _network(path, row)
        if network is None:
            continue
        name = row["architecture"]
        if _is_id(name) and name != network.id:
            raise UserError(
                f"{path}: {name} is described as a network whose id is {network.id}: one of them "
                f"was altered"
            )
        if network.id in ids.values():
            twin = next(other for other, known in ids.items() if known == network.id)
            raise UserError(f"{path}: {twin} and {name} are described as one and the same network")
        ids[name] = network.id
    return ids


def renamed(described: pa.Table, ids: Mapping[str, str]) -> pa.Table:
    """Call models by their ids; a name that is given up goes to the column `name`."""
    given = described["architecture"].to_pylist()
    now = [ids.get(name, name) for name in given]
    if now == given:
        return described
    described = described.set_column(0, "architecture", pa.array(now, pa.string()))
    if "name" in described.column_names:
        return described
    names = [name if name != new else None for name, new in zip(given, now, strict=True)]
    return described.add_column(1, "name", pa.array(names, pa.string()))


def merged_models(tables: Sequence[tuple[str, pa.Table]]) -> pa.Table:
    """The models of several files (their names and tables), each once, in the order they came.

    Raises UserError where two files say different things of one model.
    """
    rows: dict[str, dict[str, Any]] = {}
    kinds: dict[str, list[pa.DataType]] = {}
    for file, table in tables:
        for field in table.schema:
            kinds.setdefault(field.name, []).append(field.type)
        for row in table.to_pylist():
            known = rows.setdefault(row["architecture"], {})
            for column, value in row.items():
                if value is not None and known.setdefault(column, value) != value:
                    raise UserError(
                        f"{file}: column {column} says {value!r} of {row['architecture']}, an "
                        f"earlier file {known[column]!r}"
                    )
    columns = {
        name: _as_one_type([row.get(name) for row in rows.values()], types)
        for name, types in kinds.items()
    }
    return pa.table(columns)


def _typed(values: list[Any]) -> pa.Array:
    """Whole numbers, numbers or text: the first that all values are."""
    texts = clean(pa.array([None if v is None else str(v) for v in values], pa.string()))
    for kind in (pa.int64(), pa.float64()):
        try:
            return _narrow(pc.cast(texts, kind))
        except pa.ArrowInvalid:
            continue
    return texts


def _narrow(numbers: pa.Array) -> pa.Array:
    """Whole numbers that are written as floats are whole."""
    if pa.types.is_floating(numbers.type):
        whole = pc.all(pc.equal(numbers, pc.trunc(numbers))).as_py()
        small = pc.all(pc.less(pc.abs(numbers), 2.0**53)).as_py()
        return pc.cast(numbers, pa.int64()) if whole and small else numbers
    return numbers


def _as_one_type(values: list[Any], types: list[pa.DataType]) -> pa.Array:
    if all(kind == types[0] for kind in types):
        return pa.array(values, types[0])
    if any(pa.types.is_string(kind) for kind in types):
        return pa.array([None if value is None else str(value) for value in values], pa.string())
    return pa.array(values, pa.float64())


def _is_id(name: str) -> bool:
    return len(name) == 16 and set(name) <= _HEXADECIMAL


def _network(path: Path, row: Mapping[str, Any]) -> Architecture | None:
    """The network that a row describes; None where something is missing."""
    fields: dict[str, Any] = {}
    for letter, name in LETTERS.items():
        stages = [row.get(f"{letter}{stage}") for stage in range(1, _stages(row) + 1)]
        if None in stages or not stages:
            return None
        fields[name] = tuple(stages)
    optional = {"block": "bottleneck", "se_ratio": 0.0}
    for name in ("stem", "stem_width", *optional):
        value = row.get(name)
        fields[name] = optional.get(name) if value is None else value
    if None in fields.values():
        return None
    try:
        return Architecture(**fields)
    except UserError as error:
        raise UserError(f"{path}: {row['architecture']} cannot be built: {error}") from None


def _stages(row: Mapping[str, Any]) -> int:
    """Up to the last stage of which anything is said."""
    said = [
        int(name[1:])
        for name, value in row.items()
        if value is not None and name[0] in LETTERS and name[1:].isdigit()
    ]
    return max(said, default=0)
