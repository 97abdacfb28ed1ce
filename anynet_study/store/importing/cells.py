"""The values of a table by model and dataset, and what it says of the models.

A wide table (a column per dataset) and a long one (a row per value) become one form here.
"""

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, get_args

import numpy as np
import pandas as pd
import pyarrow as pa
from numpy.typing import NDArray

from anynet_study.core.errors import UserError
from anynet_study.core.metrics import Metric
from anynet_study.core.sheets import (
    Sheet,
    is_missing,
    is_unclear_number,
    normal_form,
    quoted,
    typed,
)
from anynet_study.store.importing.described import Known
from anynet_study.store.importing.evidence import datasets_among
from anynet_study.store.importing.options import ImportOptions
from anynet_study.store.importing.roles import Roles, stage_columns
from anynet_study.store.importing.rows import refuse_repeats
from anynet_study.store.importing.shapes import spread_of
from anynet_study.store.importing.words import Quantity, said_by

#: A column of weights by which models were drawn, in a table that is no sample of networks.
SAMPLING_WEIGHT = "sampling_weight"
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
    #: The number of each row of the table, for messages.
    rows: NDArray[np.int64]
    #: One row per value: the `model` and the `dataset` (both categorical, in the order of the
    #: file), the `value`, the `place` of its row, and the columns of the run.
    frame: pd.DataFrame
    #: One row per model: `architecture`, what the table calls it, and what the table says of it.
    models: pa.Table
    #: The metric of the values, if the table or the user says it; and what its name says they are.
    metric: str | None
    quantity: Quantity | None

    @property
    def datasets(self) -> list[str]:
        """Their names, also of those without a value."""
        return [str(name) for name in self.frame["dataset"].cat.categories]

    def where(self, place: int) -> str:
        """Tell how a message names the cell of this row of the frame."""
        cell = self.frame.iloc[place]
        row = self.rows[cell["place"]]
        return f"{self.path}: row {row}, {cell['model']} on {cell['dataset']}"

    def without(self, datasets: Collection[str]) -> "Cells":
        """The cells of the other datasets."""
        rest = self.frame[~self.frame["dataset"].isin([*datasets])].reset_index(drop=True)
        names = rest["dataset"].cat.remove_categories([*datasets])
        return replace(self, frame=rest.assign(dataset=names))

    def table(self, values: "pd.Series[float] | NDArray[np.float64]") -> pd.DataFrame:
        """One value per row of the frame as models x datasets: the mean of several, NaN of none."""
        model, dataset = self.frame["model"].cat, self.frame["dataset"].cat
        shape = len(model.categories), len(dataset.categories)
        cell = model.codes.to_numpy(np.int64) * shape[1] + dataset.codes.to_numpy()
        count = np.bincount(cell, minlength=shape[0] * shape[1])
        total = np.bincount(cell, np.asarray(values, np.float64), shape[0] * shape[1])
        mean = np.divide(total, count, np.full(len(total), np.nan), where=count > 0)
        return pd.DataFrame(mean.reshape(shape), model.categories, self.datasets)


def read_cells(
    sheet: Sheet, roles: Roles, options: ImportOptions, known: Known
) -> tuple[Cells, list[str]]:
    """The cells of a table that are not empty, and notes on what was left out.

    Raises UserError that names the row and column of a mistake.
    """
    model = sheet.names(roles.model)
    rows = pd.DataFrame({"model": model, "place": np.arange(len(sheet))})
    for role, name in roles.run.items():
        rows[role] = _run_column(sheet, role, name)
    if roles.value:
        frame, notes = _long(sheet, rows, roles, options)
        others = [name for name in roles.others if not _varies(sheet, name, model)]
        if left := [name for name in roles.others if name not in others]:
            notes.append(f"{', '.join(left)}: left out, as they differ among rows of a model")
    else:
        refuse_repeats(sheet, rows, roles, options)
        _refuse_unclear_numbers(sheet, [name for name in roles.others if sheet.is_text(name)])
        datasets, notes = datasets_among(sheet, roles, options, known)
        frame = _wide(sheet, rows, datasets, roles, options)
        others = [name for name in roles.others if name not in datasets]
    told = {*roles.numbers, *options.describe, *others}
    about = [name for name in sheet.columns if name in told]
    frame = frame[frame["value"].notna()].reset_index(drop=True)
    metric, quantity = _metric(options.metric) if options.metric else None, None
    if "metric" in frame:
        frame, metric, quantity, of_metric = _on_metric(sheet.path, frame, options.metric)
        notes += of_metric
    if roles.value:
        refuse_repeats(sheet, frame, roles, options)
    models = _descriptions(sheet, about, roles.numbers, model)
    notes += _read_as_texts(sheet, about)
    return Cells(sheet.path, sheet.rows, frame, models, metric, quantity), notes


def _long(
    sheet: Sheet, rows: pd.DataFrame, roles: Roles, options: ImportOptions
) -> tuple[pd.DataFrame, list[str]]:
    """The rows with their datasets and values.

    Names of datasets that differ in case, blanks and hyphens alone are one, but where a model has
    values on both; a note tells of them.
    """
    named = sheet.names(roles.dataset)
    first: dict[str, str] = {}
    called = {
        n: first.setdefault(re.sub(r"[\s_-]+", "", n.casefold()), n) for n in named.categories
    }
    once = pd.Categorical([called[name] for name in named], list(first.values()))
    groups = [[n for n in called if called[n] == kept] for kept in first.values()]
    alike, notes = "; ".join(", ".join(group) for group in groups if len(group) > 1), []
    pairs = pd.DataFrame({"model": rows["model"], "as": once, "name": named}).drop_duplicates()
    if alike and pairs.duplicated(["model", "as"]).any():
        notes = [f"{alike}: different datasets, as a model has values on both"]
    elif alike:
        named = once
        notes = [f"{alike}: one dataset, as they differ in case, blanks or hyphens alone"]
    spread = spread_of(sheet, roles.value, options)
    return rows.assign(dataset=named, value=sheet.numbers(roles.value), **spread), notes


def _wide(
    sheet: Sheet, rows: pd.DataFrame, datasets: Sequence[str], roles: Roles, options: ImportOptions
) -> pd.DataFrame:
    """Each row once for each dataset, which is a column of the sheet."""
    if not datasets:
        raise UserError(f"{sheet.path}: {_no_datasets(sheet, roles, options)}")
    count = len(datasets)
    frame = rows.take(np.repeat(np.arange(len(rows)), count)).reset_index(drop=True)
    parts = [{"value": sheet.numbers(n), **spread_of(sheet, n, options)} for n in datasets]
    for name in parts[0]:
        frame[name] = np.stack([part[name] for part in parts], axis=1).reshape(-1)
    codes = np.tile(np.arange(count, dtype=np.int32), len(rows))
    return frame.assign(dataset=pd.Categorical.from_codes(codes, datasets))


def _no_datasets(sheet: Sheet, roles: Roles, options: ImportOptions) -> str:
    """What to say of a wide table of which no column is a dataset."""
    texts = {name: cells[0] for name, cells in sheet.columns.items() if name != roles.model}
    numbers = [name for name in texts if not sheet.is_text(name)]
    highest = [np.nanmax(sheet.read_as_numbers(name), initial=-1) for name in numbers]
    legal = [n for n, most in zip(numbers, highest, strict=True) if 0 <= most <= options.top]
    if legal:
        return (
            f"all columns of numbers are called like no accuracies (such as {numbers[0]}); say "
            f"which are datasets: --dataset-columns {quoted(legal[:1])} or, for columns that are "
            "called so, --map accuracy=NAME_*"
        )
    if numbers:
        told = f"no column of numbers holds values from 0 to {options.top:g} alone"
        return f"{told} (such as {numbers[0]})"
    told = "; ".join(f"column {name} says {cell!r}" for name, cell in [*texts.items()][:2])
    return (
        f"no column holds numbers, so there are no errors in it ({told}); needed is one number in "
        "a cell"
    )


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
            notes.append(f"{name} is read as text: row {sheet.rows[texts[0]]} says {cell!r}")
    return notes


def _refuse_unclear_numbers(sheet: Sheet, texts: Collection[str]) -> None:
    """UserError for columns whose cells may be accuracies with something beside them."""
    unclear = [name for name in texts if is_unclear_number(sheet.columns[name])]
    if unclear:
        cells = sheet.columns[unclear[0]]
        place = next(place for place, cell in enumerate(cells) if not is_missing(cell))
        raise UserError(
            f"{sheet.path}: row {sheet.rows[place]}, column {unclear[0]}: {cells[place]!r}: "
            "is it a number with its spread, or with a comma for thousands? Write 85.5 ± 0.2, "
            f"1234; if it describes the model: --describe {quoted(unclear)}"
        )


def _descriptions(
    sheet: Sheet, columns: Collection[str], numbers: Collection[str], model: pd.Categorical
) -> pa.Table:
    """Return what columns say of the models. Raises UserError where two rows of a model disagree.

    A column `architecture` that is not the model's becomes `given_architecture`; only a sample of
    networks has the weights of its drawing in a column `weight`.
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
                    f"{sheet.path}: row {sheet.rows[place]}: column {name} says {cell!r} "
                    f"of a model of which an earlier row says {known[code]!r}; a column that "
                    f"does not describe the model is left out with --ignore {quoted([name])}"
                )
        taken = name == "architecture" or (name == "weight" and not stage_columns(columns))
        column = "weight" if name == SAMPLING_WEIGHT else f"given_{name}" if taken else name
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
        row = sheet.rows[int(bad.argmax())]
        raise UserError(f"{sheet.path}: row {row}, column {name}: legal: whole numbers from 0")
    return numbers.astype(np.int32)


def _metric(name: str) -> str:
    """The metric that a name means. UserError for another."""
    if normal_form(name) not in METRICS:
        raise UserError(f"--metric: unknown {name!r}; choose from {', '.join(get_args(Metric))}")
    return METRICS[normal_form(name)]


def _on_metric(
    path: Path, frame: pd.DataFrame, wanted: str | None
) -> tuple[pd.DataFrame, str, Quantity | None, list[str]]:
    """The cells of the metric that is wanted, that metric, what its name says that values are, and
    a note.

    Where none is said, the one that is called like accuracies or errors. UserError where that has
    to be said.
    """
    there = sorted(map(str, frame["metric"].unique()))
    ours = {name: METRICS.get(normal_form(name)) for name in there}
    chosen = [name for name in there if wanted in (name, ours[name])]
    if wanted is None:
        plain = [name for name in there if ours[name]]
        chosen = there if len(there) == 1 else plain if len(plain) == 1 else []
    if wanted is None and not chosen:
        first = next((name for name in there if ours[name]), there[0] if there else "top1")
        raise UserError(
            f"{path}: holds the metrics {', '.join(there)}; say which with --metric "
            f"{quoted([first])}"
        )
    if len(chosen) != 1 or (chosen[0] and not ours[chosen[0]]):
        named, legal = wanted or chosen[0], ", ".join(get_args(Metric))
        raise UserError(
            f"{path}: no metric {named!r} to import; there: {', '.join(there)}; legal: "
            f"{legal} (a column of another meaning: --ignore metric; of another measure keep the "
            "rows in a table of their own)"
        )
    left = [name for name in there if name != chosen[0]]
    note = [f"rows of the metric {chosen[0]}; left out: {', '.join(left)}"] if left else []
    kept = frame[frame["metric"] == chosen[0]].drop(columns="metric").reset_index(drop=True)
    return kept, ours[chosen[0]] or "top1", said_by(chosen[0]), note
