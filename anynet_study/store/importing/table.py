"""A table of errors or accuracies, long or wide, as records of a store."""

import re
from collections.abc import Collection
from dataclasses import dataclass, replace
from pathlib import Path
from shlex import quote
from typing import Any, NamedTuple, get_args

import numpy as np
import pandas as pd
import pyarrow as pa
from numpy.typing import NDArray

from anynet_study.core.errors import UserError
from anynet_study.core.metrics import Metric
from anynet_study.core.sheets import (
    Sheet,
    first_repeat,
    is_missing,
    is_text,
    is_unclear_number,
    number,
    read_sheet,
    typed,
)
from anynet_study.store.importing.columns import (
    AND,
    ImportOptions,
    Quantity,
    Roles,
    TableAccount,
    describes,
    roles_of,
    stage_columns,
    with_joined_model,
)
from anynet_study.store.importing.described import Known, called_by_id
from anynet_study.store.importing.files import ImportedFile, entry, journal_row, named_records
from anynet_study.store.importing.plausible import require_plausible
from anynet_study.store.importing.spread import (
    RECORDED,
    datasets_by_pattern,
    spread_of,
    told_of_spread,
    with_spreads_in_cells,
)
from anynet_study.store.run_arrays import RunArrays

#: A column of weights by which models were drawn, in a table that is no sample of networks.
SAMPLING_WEIGHT = "sampling_weight"
#: What --error and --accuracy are called there.
IN_PYTHON = " (in Python: accuracy=False or accuracy=True)"
#: Errors in percent are rarely higher: most models err on most images.
HIGH = 50.0
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
    """What the columns of a table of errors or accuracies mean, and its values as errors.

    `known` is what was said of the datasets. Raises UserError, naming the option that decides, for
    whatever is unclear, ambiguous or implausible.
    """
    sheet, options = datasets_by_pattern(sheet, options)
    sheet = with_joined_model(with_spreads_in_cells(sheet), options)
    roles = roles_of(sheet.path, list(sheet.columns), options, known)
    _require_names(sheet, roles)
    cells = read_cells(sheet, roles, options)
    if "metric" in cells.frame:
        cells = _on_metric(cells, options.metric)
    _refuse_repeats(cells)
    quantity, said = (roles.quantity, True) if roles.quantity else _stated(cells, options)
    errors = in_error_percent(cells, quantity, roles, options)
    wide = cells.frame.assign(error=errors)
    table = wide.pivot_table("error", "model", "dataset", "mean", observed=True, sort=False)
    require_plausible(sheet.path, table, known, options.datasets)
    if options.quantity is None and options.assumed and not said:
        _require_errors(cells, table)
    account = TableAccount(
        file=str(sheet.path),
        models_from=roles.model,
        models=len(cells.models),
        datasets={str(name): float(table[name].median()) for name in table.columns},
        long=roles.dataset is not None,
        quantity=quantity,
        unit=options.unit or "percent",
        run_columns=dict(roles.run),
        spread=told_of_spread(sheet, options),
        describing=tuple(cells.models.column_names[1:]),
        ignored=tuple(options.ignore),
    )
    return Understood(account, roles, cells, errors, table)


def _require_names(sheet: Sheet, roles: Roles) -> None:
    """UserError where the column that is taken for the models' names holds numbers."""
    cells = sheet.columns[roles.model]
    if roles.sure or any(np.isinf(number(cell)) for cell in cells) or not cells:
        return
    texts = [name for name in roles.others if is_text(sheet.columns[name])]
    hint = f" such as --map model={texts[0]}" if texts else ""
    raise UserError(
        f"{sheet.path}: the first column, {roles.model!r}, holds numbers, no names of models; say "
        f"which column names them with --map model=COLUMN{hint}"
    )


def table_file(
    path: Path, label: str, options: ImportOptions, known: Known, arrays: RunArrays
) -> ImportedFile:
    """Read a table of errors or accuracies; `label` is its name in the store.

    `known` is what was said of the datasets. Raises UserError for whatever is unclear, ambiguous
    or wrong in it.
    """
    understood = understand(read_sheet(path, options.separator, options.encoding), options, known)
    cells, roles = understood.cells, understood.roles
    frame, models = cells.frame, called_by_id(path, cells.models)
    datasets = frame["dataset"].cat.categories.tolist()
    metrics = [options.metric or known.get(name, {}).get("metric", "top1") for name in datasets]
    columns = {
        "recipe": options.recipe,
        "metric": _coded(metrics, frame["dataset"]),
        "journal": label,
        **{name: _arrow(frame[name]) for name in frame.columns if name in {*roles.run, *RECORDED}},
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
    )


class ErrorTables(NamedTuple):
    """What analyses read of a table."""

    #: Errors in percent by model and dataset: the mean over replicates where there are several.
    errors: pd.DataFrame
    #: Long: architecture, dataset, replicate, error; None where no model was trained twice.
    replicates: pd.DataFrame | None
    #: What the table says of the models.
    models: pd.DataFrame
    quantity: Quantity


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
    names = understood.cells.models["architecture"].to_pylist()
    errors = understood.table.reindex(index=names, columns=frame["dataset"].cat.categories)
    errors = errors.rename_axis(index="architecture", columns=None)
    errors.columns = [str(name) for name in errors.columns]
    errors.index = pd.Index(names, name="architecture", dtype=object)
    replicates = None
    if {"replicate", "trainings"} & {*frame}:
        once = {"replicate": 0, "error_std": np.nan, "trainings": 1}
        runs = frame.assign(**{name: value for name, value in once.items() if name not in frame})
        texts = {name: runs[name].astype(object) for name in ("model", "dataset")}
        replicates = single_runs(runs.assign(**texts).rename(columns={"model": "architecture"}))
    about = understood.cells.models.to_pandas()
    return ErrorTables(errors, replicates, about, understood.account.quantity)


def read_cells(sheet: Sheet, roles: Roles, options: ImportOptions) -> Cells:
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
        values = {"value": sheet.numbers(roles.value), **spread_of(sheet, roles.value, options)}
        frame = rows.assign(dataset=sheet.names(roles.dataset), **values)
    else:
        texts = tuple(name for name in roles.others if is_text(sheet.columns[name]))
        _refuse_unclear_numbers(sheet, texts)
        datasets = [name for name in roles.others if name not in texts]
        frame = _wide(sheet, rows, datasets, roles.model, options)
    about = (*roles.numbers, *roles.described, *texts)
    cells = Cells(sheet.path, frame, _descriptions(sheet, about, roles.numbers, model))
    return cells.only(frame["value"].notna())


def _refuse_unclear_numbers(sheet: Sheet, texts: Collection[str]) -> None:
    """UserError for a column whose cells may be accuracies with something beside them."""
    for name in texts:
        cells = sheet.columns[name]
        if is_unclear_number(cells):
            place = next(place for place, cell in enumerate(cells) if not is_missing(cell))
            raise UserError(
                f"{sheet.path}: row {sheet.first_row + place}, column {name}: {cells[place]!r}: is "
                "it a number with its spread? Write 85.5 ± 0.2; if it describes the model: "
                f"--describe {name!r}"
            )


def _wide(
    sheet: Sheet, rows: pd.DataFrame, datasets: list[str], model: str, options: ImportOptions
) -> pd.DataFrame:
    """The rows once for each dataset, which is a column of the sheet."""
    if pair := first_repeat(rows.drop(columns="row")):
        first, second = rows["row"][list(pair)]
        raise UserError(
            f"{sheet.path}: {rows['model'][pair[0]]} is there twice, in rows {first} and {second}; "
            f"{_told_apart(sheet, rows['model'], model)}"
        )
    if not datasets:
        texts = [(name, sheet.columns[name][0]) for name in sheet.columns if name != model]
        told = "; ".join(f"column {name} says {cell!r}" for name, cell in texts[:2])
        if numbers := [name for name, _ in texts if not is_text(sheet.columns[name])]:
            raise UserError(
                f"{sheet.path}: all columns of numbers are called like no accuracies (such as "
                f"{numbers[0]}); say which are datasets: --dataset-columns {numbers[0]},... or "
                "--map accuracy=*_mean for columns that are called so"
            )
        raise UserError(
            f"{sheet.path}: no column holds numbers, so there are no errors in it ({told})"
        )
    frame = pd.concat(
        rows.assign(value=sheet.numbers(name), **spread_of(sheet, name, options))
        for name in datasets
    )
    codes = np.repeat(np.arange(len(datasets)), len(rows))
    frame["dataset"] = pd.Categorical.from_codes(codes, datasets)
    return frame.reset_index(drop=True)


def _told_apart(sheet: Sheet, models: "pd.Series[Any]", model: str) -> str:
    """How rows of one name are told apart: by another column of texts, or as repetitions."""
    told = [name for name, cells in sheet.columns.items() if is_text(cells)]
    for name in (*told, *filter(describes, sheet.columns)):
        cells = sheet.columns[name]
        if name != model and not pd.DataFrame({0: models, 1: cells}).duplicated().any():
            return f"name models by two columns: --map {quote(f'model={model}{AND}{name}')}"
    return (
        f"name unlike models by two columns, --map {quote(f'model={model}{AND}COLUMN')}; number "
        "repetitions of one model by --map replicate=COLUMN"
    )


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
            if not is_missing(cell) and known.setdefault(code, cell) != cell:
                raise UserError(
                    f"{sheet.path}: row {sheet.first_row + place}: column {name} says {cell!r} "
                    f"of a model of which an earlier row says {known[code]!r}; a column that "
                    f"does not describe the model is left out with --ignore {name!r}"
                )
        column = _called(name, columns)
        found[column] = typed([known.get(code) for code in range(len(names))])
    return pa.table(found)


def _called(name: str, columns: Collection[str]) -> str:
    """What the store calls a column: only a sample of networks has weights of its drawing."""
    if name == SAMPLING_WEIGHT:
        return "weight"
    taken = name == "architecture" or (name == "weight" and not stage_columns(columns))
    return f"given_{name}" if taken else name


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
    cells: Cells, quantity: Quantity, roles: Roles, options: ImportOptions
) -> NDArray[np.float64]:
    """The values as errors in percent.

    Raises UserError, naming the option that settles it, where the values speak against what is
    said.
    """
    if options.unit is None:
        _check_percent(cells)
    top = 1.0 if options.unit == "fraction" else 100.0
    values = cells.frame["value"]
    outside = values[(values < 0) | (values > top)]
    if len(outside):
        where = cells.where(outside.index[0])
        # Of a wide table every column of numbers is taken for a dataset.
        hint = "; a column that is no dataset is kept with --describe COLUMN or left out with "
        hint = f"{hint}--ignore COLUMN" if roles.quantity is None else ""
        raise UserError(f"{where}: {outside.iloc[0]:g} is outside 0 to {top:g}{hint}")
    percent = values * (100.0 / top)
    return np.asarray(100.0 - percent if quantity == "accuracy" else percent, np.float64)


def _stated(cells: Cells, options: ImportOptions) -> tuple[Quantity, bool]:
    """What the values of a wide table are, as told or as names of columns say; whether one does.

    Where none says it, it may be assumed of values that do not look like the other.

    Raises UserError, naming the option that settles it, where it is unclear.
    """
    told = options.quantity
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
    if not any(says.values()):
        told = told or options.assumed
    quantity = told or next(iter(says.values()), None)
    for name, word in says.items():
        if word is None and told is None:
            raise UserError(
                f"{cells.path}: nothing says whether the values of {name!r} are errors or "
                f"accuracies; say so with --error or --accuracy{IN_PYTHON}"
            )
        if word not in (None, quantity):
            raise UserError(
                f"{cells.path}: the name of column {name!r} says {word}, but the table is read as "
                f"{quantity}; import it as a file of its own, or leave it out with --ignore"
            )
    assert quantity is not None
    return quantity, any(says.values())


def _require_errors(cells: Cells, errors: pd.DataFrame) -> None:
    """UserError where errors that nothing says to be such look like accuracies."""
    medians = errors.median()
    if medians.max() > HIGH:
        raise UserError(
            f"{cells.path}: nothing says whether the values are errors or accuracies, and their "
            f"median on {medians.idxmax()} is {medians.max():g}%; say so with --error or --accuracy"
            f"{IN_PYTHON}"
        )


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
        if low.empty or high.empty or high.min() < 10 * low.max():
            continue
        alike = low[(100 * low > 0.8 * high.min()) & (100 * low < 1.2 * high.max())]
        if len(alike):
            where = cells.where(alike.index[0])
            raise UserError(
                f"{where}: {alike.iloc[0]:g} beside values from {high.min():g} to "
                f"{high.max():g}: fractions and percent in one column? If all are percent: "
                f"--percent"
            )
