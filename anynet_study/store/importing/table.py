"""A table of errors or accuracies, long or wide, as records of a store."""

import re
from collections.abc import Collection
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, get_args

import numpy as np
import pandas as pd
import pyarrow as pa
from numpy.typing import NDArray

from anynet_study.errors import UserError
from anynet_study.metrics import Metric
from anynet_study.sheets import Sheet, first_repeat, is_text, read_sheet, typed
from anynet_study.store.importing.columns import ImportOptions, Quantity, Roles, roles_of
from anynet_study.store.importing.described import Known, called_by_id
from anynet_study.store.importing.files import ImportedFile, entry, journal_row, named_records
from anynet_study.store.run_arrays import RunArrays

#: Words in the names of columns that say what their values are.
_SAYS = {
    "accuracy": re.compile(r"(?<![a-z])acc(uracy|uracies)?(?![a-z])"),
    "error": re.compile(r"(?<![a-z])err(or|ors)?(?![a-z])"),
}


@dataclass(frozen=True)
class Cells:
    """The values of a table, and what they are of."""

    path: Path
    #: One row per value: the `model` and the `dataset` (both categorical, in the order of the
    #: file), the `value`, the `row` of the file, and the columns of the run.
    frame: pd.DataFrame
    #: One row per model: `architecture`, what the table calls it, and what the table says of it.
    models: pa.Table

    def where(self, label: Any) -> str:
        """How a message names the cell of this label of the frame."""
        cell = self.frame.loc[label]
        return f"{self.path}: row {cell['row']}, {cell['model']} on {cell['dataset']}"

    def only(self, kept: "pd.Series[bool]") -> "Cells":
        """These cells alone; models and datasets that have none stay known."""
        return replace(self, frame=self.frame[kept])


def table_file(
    path: Path, label: str, options: ImportOptions, known: Known, arrays: RunArrays
) -> ImportedFile:
    """Read a table of errors or accuracies; `label` is its name in the store.

    `known` is what was said of the datasets. Raises UserError for whatever is unclear, ambiguous
    or wrong in it.
    """
    sheet = read_sheet(path, options.separator, options.encoding)
    roles = roles_of(path, list(sheet.columns), options)
    cells = read_cells(sheet, roles)
    if "metric" in cells.frame:
        cells = _on_metric(cells, options.metric)
    _refuse_repeats(cells)
    frame, models = cells.frame, called_by_id(path, cells.models)
    datasets = frame["dataset"].cat.categories.tolist()
    metrics = [options.metric or known.get(name, {}).get("metric", "top1") for name in datasets]
    columns = {
        "recipe": options.recipe,
        "metric": _coded(metrics, frame["dataset"]),
        "journal": label,
        **{name: _arrow(frame[name]) for name in frame.columns if name in roles.run},
        "architecture": _coded(models["architecture"].to_pylist(), frame["model"]),
        "dataset": _arrow(frame["dataset"]),
        "error": in_error_percent(cells, roles.quantity, options),
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
    )


def read_cells(sheet: Sheet, roles: Roles) -> Cells:
    """The cells of a table that are not empty.

    Raises UserError that names the row and column of a mistake.
    """
    if not len(sheet):
        raise UserError(f"{sheet.path}: the table has no rows")
    model = sheet.names(roles.model)
    rows = pd.DataFrame({"model": model, "row": sheet.first_row + np.arange(len(sheet))})
    for role, name in roles.run.items():
        rows[role] = _run_column(sheet, role, name)
    if roles.dataset is not None and roles.value is not None:
        texts = roles.others
        frame = rows.assign(dataset=sheet.names(roles.dataset), value=sheet.numbers(roles.value))
    else:
        texts = tuple(name for name in roles.others if is_text(sheet.columns[name]))
        datasets = [name for name in roles.others if name not in texts]
        frame = _wide(sheet, rows, datasets)
    about = (*roles.numbers, *roles.described, *texts)
    cells = Cells(sheet.path, frame, _descriptions(sheet, about, roles.numbers, model))
    return cells.only(frame["value"].notna())


def _wide(sheet: Sheet, rows: pd.DataFrame, datasets: list[str]) -> pd.DataFrame:
    """The rows once for each dataset, which is a column of the sheet."""
    if pair := first_repeat(rows.drop(columns="row")):
        first, second = rows["row"][list(pair)]
        raise UserError(
            f"{sheet.path}: {rows['model'][pair[0]]} is there twice, in rows {first} and {second}; "
            f"repetitions of a model need a column replicate"
        )
    if not datasets:
        raise UserError(f"{sheet.path}: no column holds numbers, so there are no errors in it")
    frame = pd.concat([rows.assign(value=sheet.numbers(name)) for name in datasets])
    codes = np.repeat(np.arange(len(datasets)), len(rows))
    frame["dataset"] = pd.Categorical.from_codes(codes, datasets)
    return frame.reset_index(drop=True)


def _descriptions(
    sheet: Sheet, columns: Collection[str], numbers: Collection[str], model: pd.Categorical
) -> pa.Table:
    """What columns say of the models. Raises UserError where two rows of a model disagree.

    A column `architecture` that is not the model's becomes `given_architecture`.
    """
    names = model.categories.tolist()
    found = {"architecture": pa.array(names, pa.string())}
    for name in columns:
        if name in numbers:
            sheet.numbers(name)
        known: dict[int, Any] = {}
        cells = zip(model.codes.tolist(), sheet.columns[name], strict=True)
        for place, (code, cell) in enumerate(cells):
            if cell is not None and known.setdefault(code, cell) != cell:
                raise UserError(
                    f"{sheet.path}: row {sheet.first_row + place}: column {name} says {cell!r} "
                    f"of a model of which an earlier row says {known[code]!r}; a column that "
                    f"does not describe the model is left out with --ignore {name!r}"
                )
        column = "given_architecture" if name == "architecture" else name
        found[column] = typed([known.get(code) for code in range(len(names))])
    return pa.table(found)


def _run_column(sheet: Sheet, role: str, name: str) -> NDArray[Any] | pd.Categorical:
    """The column `name`, which says something of the run."""
    if role in ("seconds", "started"):
        return sheet.numbers(name)
    if role != "replicate":
        return sheet.names(name, missing="")
    numbers = np.nan_to_num(sheet.numbers(name))
    bad = (numbers % 1 != 0) | (numbers < 0) | (numbers >= 2**31)
    if bad.any():
        row = sheet.first_row + int(bad.argmax())
        raise UserError(f"{sheet.path}: row {row}, column {name}: legal: whole numbers from 0")
    return numbers.astype(np.int32)


def _refuse_repeats(cells: Cells) -> None:
    frame = cells.frame
    keys = [name for name in ("model", "dataset", "replicate", "recipe") if name in frame]
    if pair := first_repeat(frame[keys]):
        first, second = pair
        raise UserError(
            f"{cells.where(first)}: given again in row {frame['row'][second]}; repetitions of a "
            f"run need a column replicate"
        )


def _coded(labels: list[str], column: "pd.Series[Any]") -> pa.Array:
    """A categorical column whose categories are called by these labels."""
    codes = pa.array(column.cat.codes.to_numpy(np.int32))
    return pa.DictionaryArray.from_arrays(codes, pa.array(labels, pa.string()))


def _arrow(column: "pd.Series[Any]") -> pa.Array:
    if isinstance(column.dtype, pd.CategoricalDtype):
        return _coded(column.cat.categories.tolist(), column)
    return pa.array(column.to_numpy())


def _on_metric(cells: Cells, wanted: str | None) -> Cells:
    """The cells of the metric that is wanted; UserError where that has to be said."""
    names = cells.frame["metric"]
    there = sorted(names.unique())
    legal = get_args(Metric)
    if wanted is None and len(there) > 1:
        raise UserError(
            f"{cells.path}: holds the metrics {', '.join(there)}; say which with --metric"
        )
    wanted = wanted or (there or ["top1"])[0]
    if wanted not in legal or (there and wanted not in there):
        raise UserError(
            f"{cells.path}: no metric {wanted!r} to import; there: {', '.join(there)}; legal: "
            f"{', '.join(legal)} (a column of another meaning: --ignore metric)"
        )
    return cells.only(names == wanted)


def in_error_percent(
    cells: Cells, named: Quantity | None, options: ImportOptions
) -> NDArray[np.float64]:
    """The values as errors in percent; `named` is what the column of the values says they are.

    Raises UserError, naming the option that settles it, where nothing says whether they are errors
    or accuracies, or the values speak against what is said.
    """
    quantity = named or _stated(cells, options.quantity)
    if options.unit is None:
        _check_percent(cells)
    top = 1.0 if options.unit == "fraction" else 100.0
    values = cells.frame["value"]
    outside = values[(values < 0) | (values > top)]
    if len(outside):
        where = cells.where(outside.index[0])
        # Of a wide table every column of numbers is taken for a dataset.
        hint = "; a column that is no dataset is kept with --describe COLUMN or left out with "
        hint = f"{hint}--ignore COLUMN" if named is None else ""
        raise UserError(f"{where}: {outside.iloc[0]:g} is outside 0 to {top:g}{hint}")
    percent = values * (100.0 / top)
    return np.asarray(100.0 - percent if quantity == "accuracy" else percent, np.float64)


def _stated(cells: Cells, told: Quantity | None) -> Quantity:
    """What the values of a wide table are: as told, or as the names of all its columns say."""
    says: dict[str, Quantity | None] = {}
    datasets: dict[str, str] = {}
    for name in cells.frame["dataset"].cat.categories:
        said: list[Quantity] = [q for q in get_args(Quantity) if _SAYS[q].search(name.casefold())]
        says[name] = said[0] if len(said) == 1 else None
        bare = name.casefold()
        for pattern in _SAYS.values():
            bare = pattern.sub("", bare)
        twin = datasets.setdefault(re.sub(r"[\W_]+", "", bare), name)
        if says[twin] != says[name]:
            raise UserError(
                f"{cells.path}: {twin!r} and {name!r} seem to be errors and accuracies on one "
                f"dataset; leave one out with --ignore COLUMN"
            )
    quantity = told or next(iter(says.values()), None)
    for name, word in says.items():
        if word is None and told is None:
            raise UserError(
                f"{cells.path}: nothing says whether the values of {name!r} are errors or "
                f"accuracies; say so with --error or --accuracy"
            )
        if word not in (None, quantity):
            raise UserError(
                f"{cells.path}: the name of column {name!r} says {word}, but the table is read as "
                f"{quantity}; import it as a file of its own, or leave it out with --ignore"
            )
    assert quantity is not None
    return quantity


def _check_percent(cells: Cells) -> None:
    """Raises UserError where some values look like fractions."""
    by_dataset = cells.frame.groupby("dataset", observed=True)["value"]
    largest = by_dataset.max()
    small = largest[(largest > 0) & (largest <= 1)]
    if len(small) and largest.max() <= 1:
        raise UserError(
            f"{cells.path}: no value exceeds 1 (the largest is {largest.max():g}), so these look "
            f"like fractions; if they are percent: --percent; if fractions: --fraction"
        )
    if len(small):
        raise UserError(
            f"{cells.path}: {small.index[0]} has no value above {small.iloc[0]:g}, "
            f"{largest.idxmax()} has up to {largest.max():g}: fractions and percent in one "
            f"table? If all are percent: --percent; else import them as two files"
        )
    for _, values in by_dataset:
        # 0.76 beside 71.2, with nothing in between.
        low, high = values[(values > 0) & (values <= 1)], values[values > 1]
        if low.empty or high.empty or high.min() < 10:
            continue
        alike = low[(100 * low > 0.8 * high.min()) & (100 * low < 1.2 * high.max())]
        if len(alike):
            where = cells.where(alike.index[0])
            raise UserError(
                f"{where}: {alike.iloc[0]:g} beside values from {high.min():g} to "
                f"{high.max():g}: fractions and percent in one column? If all are percent: "
                f"--percent"
            )
