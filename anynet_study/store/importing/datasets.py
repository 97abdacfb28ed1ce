"""What is known of the datasets of an imported store: a sidecar table, and roles."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, get_args

import pyarrow as pa

from anynet_study.errors import UserError
from anynet_study.metrics import Metric
from anynet_study.store.importing.sheet import read_sheet
from anynet_study.store.records import ROLES

#: /datasets, as `stages.dataset_table` has it.
COLUMNS = pa.schema(
    [
        ("dataset", pa.string()),
        ("base", pa.string()),
        ("role", pa.string()),
        ("classes", pa.int32()),
        ("train_images", pa.int32()),
        ("test_images", pa.int32()),
        ("metric", pa.string()),
        ("chance", pa.float64()),
        ("epochs", pa.int32()),
        ("content_hash", pa.string()),
        ("variant", pa.string()),
        ("class_names", pa.string()),
    ]
)
COUNTS = ("classes", "train_images", "test_images", "epochs")

#: By dataset: what is known of it, by column.
Known = dict[str, dict[str, Any]]


def read_sidecar(path: Path) -> Known:
    """What a table of datasets says: `dataset` and any other of COLUMNS. Raises UserError."""
    sheet = read_sheet(path)
    for name in sheet.columns:
        if name not in COLUMNS.names:
            raise UserError(f"{path}: column {name!r}; legal: {', '.join(COLUMNS.names)}")
    if "dataset" not in sheet.columns:
        raise UserError(f"{path}: has no column dataset")
    columns: dict[str, list[Any]] = {}
    for field in COLUMNS:
        if field.name not in sheet.columns:
            continue
        column = sheet.columns[field.name]
        if not pa.types.is_string(field.type):
            column = pa.array(sheet.numbers(field.name), from_pandas=True)
        columns[field.name] = column.to_pylist()
    known: Known = {}
    for place, values in enumerate(zip(*columns.values(), strict=True)):
        row = dict(zip(columns, values, strict=True))
        where = f"{path}: row {sheet.first_row + place}"
        _check_row(where, row)
        if row["dataset"] in known:
            raise UserError(f"{where}: dataset {row['dataset']} is there already")
        known[row.pop("dataset")] = {
            name: value for name, value in row.items() if value is not None
        }
    return known


def _check_row(where: str, row: Mapping[str, Any]) -> None:
    if row["dataset"] is None:
        raise UserError(f"{where} has nothing in column dataset")
    for name, legal in (("role", ROLES), ("metric", get_args(Metric))):
        if row.get(name) is not None and row[name] not in legal:
            raise UserError(f"{where}: {name} {row[name]!r}; legal: {', '.join(legal)}")
    for name in COUNTS:
        value = row.get(name)
        if value is not None and (value % 1 or not 1 <= value < 2**31):
            raise UserError(f"{where}: {name} {value:g} is not a count of at least 1")
    if row.get("chance") is not None and not 0 <= row["chance"] <= 100:
        raise UserError(f"{where}: chance {row['chance']:g} is outside 0 to 100 percent")


def with_roles(
    known: Known, source: str, family: Mapping[str, int], targets: Mapping[str, int]
) -> Known:
    """Add the roles that the options --source, --family and --targets give."""
    known = {name: dict(row) for name, row in known.items()}
    for counts, role in ((family, "family"), (targets, "target")):
        for name, classes in counts.items():
            said = "source" if name == source else role
            known.setdefault(name, {}).update(role=said, classes=classes)
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
            there = list(rows)[:12]
            more = ", ..." if len(rows) > len(there) else ""
            raise UserError(f"dataset {name}: not in the files; there: {', '.join(there)}{more}")
        rows[name].update(said)
    for name, row in rows.items():
        metric = metrics.get(name) or row.get("metric") or "top1"
        rows[name] = {"role": "extra", **row, "dataset": name, "metric": metric}
    _check_roles(rows)
    texts = {field.name: "" for field in COLUMNS if pa.types.is_string(field.type)}
    return pa.Table.from_pylist([{**texts, **row} for row in rows.values()], COLUMNS)


def _check_roles(rows: Known) -> None:
    sources = [name for name, row in rows.items() if row["role"] == "source"]
    if len(sources) > 1:
        raise UserError(f"datasets {' and '.join(sources[:2])} both have the role source")
    for name, row in rows.items():
        if row["role"] != "extra" and row.get("classes") is None:
            raise UserError(f"dataset {name}: role {row['role']}, but its classes are not said")
        if row["role"] in ("family", "target") and not sources:
            raise UserError(f"dataset {name}: role {row['role']}, but no dataset is the source")
