"""Which way round the values of a table are, and on which scale: as errors in percent."""

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from anynet_study.core.errors import UserError
from anynet_study.core.sheets import quoted
from anynet_study.store.importing.columns import ImportOptions, Quantity
from anynet_study.store.importing.evidence import ARROWS, SAYS, said_by, words_of

if TYPE_CHECKING:
    from anynet_study.store.importing.table import Cells

#: What --error and --accuracy are called there.
IN_PYTHON = " (in Python: accuracy=False or accuracy=True)"
#: Errors in percent are rarely higher: most models err on most images.
HIGH = 50.0
#: Percent by which an accuracy and an error of one dataset may differ from 100 together.
ROUNDED = 0.06


def directions(
    cells: "Cells", options: ImportOptions, quantity: Quantity | None
) -> tuple["Cells", dict[str, Quantity], list[str]]:
    """The cells without errors that an accuracy repeats, what values are by dataset, and notes.

    As told, as `quantity` says (of a long table), or as names of columns say. Where none says it,
    it may be assumed. Raises UserError, naming the option that settles it, where it is unclear.
    """
    names = [str(name) for name in cells.frame["dataset"].cat.categories]
    if quantity is not None:
        return cells, dict.fromkeys(names, quantity), []
    says = {name: said_by(name) for name in names}
    if options.errors:
        told: dict[str, Quantity] = dict.fromkeys(names, "accuracy")
        return cells, told | dict.fromkeys(options.errors, "error"), []
    cells, twins = _without_twins(cells, says, options)
    names = [name for name in names if name not in twins]
    notes = [f"{name} is not read: {what}" for name, what in twins.items()]
    said = {word for name in names if (word := says[name])}
    general: Quantity | None = options.quantity
    if general is not None and (odd := [n for n in names if says[n] not in (None, general)]):
        raise UserError(_contradiction(cells, names, odd, general))
    if len(said) == 2:
        if silent := [name for name in names if says[name] is None]:
            raise UserError(
                f"{cells.path}: some columns say accuracy, some error, and nothing says it of "
                f"{', '.join(map(repr, silent))}; say which hold errors: --error-columns "
                f"{quoted([name for name in names if says[name] == 'error'])}"
            )
        errors = ", ".join(name for name in names if says[name] == "error")
        notes.append(f"errors, as their names say: {errors}; the others are accuracies")
    elif general is None and not said:
        general = options.assumed
    default = general or next(iter(said), None)
    if default is None:
        raise UserError(
            f"{cells.path}: nothing says whether the values of {names[0]!r} are errors or "
            f"accuracies; say so with --error or --accuracy{IN_PYTHON}"
        )
    return cells, {name: says[name] or default for name in names}, notes


def _contradiction(cells: "Cells", names: list[str], odd: list[str], told: Quantity) -> str:
    says = "error" if told == "accuracy" else "accuracy"
    how = f"--{says} if all are"
    if len(odd) < len(names):
        errors = odd if says == "error" else [name for name in names if name not in odd]
        how = f"--error-columns {quoted(errors)} in place of --{told}, or leave out: --ignore "
        how += quoted(odd)
    return (
        f"{cells.path}: the name of column {', '.join(map(repr, odd))} says {says}, but the table "
        f"is read as {told}; {how}"
    )


def _without_twins(
    cells: "Cells", says: Mapping[str, Quantity | None], options: ImportOptions
) -> tuple["Cells", dict[str, str]]:
    """The cells without errors of which the accuracies are there too, and those, with why.

    UserError for an error and an accuracy on what seems to be one dataset that do not agree.
    """
    datasets: dict[str, str] = {}
    twins: dict[str, str] = {}
    frame = cells.frame
    for name in says:
        bare = name.casefold()
        for pattern in SAYS.values():
            bare = pattern.sub("", bare)
        for arrow in ARROWS:
            bare = bare.replace(arrow, "")
        twin = datasets.setdefault(re.sub(r"[\W_]+", "", bare), name)
        if twin == name or says[twin] == says[name]:
            continue
        values = frame.pivot_table("value", "model", "dataset", "mean", observed=True)
        top = 1.0 if options.unit == "fraction" else 100.0
        both = (values[twin] + values[name] - top).abs().max() if twin in values else np.nan
        if not both <= ROUNDED * top / 100:
            raise UserError(
                f"{cells.path}: {twin!r} and {name!r} seem to be errors and accuracies on one "
                f"dataset; leave one out with --ignore {quoted([name])}"
            )
        out, kept = (twin, name) if options.quantity == (says[name] or "-") else (name, twin)
        out, kept = (kept, out) if options.quantity == says[out] and says[out] else (out, kept)
        twins[out] = f"with {kept} it is {top:g} everywhere"
    if twins:
        kept_rows = ~frame["dataset"].isin([*twins])
        rest = frame[kept_rows].assign(
            dataset=lambda f: f["dataset"].cat.remove_categories([*twins])
        )
        cells = replace(cells, frame=rest)
    return cells, twins


def in_error_percent(
    cells: "Cells", says: Mapping[str, Quantity], wide: bool, options: ImportOptions
) -> NDArray[np.float64]:
    """The values as errors in percent.

    Raises UserError, naming the option that settles it, where the values speak against what is
    said.
    """
    if options.unit is None:
        _check_percent(cells)
    top = 1.0 if options.unit == "fraction" else 100.0
    values = cells.frame["value"].to_numpy(np.float64)
    outside = np.flatnonzero((values < 0) | (values > top))
    if len(outside):
        where = cells.where(cells.frame.index[outside[0]])
        # Of a wide table every column of numbers is taken for a dataset.
        name = str(cells.frame["dataset"].iloc[outside[0]])
        hint = (
            f"; a column that is no dataset is kept with --describe {quoted([name])} or left out "
        )
        hint = f"{hint}with --ignore {quoted([name])}" if wide else ""
        raise UserError(f"{where}: {values[outside[0]]:g} is outside 0 to {top:g}{hint}")
    percent = values * (100.0 / top)
    accuracies = np.array(
        [says[str(n)] == "accuracy" for n in cells.frame["dataset"].cat.categories]
    )
    turned = accuracies[cells.frame["dataset"].cat.codes.to_numpy()] if len(accuracies) else False
    return np.asarray(np.where(turned, 100.0 - percent, percent), np.float64)


def require_errors(cells: "Cells", errors: pd.DataFrame) -> None:
    """UserError where errors that nothing says to be such look like accuracies."""
    medians = errors.median()
    if medians.max() > HIGH:
        raise UserError(
            f"{cells.path}: nothing says whether the values are errors or accuracies, and their "
            f"median on {medians.idxmax()} is {medians.max():g}%; say so with --error or --accuracy"
            f"{IN_PYTHON}"
        )


def _check_percent(cells: "Cells") -> None:
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
            f"table? If all are percent: --percent; else leave one kind out with --ignore "
            f"{quoted(map(str, small.index))}, and read it as a table of its own"
        )
    for _, values in by_dataset:
        # 0.76 beside 71.2, with nothing in between.
        low, high = values[(values > 0) & (values <= 1)], values[values > 1]
        if low.empty or high.empty or high.min() < 10 * low.max():
            continue
        least, most = max(0.8 * high.min(), high.median() / 3), 1.2 * high.max()
        alike = low[(100 * low > least) & (100 * low < most)]
        if len(alike):
            where = cells.where(alike.index[0])
            raise UserError(
                f"{where}: {alike.iloc[0]:g} beside values from {high.min():g} to "
                f"{high.max():g}: fractions and percent in one column? If all are percent: "
                f"--percent"
            )


def measures_of_one(names: list[str]) -> list[str]:
    """A note on datasets that are the top-1 and top-5 accuracies of one dataset."""
    found: dict[str, list[str]] = {}
    for name in names:
        words = words_of(name)
        if {"1", "5"} & {*words} and {"top", "acc", "accuracy", "err", "error"} & {*words}:
            found.setdefault(" ".join(word for word in words if word not in "15"), []).append(name)
    return [
        f"{' and '.join(pair)} are two measures on the same images: their correlation is none of "
        f"two datasets (--ignore {quoted(pair[1:])})"
        for pair in found.values()
        if len(pair) == 2
    ]
