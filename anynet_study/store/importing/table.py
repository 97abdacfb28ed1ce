"""A table of errors or accuracies, long or wide, as records of a store."""

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple, get_args

import numpy as np
import pandas as pd
import pyarrow as pa
from numpy.typing import NDArray

from anynet_study.core.errors import UserError, some_of
from anynet_study.core.metrics import Metric
from anynet_study.core.sheets import (
    Sheet,
    column_called,
    first_repeat,
    is_missing,
    is_unclear_number,
    normal_form,
    quoted,
    read_sheet,
    typed,
)
from anynet_study.store.importing.columns import (
    AND,
    ImportOptions,
    Quantity,
    Roles,
    TableAccount,
    roles_of,
    stage_columns,
)
from anynet_study.store.importing.described import Known, called_by_id
from anynet_study.store.importing.evidence import PARTS, said_by
from anynet_study.store.importing.files import ImportedFile, entry, journal_row, named_records
from anynet_study.store.importing.questions import ask_of_rows, datasets_among
from anynet_study.store.importing.scale import (
    directions,
    in_error_percent,
    measures_of_one,
    require_errors,
)
from anynet_study.store.importing.shapes import RECORDED, shaped, spread_of, told_of_spread
from anynet_study.store.run_arrays import RunArrays

#: A column of weights by which models were drawn, in a table that is no sample of networks.
SAMPLING_WEIGHT = "sampling_weight"
#: Columns that count the passes of one training.
OF_PASSES = ("epoch", "step", "iteration", "iter", "epochs")
#: Our metrics by what others call them, in normal form.
METRICS: Mapping[str, str] = {
    **{name: name for name in get_args(Metric)},
    **dict.fromkeys(("accuracy", "acc", "top_1", "acc1", "acc_1", "error", "err"), "top1"),
    **dict.fromkeys(("top1_accuracy", "top_1_accuracy", "test_accuracy", "test_acc"), "top1"),
    **dict.fromkeys(("top1_error", "top_1_error", "error_rate", "test_error"), "top1"),
    **dict.fromkeys(("top_5", "acc5", "acc_5", "top5_accuracy", "top_5_accuracy"), "top5"),
    **dict.fromkeys(
        ("mean_per_class_recall", "balanced_acc", "mean_per_class_accuracy"), "balanced_accuracy"
    ),
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
        """Tell how a message names the cell of this label of the frame."""
        cell = self.frame.loc[label]
        return f"{self.path}: row {cell['row']}, {cell['model']} on {cell['dataset']}"

    def only(self, kept: "pd.Series[bool]") -> "Cells":
        """Return a part of the cells; models and datasets that have none stay known."""
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
    """Return what the columns of a table of errors or accuracies mean, and its values as errors.

    `known` is what was said of the datasets. Raises UserError, naming the option that decides, for
    whatever is unclear, ambiguous or implausible.
    """
    sheet, options = shaped(sheet, options)
    roles = roles_of(sheet, options, known)
    sheet = _with_rows(sheet, roles, options)
    cells, notes = read_cells(sheet, roles, options, known)
    quantity = roles.quantity
    if "metric" in cells.frame:
        cells, said, told = _on_metric(cells, options.metric)
        quantity, notes = quantity or options.quantity or said, [*notes, *told]
    elif options.metric:
        _metric(options.metric)  # or a name that is none would be told of later
    cells = _called(cells, options)
    _refuse_repeats(cells, sheet, roles, options)
    cells, says, told = directions(cells, options, quantity)
    wide = roles.dataset is None
    errors = in_error_percent(cells, says, wide, options)
    values = cells.frame.assign(error=errors)
    table = values.pivot_table("error", "model", "dataset", "mean", observed=True, sort=False)
    ask_of_rows(sheet, roles, table, options)
    _require_above_chance(sheet.path, table, known)
    assumed = options.quantity is None and options.assumed and quantity is None
    if assumed and wide and not any(map(said_by, says)):
        require_errors(cells, table)
    names = [str(name) for name in table.columns]
    account = TableAccount(
        file=str(sheet.path),
        models_from=roles.model,
        models=len(cells.models),
        datasets={str(name): float(table[name].median()) for name in table.columns},
        long=not wide,
        quantity="accuracy" if "accuracy" in says.values() else "error",
        unit=options.unit or "percent",
        run_columns=dict(roles.run),
        spread=told_of_spread(cells.models.column_names[1:], options),
        describing=tuple(cells.models.column_names[1:]),
        ignored=(*options.ignore, *["row numbers"] * roles.counting),
        notes=(
            *(*sheet.notes, *notes, *told, *(measures_of_one(names) if wide else ())),
            *_odd_values(cells, table),
        ),
    )
    return Understood(account, roles, cells, errors, table)


def _odd_values(cells: Cells, errors: pd.DataFrame) -> list[str]:
    """Notes on models without any value, and on errors of 100% where most models err less."""
    names = cells.models["architecture"].to_pylist()
    known = {str(name) for name in errors.index[errors.notna().any(axis=1)]}
    empty = [name for name in names if name not in known]
    failed = [
        f"{model} on {name}"
        for name in errors.columns
        for model in errors.index[errors[name] == 100]
        if errors[name].median() < 90
    ]
    notes = [f"no value at all: {', '.join(some_of(empty))}: no models? --ignore-rows"] * bool(
        empty
    )
    told = f"an error of 100%: {', '.join(some_of(failed))}: failed? Then leave its cell empty"
    return notes + [told] * bool(failed)


def _with_rows(sheet: Sheet, roles: Roles, options: ImportOptions) -> Sheet:
    """The rows that count: without those left out, and of each model the last alone if asked for.

    UserError for a row to be left out that is not there.
    """
    names = [str(cell) for cell in sheet.columns[roles.model]] if sheet.columns else []
    if absent := {*options.ignore_rows} - {*names, "none"}:
        raise UserError(f"--ignore-rows: {sheet.path} has no row {min(absent)!r}")
    kept = np.array([name not in options.ignore_rows for name in names], bool)
    if options.last:
        of = [name for name in (roles.model, roles.dataset, roles.run.get("replicate")) if name]
        rows = pd.DataFrame({name: list(map(str, sheet.columns[name])) for name in of})
        rows["last"] = sheet.numbers(options.last)
        latest = rows[kept].groupby(of, sort=False)["last"].transform("max")
        kept[kept] = (rows[kept]["last"] == latest).to_numpy()
    return sheet if kept.all() else sheet.only(kept)


def _called(cells: Cells, options: ImportOptions) -> Cells:
    """Cells whose datasets are called as is asked for; names that differ in case alone are one.

    The first is for a table of one dataset: UserError where there are several.
    """
    names = [str(name) for name in cells.frame["dataset"].cat.categories]
    if options.dataset:
        names = [name for name in names if name not in options.ignore]
        if len(names) > 1:
            raise UserError(
                f"{options.dataset}={cells.path}: its values are on {len(names)} datasets, "
                f"{', '.join(names)}; say which one: --dataset-columns {quoted(names[:1])}"
            )
        frame = cells.frame.assign(
            dataset=cells.frame["dataset"].cat.rename_categories([options.dataset])
        )
        return replace(cells, frame=frame)
    return cells


def _require_above_chance(path: Path, errors: pd.DataFrame, known: Known) -> None:
    """UserError where all models are worse than chance on a dataset whose classes are said."""
    for name in errors.columns:
        classes = known.get(name, {}).get("classes")
        if classes and errors[name].min() > 100 * (1 - 1 / classes):
            raise UserError(
                f"{path}: all models are worse than chance on {name}: the least error is "
                f"{errors[name].min():.4g}% and {classes} classes are said; accuracies for errors?"
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
    told = options.metric and _metric(options.metric)
    metrics = [told or known.get(name, {}).get("metric", "top1") for name in datasets]
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
        account=understood.account,
    )


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
    return ErrorTables(errors, replicates, about, understood.account)


def read_cells(
    sheet: Sheet, roles: Roles, options: ImportOptions, known: Known
) -> tuple[Cells, list[str]]:
    """The cells of a table that are not empty, and notes on what was left out.

    Raises UserError that names the row and column of a mistake.
    """
    if not len(sheet):
        raise UserError(f"{sheet.path}: the table has no rows")
    model = sheet.names(roles.model)
    rows = pd.DataFrame({"model": model, "row": sheet.first_row + np.arange(len(sheet))})
    for role, name in roles.run.items():
        rows[role] = _run_column(sheet, role, name)
    notes, about = [], [*roles.numbers, *roles.described]
    if roles.dataset is not None and roles.value is not None:
        values = {"value": sheet.numbers(roles.value), **spread_of(sheet, roles.value, options)}
        dataset, told = _one_spelling(rows["model"], sheet.names(roles.dataset))
        frame = rows.assign(dataset=dataset, **values)
        about += [name for name in roles.others if not _varies(sheet, name, model)]
        varying = [name for name in roles.others if name not in about]
        notes += told + (
            [f"{', '.join(varying)}: left out, as they differ among rows of a model"]
            if varying
            else []
        )
    else:
        _refuse_unclear_numbers(sheet, [name for name in roles.others if sheet.is_text(name)])
        _refuse_second_rows(sheet, rows, roles, options)
        datasets, why = datasets_among(sheet, roles, options, known)
        frame = _wide(sheet, rows, datasets, roles.model, options)
        about += [name for name in roles.others if name not in datasets]
        notes += [
            f"{name} {told}" if name in datasets else f"{name} is no dataset: {told}"
            for name, told in why.items()
        ]
    about = [name for name in sheet.columns if name in about]
    notes += _read_as_texts(sheet, about)
    cells = Cells(sheet.path, frame, _descriptions(sheet, about, roles.numbers, model))
    return cells.only(frame["value"].notna()), notes


def _one_spelling(
    models: "pd.Series[Any]", datasets: pd.Categorical
) -> tuple[pd.Categorical, list[str]]:
    """Names of datasets that differ in case, blanks and hyphens alone are one; and a note.

    But where a model has values on both.
    """
    names = list(datasets.categories)
    first: dict[str, str] = {}
    plain = {name: re.sub(r"[\s_-]+", "", name.casefold()) for name in names}
    called = {name: first.setdefault(plain[name], name) for name in names}
    if len(first) == len(names):
        return datasets, []
    once = pd.Categorical([called[name] for name in datasets], list(first.values()))
    alike = [[n for n in names if called[n] == kept] for kept in first.values()]
    told = "; ".join(", ".join(each) for each in alike if len(each) > 1)
    pairs = pd.DataFrame({"model": models, "name": np.asarray(datasets), "as": np.asarray(once)})
    if pairs.drop_duplicates().duplicated(["model", "as"]).any():
        return datasets, [f"{told}: different datasets, as a model has values on both"]
    return once, [f"{told}: one dataset, as they differ in case, blanks or hyphens alone"]


def _varies(sheet: Sheet, name: str, model: pd.Categorical) -> bool:
    """Tell whether a column says different things of one model."""
    cells = sheet.columns[name]
    said = pd.DataFrame({"model": model.codes, "cell": pd.Series(cells, dtype=object)})
    known = said[[not is_missing(cell) for cell in cells]].drop_duplicates()
    return bool(known.duplicated("model").any())


def _read_as_texts(sheet: Sheet, columns: Collection[str]) -> list[str]:
    """A note on each description of which some cells are numbers, and others are not."""
    notes = []
    for name in columns:
        numbers = sheet.read_as_numbers(name)
        texts = np.flatnonzero(np.isinf(numbers))
        if len(texts) and 2 * np.isfinite(numbers).sum() > len(numbers):
            cell = sheet.columns[name][texts[0]]
            notes.append(f"{name} is read as text: row {sheet.first_row + texts[0]} says {cell!r}")
    return notes


def _refuse_unclear_numbers(sheet: Sheet, texts: Collection[str]) -> None:
    """UserError for columns whose cells may be accuracies with something beside them."""
    unclear = [name for name in texts if is_unclear_number(sheet.columns[name])]
    if unclear:
        cells = sheet.columns[unclear[0]]
        place = next(place for place, cell in enumerate(cells) if not is_missing(cell))
        raise UserError(
            f"{sheet.path}: row {sheet.first_row + place}, column {unclear[0]}: {cells[place]!r}: "
            "is it a number with its spread, or with a comma for thousands? Write 85.5 ± 0.2, "
            f"1234; if it describes the model: --describe {quoted(unclear)}"
        )


def _refuse_second_rows(
    sheet: Sheet, rows: pd.DataFrame, roles: Roles, options: ImportOptions
) -> None:
    """UserError for a model of a wide table that is there twice."""
    if pair := first_repeat(rows.drop(columns="row")):
        first, second = rows["row"][list(pair)]
        raise UserError(
            f"{sheet.path}: {rows['model'][pair[0]]} is there twice, in rows {first} and {second}; "
            f"{_told_apart(sheet, rows['model'], roles, options)}"
        )


def _wide(
    sheet: Sheet, rows: pd.DataFrame, datasets: Sequence[str], model: str, options: ImportOptions
) -> pd.DataFrame:
    """Each row once for each dataset, which is a column of the sheet."""
    if not datasets:
        texts = [(name, sheet.columns[name][0]) for name in sheet.columns if name != model]
        told = "; ".join(f"column {name} says {cell!r}" for name, cell in texts[:2])
        top = 1 if options.unit == "fraction" else 100
        numbers = [name for name, _ in texts if not sheet.is_text(name)]
        if legal := [n for n in numbers if 0 <= np.nanmax(sheet.read_as_numbers(n)) <= top]:
            raise UserError(
                f"{sheet.path}: all columns of numbers are called like no accuracies (such as "
                f"{numbers[0]}); say which are datasets: --dataset-columns {quoted(legal[:1])} "
                "or, for columns that are called so, --map accuracy=NAME_*"
            )
        if numbers:
            raise UserError(
                f"{sheet.path}: no column of numbers holds values from 0 to {top} alone (such as "
                f"{numbers[0]})"
            )
        raise UserError(
            f"{sheet.path}: no column holds numbers, so there are no errors in it ({told}); needed "
            "is one number in a cell"
        )
    count = len(datasets)
    places = np.repeat(np.arange(len(rows)), count)  # in the order of a store
    frame = rows.take(places).reset_index(drop=True)
    frame["value"] = np.stack([sheet.numbers(name) for name in datasets], axis=1).reshape(-1)
    spreads = [spread_of(sheet, name, options) for name in datasets]
    for name in spreads[0]:
        frame[name] = np.stack([spread[name] for spread in spreads], axis=1).reshape(-1)
    codes = np.tile(np.arange(count, dtype=np.int32), len(rows))
    return frame.assign(dataset=pd.Categorical.from_codes(codes, datasets))


def _told_apart(
    sheet: Sheet, models: "pd.Series[Any]", roles: Roles, options: ImportOptions
) -> str:
    """Tell how rows of one name are told apart: by another column, as epochs, or as repetitions."""
    model, dataset = roles.model, roles.dataset
    used = {model, dataset, roles.value, *options.ignore}
    apart = [name for name in sheet.columns if name not in used]
    if passes := column_called(apart, OF_PASSES):
        return (
            f"a row for each {passes}? --last {quoted([passes])} keeps the last row of each model"
        )
    texts = [name for name in apart if sheet.is_text(name)]
    for name in texts:
        if (said := {str(cell).lower() for cell in sheet.columns[name]}) <= PARTS.keys():
            return (
                f"column {name} says {' and '.join(sorted(said))}: accuracies on several parts of "
                "the images? Keep the rows of one part in the table"
            )
    numbers = {name: sheet.read_as_numbers(name) for name in apart if name not in texts}
    whole = [n for n, v in numbers.items() if (np.isfinite(v) & (np.floor(v) == v)).all()]
    keys = {"model": models} | ({"on": sheet.columns[dataset]} if dataset else {})
    for name in (*texts, *whole):
        if not pd.DataFrame({**keys, "by": sheet.columns[name]}).duplicated().any():
            if normal_form(name) in ("run", "trial", "repeat", "fold", "try", "rep"):
                return f"repetitions of one model? --map {quoted([f'replicate={name}'])}"
            return f"name models by two columns: --map {quoted([f'model={model}{AND}{name}'])}"
    return (
        f"name unlike models by two columns, --map {quoted([f'model={model}{AND}COLUMN'])}; number "
        "repetitions of one model by --map replicate=COLUMN"
    )


def _descriptions(
    sheet: Sheet, columns: Collection[str], numbers: Collection[str], model: pd.Categorical
) -> pa.Table:
    """Return what columns say of the models. Raises UserError where two rows of a model disagree.

    A column `architecture` that is not the model's becomes `given_architecture`.
    """
    for name in numbers:
        sheet.numbers(name)
    names = model.categories.tolist()
    found = {"architecture": pa.array(names, pa.string())}
    for name in columns:
        known: dict[int, Any] = {}
        cells = zip(model.codes.tolist(), sheet.columns[name], strict=True)
        for place, (code, cell) in enumerate(cells):
            if not is_missing(cell) and known.setdefault(code, cell) != cell:
                raise UserError(
                    f"{sheet.path}: row {sheet.first_row + place}: column {name} says {cell!r} "
                    f"of a model of which an earlier row says {known[code]!r}; a column that "
                    f"does not describe the model is left out with --ignore {quoted([name])}"
                )
        column = _stored_name(name, columns)
        found[column] = typed([known.get(code) for code in range(len(names))])
    return pa.table(found)


def _stored_name(name: str, columns: Collection[str]) -> str:
    """Return what the store calls a column: only a sample of networks has weights of its
    drawing.
    """
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


def _refuse_repeats(cells: Cells, sheet: Sheet, roles: Roles, options: ImportOptions) -> None:
    frame = cells.frame
    keys = [name for name in ("model", "dataset", "replicate", "recipe") if name in frame]
    if pair := first_repeat(frame[keys]):
        first, second = pair
        how = "repetitions of a run need a column replicate"
        if roles.dataset is not None and len(frame) == len(sheet):
            how = _told_apart(sheet, frame["model"], roles, options)
        raise UserError(f"{cells.where(first)}: given again in row {frame['row'][second]}; {how}")


def _coded(labels: list[str], column: "pd.Series[Any]") -> pa.Array:
    """A categorical column whose categories are called by these labels."""
    codes = pa.array(column.cat.codes.to_numpy(np.int32))
    return pa.DictionaryArray.from_arrays(codes, pa.array(labels, pa.string()))


def _arrow(column: "pd.Series[Any]") -> pa.Array:
    if isinstance(column.dtype, pd.CategoricalDtype):
        return _coded(column.cat.categories.tolist(), column)
    return pa.array(column.to_numpy())


def _metric(name: str) -> str:
    """The metric that a name means. UserError for another."""
    if normal_form(name) not in METRICS:
        raise UserError(f"--metric: unknown {name!r}; choose from {', '.join(get_args(Metric))}")
    return METRICS[normal_form(name)]


def _on_metric(cells: Cells, wanted: str | None) -> tuple[Cells, Quantity | None, list[str]]:
    """The cells of the metric that is wanted, what its name says that values are, and a note.

    Where none is said, the one that is called like accuracies or errors. UserError where that has
    to be said.
    """
    names = cells.frame["metric"]
    there = sorted(map(str, names.unique()))
    ours = {name: METRICS.get(normal_form(name)) for name in there}
    chosen = [name for name in there if wanted in (name, ours[name])]
    if wanted is None:
        plain = [name for name in there if ours[name]]
        chosen = there if len(there) == 1 else plain if len(there) > 1 and len(plain) == 1 else []
    if wanted is None and not chosen:
        first = next((name for name in there if ours[name]), there[0] if there else "top1")
        raise UserError(
            f"{cells.path}: holds the metrics {', '.join(there)}; say which with --metric "
            f"{quoted([first])}"
        )
    if len(chosen) != 1 or (chosen[0] and not ours[chosen[0]]):
        named = wanted or chosen[0]
        legal = ", ".join(get_args(Metric))
        raise UserError(
            f"{cells.path}: no metric {named!r} to import; there: {', '.join(there)}; legal: "
            f"{legal} (a column of another meaning: --ignore metric; of another measure keep the "
            "rows in a table of their own)"
        )
    kept = cells.only(names == chosen[0])
    left = [name for name in there if name != chosen[0]]
    note = [f"rows of the metric {chosen[0]}; left out: {', '.join(left)}"] if left else []
    metric = ours[chosen[0]] or "top1"
    frame = kept.frame.assign(metric=pd.Categorical([metric] * len(kept.frame)))
    return replace(kept, frame=frame), said_by(chosen[0]), note
