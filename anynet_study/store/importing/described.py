"""What is known of imported models and datasets, besides their errors."""

from collections.abc import Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Annotated, Any, Literal

import pyarrow as pa
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from anynet_study.core.errors import UserError, first_line, some_of
from anynet_study.core.metrics import Metric
from anynet_study.core.sheets import read_sheet, typed
from anynet_study.design_space import LETTERS, Architecture, columns_of
from anynet_study.store.layout import COLUMNS as OF_STORE

_HEXADECIMAL = frozenset("0123456789abcdef")
Count = Annotated[int, Field(ge=1, lt=2**31)]


class DatasetRow(BaseModel):
    """What may be said of an imported dataset: the columns of /datasets."""

    model_config = ConfigDict(coerce_numbers_to_str=True)

    dataset: str
    base: str = ""
    role: Literal["source", "family", "target", "extra"] = "extra"
    test_set_of: str = ""
    classes: Count | None = None
    train_images: Count | None = None
    test_images: Count | None = None
    metric: Metric = "top1"
    chance: float | None = Field(default=None, ge=0, le=100)
    epochs: Count | None = None
    content_hash: str = ""
    variant: str = ""
    class_names: str = ""


COLUMNS = pa.schema([(name, column.type) for name, column in OF_STORE["datasets"].items()])

#: By dataset: what is known of it, by column.
Known = dict[str, dict[str, Any]]


def read_sidecar(path: Path) -> Known:
    """Return what a table of datasets says: `dataset` and any other of COLUMNS. Raises
    UserError.
    """
    sheet = read_sheet(path)
    for name in sheet.columns:
        if name not in COLUMNS.names:
            raise UserError(f"{path}: column {name!r}; legal: {', '.join(COLUMNS.names)}")
    if "dataset" not in sheet.columns:
        raise UserError(f"{path}: has no column dataset")
    known: Known = {}
    for place, cells in zip(sheet.rows, zip(*sheet.columns.values(), strict=True), strict=True):
        said = zip(sheet.columns, cells, strict=True)
        try:
            row = DatasetRow(**{name: cell for name, cell in said if cell is not None})
        except ValidationError as error:
            (column, *_), fault = error.errors()[0]["loc"], error.errors()[0]
            reason = f"{column}: {fault['msg']}, not {fault['input']!r}"
            raise UserError(f"{path}: row {place}, {reason}") from None
        if row.dataset in known:
            raise UserError(f"{path}: row {place}: dataset {row.dataset} is there already")
        known[row.dataset] = row.model_dump(exclude_unset=True, exclude={"dataset"})
    return known


def with_roles(
    known: Known,
    source: str,
    family: Mapping[str, int],
    targets: Mapping[str, int],
    shifts: Sequence[str] = (),
    images: Mapping[str, int] | None = None,
) -> Known:
    """Add what the options --source, --family, --targets, --shifts and --images say."""
    known = {name: dict(row) for name, row in known.items()}
    rows: list[tuple[str, dict[str, Any]]] = [(source, {"role": "source"})] if source else []
    rows += [(name, {"role": "family", "classes": family[name]}) for name in family]
    rows += [(name, {"role": "target", "classes": targets[name]}) for name in targets]
    rows += [(source, {"role": "source"})] if source in family else []
    rows += [(name, {"role": "extra", "test_set_of": source}) for name in shifts]
    rows += [(name, {"test_images": count}) for name, count in (images or {}).items()]
    for name, said in rows:
        known.setdefault(name, {}).update(said)
    return known


def dataset_table(known: Known, tables: Sequence[pa.Table], metrics: Mapping[str, str]) -> pa.Table:
    """/datasets of the datasets of several files, in the order they came.

    `known` goes before what a file that is a store says; `metrics` are those of the runs. Raises
    UserError for datasets that are in no file, and for roles that do not fit each other.
    """
    rows: Known = {}
    for table in tables:
        for row in table.to_pylist():
            said = {name: value for name, value in row.items() if value not in (None, "")}
            rows[row["dataset"]] = {**said, **rows.get(row["dataset"], {})}
    for name, said in known.items():
        if name not in rows:
            there = ", ".join(some_of(rows))
            raise UserError(f"dataset {name}: not in the files; there: {there}")
        rows[name].update(said)
    # Where a source is named, but no target, all datasets without another part are targets.
    roles = {row.get("role") for row in rows.values()}
    rest = "target" if "source" in roles and "target" not in roles else "extra"
    for name, row in rows.items():
        role = "extra" if row.get("test_set_of") else rest
        metric = metrics.get(name) or row.get("metric") or "top1"
        rows[name] = {"role": role, **row, "dataset": name, "metric": metric}
    _check_roles(rows)
    texts = {field.name: "" for field in COLUMNS if pa.types.is_string(field.type)}
    try:
        return pa.Table.from_pylist([{**texts, **row} for row in rows.values()], COLUMNS)
    except pa.ArrowException as error:
        reason = first_line(error)
        raise UserError(f"what is said of the datasets is of another type: {reason}") from None


def _check_roles(rows: Known) -> None:
    sources = [name for name, row in rows.items() if row["role"] == "source"]
    if len(sources) > 1:
        raise UserError(f"datasets {' and '.join(sources[:2])} both have the role source")
    family = [name for name, row in rows.items() if row["role"] in ("source", "family")]
    for name, row in rows.items():
        if row["role"] != "extra" and row.get("classes") is None and len(family) > 1:
            raise UserError(
                f"dataset {name}: role {row['role']}, but its classes are not said, by which "
                f"{', '.join(family)} are told apart"
            )
        of = row.get("test_set_of")
        if of and (of not in rows or of == name):
            raise UserError(f"dataset {name}: test_set_of {of}, which is no other dataset here")
        if row["role"] in ("family", "target") and not sources:
            raise UserError(f"dataset {name}: role {row['role']}, but no dataset is the source")


def called_by_id(path: Path, models: pa.Table) -> pa.Table:
    """Call models by their ids where they are described as networks of ours to the last.

    A name that is given up goes to the column `name`, if no column has that name. Raises UserError
    where that network cannot be built, where two are the same one, and where the name is an id,
    but of another network.
    """
    if not {"d1", "w1", "b1", "g1", "s1", "stem", "stem_width"} <= set(models.column_names):
        return models
    names: dict[str, str] = {}
    now, given_up = [], []
    for row in models.to_pylist():
        name, network = row["architecture"], _network(path, row)
        called = name if network is None else network.id
        if called != name and _is_id(name):
            raise UserError(
                f"{path}: {name} is described as a network whose id is {called}: one of them was "
                f"altered"
            )
        if network is not None and (twin := names.setdefault(called, name)) != name:
            raise UserError(f"{path}: {twin} and {name} are described as one and the same network")
        now.append(called)
        given_up.append(name if called != name else None)
    if not any(given_up):
        return models
    models = models.set_column(0, "architecture", pa.array(now, pa.string()))
    if "name" in models.column_names:
        return models
    return models.add_column(1, "name", pa.array(given_up, pa.string()))


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
                # A store holds missing text as "".
                if value not in (None, "") and known.setdefault(column, value) != value:
                    raise UserError(
                        f"{file}: column {column} says {value!r} of {row['architecture']}, an "
                        f"earlier file {known[column]!r}"
                    )
    columns = {}
    for name, types in kinds.items():
        values = [row.get(name) for row in rows.values()]
        columns[name] = pa.array(values, types[0]) if len(set(types)) == 1 else typed(values)
    return pa.table(columns)


def _is_id(name: str) -> bool:
    return len(name) == 16 and set(name) <= _HEXADECIMAL


def _network(path: Path, row: Mapping[str, Any]) -> Architecture | None:
    """The network that a row describes; None where something is missing."""
    said = {name for name, value in row.items() if value is not None}
    stages = max(
        (int(n[1:]) for n in said if n[0] in LETTERS.values() and n[1:].isdigit()), default=0
    )
    columns = {field: columns_of(field, stages) for field in LETTERS}
    if not stages or not {"stem", "stem_width", *chain(*columns.values())} <= said:
        return None
    fields: dict[str, Any] = {
        field: tuple(row[name] for name in names) for field, names in columns.items()
    }
    optional = {"block": "bottleneck", "se_ratio": 0.0}
    fields |= optional | {n: row[n] for n in ("stem", "stem_width", *optional) if n in said}
    try:
        return Architecture(**fields)
    except UserError as error:
        raise UserError(f"{path}: {row['architecture']} cannot be built: {error}") from None
