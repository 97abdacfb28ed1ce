"""A table of errors or accuracies, long or wide: understood, and as records of a store."""

from collections.abc import Collection
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa
from numpy.typing import NDArray

from anynet_study.core.errors import UserError, some_of
from anynet_study.core.sheets import Sheet, quoted, read_sheet
from anynet_study.store.importing.cells import Cells, read_cells
from anynet_study.store.importing.described import Known, called_by_id
from anynet_study.store.importing.files import ImportedFile, entry, journal_row, named_records
from anynet_study.store.importing.options import ImportOptions, TableAccount
from anynet_study.store.importing.roles import Roles, roles_of
from anynet_study.store.importing.rows import ask_of_rows, refuse_images, rows_that_count
from anynet_study.store.importing.scale import (
    directions,
    in_error_percent,
    measures_of_one,
    require_errors,
)
from anynet_study.store.importing.shapes import RECORDED, shaped, told_of_spread
from anynet_study.store.importing.words import said_by
from anynet_study.store.run_arrays import RunArrays


@dataclass(frozen=True)
class Understood:
    """A table of results, and what was understood of it."""

    account: TableAccount
    roles: Roles
    cells: Cells
    #: One per value, in percent; and the same by model and dataset, the mean where several are.
    errors: NDArray[np.float64]
    table: pd.DataFrame


def understand(sheet: Sheet, options: ImportOptions, known: Known) -> Understood:
    """Return what the columns of a table of errors or accuracies mean, and its values as errors.

    `known` is what was said of the datasets. Raises UserError, naming the option that decides, for
    whatever is unclear, ambiguous or implausible.
    """
    sheet, options = shaped(sheet, options)
    roles = roles_of(sheet, options, known)
    sheet = rows_that_count(sheet, roles, options)
    refuse_images(sheet, roles, options)
    cells, notes = read_cells(sheet, roles, options, known)
    wide = not roles.value
    quantity = roles.quantity or (None if wide else options.quantity or cells.quantity)
    if options.dataset:
        cells = _of_one(cells, options)
    cells, says, told = directions(cells, options, quantity)
    errors = in_error_percent(cells, says, wide, options)
    table = cells.table(errors)
    there = table.dropna(axis="columns", how="all")
    ask_of_rows(sheet, roles, table, options)
    _require_above_chance(sheet.path, there, known)
    if wide and options.quantity is None and options.assumed and not any(map(said_by, says)):
        require_errors(cells, there)
    describing = cells.models.column_names[1:]
    account = TableAccount(
        file=str(sheet.path),
        models_from=roles.model,
        models=len(cells.models),
        datasets=dict(there.median()),
        long=not wide,
        quantity="accuracy" if "accuracy" in says.values() else "error",
        unit=options.unit or "percent",
        run_columns=dict(roles.run),
        spread=told_of_spread(describing, options),
        describing=tuple(describing),
        ignored=(*options.ignore, *["row numbers"] * roles.counting),
        notes=(
            *(*sheet.notes, *notes, *told, *(measures_of_one([*there]) if wide else ())),
            *_odd_values(there),
        ),
    )
    return Understood(account, roles, cells, errors, table)


def _of_one(cells: Cells, options: ImportOptions) -> Cells:
    """The cells of a table of one dataset, called as is asked for. UserError where it has more."""
    names = [name for name in cells.datasets if name not in options.ignore]
    if len(names) > 1:
        raise UserError(
            f"{options.dataset}={cells.path}: its values are on {len(names)} datasets, "
            f"{', '.join(names)}; say which one: --dataset-columns {quoted(names[:1])}"
        )
    dataset = cells.frame["dataset"].cat.rename_categories([options.dataset])
    return replace(cells, frame=cells.frame.assign(dataset=dataset))


def _require_above_chance(path: Path, errors: pd.DataFrame, known: Known) -> None:
    """UserError where all models are worse than chance on a dataset whose classes are said."""
    for name in errors.columns:
        classes = known.get(name, {}).get("classes")
        if classes and errors[name].min() > 100 * (1 - 1 / classes):
            raise UserError(
                f"{path}: all models are worse than chance on {name}: the least error is "
                f"{errors[name].min():.4g}% and {classes} classes are said; accuracies for errors?"
            )


def _odd_values(errors: pd.DataFrame) -> list[str]:
    """Notes on models without any value, and on errors of 100% where most models err less."""
    empty = list(map(str, errors.index[errors.isna().all(axis=1)]))
    likely = errors.loc[:, errors.median() < 90]
    failed = [
        f"{model} on {name}" for name in likely for model in likely.index[likely[name] == 100]
    ]
    notes = []
    if empty:
        notes += [f"no value at all: {', '.join(some_of(empty))}: no models? --ignore-rows"]
    if failed:
        told = ", ".join(some_of(failed))
        notes += [f"an error of 100%: {told}: failed? Then leave its cell empty"]
    return notes


def table_file(
    path: Path, label: str, options: ImportOptions, known: Known, arrays: RunArrays
) -> ImportedFile:
    """Read a table of errors or accuracies; `label` is its name in the store.

    `known` is what was said of the datasets. Raises UserError for whatever is unclear, ambiguous
    or wrong in it.
    """
    understood = understand(read_sheet(path, options.separator, options.encoding), options, known)
    cells, roles = understood.cells, understood.roles
    frame, models, datasets = cells.frame, called_by_id(path, cells.models), cells.datasets
    metrics = [cells.metric or known.get(name, {}).get("metric", "top1") for name in datasets]
    of_run = [name for name in frame.columns if name in {*roles.run, *RECORDED}]
    columns = {
        "recipe": options.recipe,
        "metric": _coded(metrics, frame["dataset"]),
        "journal": label,
        **{name: _arrow(frame[name]) for name in of_run},
        "architecture": _coded(models["architecture"].to_pylist(), frame["model"]),
        "dataset": _arrow(frame["dataset"]),
        "error": understood.errors,
    }
    records = named_records(columns, arrays)
    return ImportedFile(
        name=str(path),
        records=records,
        planned=np.ones(len(records), np.bool_),
        architectures=models,
        datasets=pa.table({"dataset": pa.array(datasets, pa.string())}),
        journals=journal_row(label, len(records), path),
        provenance=entry(path, options.told()),
        recipes=records["recipe"].cast(pa.string()).unique().to_pylist(),
        account=understood.account,
    )


def _coded(labels: Collection[str], column: "pd.Series[Any]") -> pa.Array:
    """A categorical column whose categories are called by these labels."""
    codes = pa.array(column.cat.codes.to_numpy(np.int32))
    return pa.DictionaryArray.from_arrays(codes, pa.array(labels, pa.string()))


def _arrow(column: "pd.Series[Any]") -> pa.Array:
    if isinstance(column.dtype, pd.CategoricalDtype):
        return _coded(column.cat.categories.tolist(), column)
    return pa.array(column.to_numpy())


class ErrorTables(NamedTuple):
    """What analyses read of a table."""

    #: Errors in percent by model and dataset: the mean over replicates where there are several.
    errors: pd.DataFrame
    #: Long: architecture, dataset, replicate, error; None where no model was trained twice.
    replicates: pd.DataFrame | None
    #: What the table says of the models.
    models: pd.DataFrame
    account: TableAccount


def errors_of_table(sheet: Sheet, options: ImportOptions, known: Known) -> ErrorTables:
    """The errors in a table, for analyses.

    Raises UserError as `understand` does, and for a table of several recipes.
    """
    from anynet_study.core.metrics import single_runs

    understood = understand(sheet, options, known)
    frame = understood.cells.frame.assign(error=understood.errors)
    if "recipe" in frame and frame["recipe"].nunique() > 1:
        raise UserError(
            f"{sheet.path}: column {understood.roles.run['recipe']} holds several recipes; import "
            "the table, and choose one with --recipe"
        )
    errors = understood.table.set_axis(understood.table.index.astype(object)).rename_axis(
        index="architecture"
    )
    replicates = None
    if {"replicate", "trainings"} & {*frame}:
        once = {"replicate": 0, "error_std": np.nan, "trainings": 1}
        runs = frame.assign(**{name: value for name, value in once.items() if name not in frame})
        texts = {name: runs[name].astype(object) for name in ("model", "dataset")}
        replicates = single_runs(runs.assign(**texts).rename(columns={"model": "architecture"}))
    about = understood.cells.models.to_pandas()
    return ErrorTables(errors, replicates, about, understood.account)
