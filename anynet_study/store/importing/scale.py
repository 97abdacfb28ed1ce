"""Which way round the values of a table are, and on which scale: as errors in percent."""

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from anynet_study.core.errors import UserError
from anynet_study.core.sheets import quoted
from anynet_study.store.importing.cells import Cells
from anynet_study.store.importing.evidence import OF_FAILED, ROUNDED
from anynet_study.store.importing.options import ImportOptions
from anynet_study.store.importing.words import Called, Quantity, said_by, several_of

#: What --error and --accuracy are called there.
IN_PYTHON = " (in Python: accuracy=False or accuracy=True)"
#: Errors in percent are rarely higher: most models err on most images.
HIGH = 50.0


def directions(
    cells: Cells, options: ImportOptions, quantity: Quantity | None
) -> tuple[Cells, dict[str, Quantity], list[str]]:
    """The cells without errors that an accuracy repeats, what values are by dataset, and notes.

    As told, as `quantity` says (of a long table), or as names of columns say. Where none says it,
    it may be assumed. Raises UserError, naming the option that settles it, where it is unclear.
    """
    names = cells.datasets
    if quantity is not None:
        return cells, dict.fromkeys(names, quantity), []
    if options.errors:
        told: dict[str, Quantity] = dict.fromkeys(names, "accuracy")
        return cells, told | dict.fromkeys(options.errors, "error"), []
    twins = _twins(cells, options)
    cells = cells.without(twins)
    says = {name: said_by(name) for name in cells.datasets}
    notes = [f"{name} is not read: {what}" for name, what in twins.items()]
    general = options.quantity
    if general is not None and (odd := [n for n, s in says.items() if s not in (None, general)]):
        raise UserError(_contradiction(cells, odd, general))
    said = {word for word in says.values() if word}
    errors = [name for name, word in says.items() if word == "error"]
    if len(said) == 2:
        if silent := [name for name, word in says.items() if word is None]:
            raise UserError(
                f"{cells.path}: some columns say accuracy, some error, and nothing says it of "
                f"{', '.join(map(repr, silent))}; say which hold errors: --error-columns "
                f"{quoted(errors)}"
            )
        notes.append(f"errors, as their names say: {', '.join(errors)}; the others are accuracies")
    default = general or next(iter(said), options.assumed)
    if default is None:
        raise UserError(
            f"{cells.path}: nothing says whether the values of {names[0]!r} are errors or "
            f"accuracies; say so with --error or --accuracy{IN_PYTHON}"
        )
    return cells, {name: word or default for name, word in says.items()}, notes


def _contradiction(cells: Cells, odd: Sequence[str], told: Quantity) -> str:
    says = "error" if told == "accuracy" else "accuracy"
    how = f"--{says} if all are"
    if len(odd) < len(cells.datasets):
        errors = odd if says == "error" else [name for name in cells.datasets if name not in odd]
        how = f"--error-columns {quoted(errors)} in place of --{told}, or leave out: --ignore "
        how += quoted(odd)
    return (
        f"{cells.path}: the name of column {', '.join(map(repr, odd))} says {says}, but the table "
        f"is read as {told}; {how}"
    )


def _twins(cells: Cells, options: ImportOptions) -> dict[str, str]:
    """Errors of which the accuracies are there too (or the other way round), with why.

    UserError for an error and an accuracy on what seems to be one dataset that do not agree.
    """
    twins: dict[str, str] = {}
    groups = several_of(cells.datasets, "stem", "part", "runs", "top")
    pairs = [(first, other) for first, *others in groups for other in others]
    values = cells.table(cells.frame["value"]) if pairs else pd.DataFrame()
    for first, other in pairs:
        if first.quantity == other.quantity:
            continue
        apart = (values[first.name] + values[other.name] - options.top).abs().max()
        if not apart <= ROUNDED * options.top / 100:
            raise UserError(
                f"{cells.path}: {first.name!r} and {other.name!r} seem to be errors and accuracies "
                f"on one dataset; leave one out with --ignore {quoted([other.name])}"
            )
        wanted = [one for one in (first, other) if one.quantity == (options.quantity or "-")]
        kept = (wanted or [first])[0]
        out: Called = other if kept is first else first
        twins[out.name] = f"with {kept.name} it is {options.top:g} everywhere"
    return twins


def in_error_percent(
    cells: Cells, says: Mapping[str, Quantity], wide: bool, options: ImportOptions
) -> NDArray[np.float64]:
    """The values as errors in percent.

    Raises UserError, naming the option that settles it, where the values speak against what is
    said.
    """
    if options.unit is None:
        _check_percent(cells)
    values = cells.frame["value"].to_numpy(np.float64)
    outside = np.flatnonzero((values < 0) | (values > options.top))
    if len(outside):
        _refuse_outside(cells, outside, wide, options)
    percent = values * (100.0 / options.top)
    accuracies = np.array([says[name] == "accuracy" for name in cells.datasets], bool)
    turned = accuracies[cells.frame["dataset"].cat.codes.to_numpy()]
    return np.asarray(np.where(turned, 100.0 - percent, percent), np.float64)


def _refuse_outside(
    cells: Cells, places: NDArray[np.intp], wide: bool, options: ImportOptions
) -> None:
    """UserError for values that no error has, which may mark runs that failed."""
    frame = cells.frame.iloc[places]
    value, dataset = frame["value"].iloc[0], str(frame["dataset"].iloc[0])
    where = f"{cells.where(places[0])}: {value:g} is outside 0 to {options.top:g}"
    if value in OF_FAILED:
        same = frame[frame["value"] == value]
        models = list(map(str, same["model"].unique()))
        raise UserError(
            f"{where}, in {len(same)} of {len(cells.frame)} cells: a mark of runs that failed? "
            f"Leave these cells empty, or the models out: --ignore-rows {quoted(models)}"
        )
    hint = f"; a column that is no dataset is kept with --describe {quoted([dataset])} or left out "
    raise UserError(f"{where}{hint}with --ignore {quoted([dataset])}" if wide else where)


def require_errors(cells: Cells, errors: pd.DataFrame) -> None:
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
    values = cells.frame["value"]
    largest = values.groupby(cells.frame["dataset"], observed=True).max()
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
    fractions = values[(values > 0) & (values <= 1)]
    for name, low in fractions.groupby(cells.frame["dataset"], observed=True):
        high = values[(cells.frame["dataset"] == name) & (values > 1)]
        if high.min() < 10 * low.max():  # with something in between
            continue
        least, most = max(0.8 * high.min(), high.median() / 3), 1.2 * high.max()
        alike = low[(100 * low > least) & (100 * low < most)]
        if len(alike):
            raise UserError(
                f"{cells.where(alike.index[0])}: {alike.iloc[0]:g} beside values from "
                f"{high.min():g} to {high.max():g}: fractions and percent in one column? If all "
                "are percent: --percent"
            )


def measures_of_one(names: Sequence[str]) -> list[str]:
    """A note on datasets that are the top-1 and top-5 accuracies of one dataset."""
    groups = several_of(names, "stem", "part", "runs", "quantity")
    pairs = [[one.name for one in group if one.top] for group in groups]
    return [
        f"{' and '.join(pair)} are two measures on the same images: their correlation is none of "
        f"two datasets (--ignore {quoted(pair[1:])})"
        for pair in pairs
        if len(pair) == 2
    ]
