"""Errors in percent from values that may be accuracies, or fractions: never by guessing."""

import re

import numpy as np
from numpy.typing import NDArray

from anynet_study.errors import UserError
from anynet_study.store.importing.cells import Cells
from anynet_study.store.importing.columns import ImportOptions, Quantity, Unit
from anynet_study.store.importing.datasets import Known

#: Names of datasets that say what their values are.
_SAYS = {
    "accuracy": re.compile(r"(?<![a-z])acc(uracy|uracies)?(?![a-z])"),
    "error": re.compile(r"(?<![a-z])err(or|ors)?(?![a-z])"),
}
#: Values of a dataset that have to be worse than guessing before they cannot be errors: this
#: share, of this many.
WORSE, FEWEST = 0.75, 8
#: Medians of errors that are mostly higher than this are more likely accuracies.
HIGH = 65.0


def in_error_percent(
    cells: Cells, named: Quantity | None, options: ImportOptions, known: Known
) -> NDArray[np.float64]:
    """The values as errors in percent; `named` is what the column of the values says they are.

    `known` is what was said of the datasets: errors should not be worse than guessing.

    Errors are assumed where nothing is said, percent where every dataset has a value above 1.
    Raises UserError, naming the option that settles it, where the values speak against that.
    """
    quantity = named or options.quantity or "error"
    unit = options.unit or _unit(cells)
    top = 1.0 if unit == "fraction" else 100.0
    outside = np.flatnonzero((cells.value < 0) | (cells.value > top))
    if outside.size:
        where = cells.where(int(outside[0]))
        # Of a wide table every column of numbers is taken for a dataset.
        hint = "; a column that is no dataset is kept with --describe COLUMN or left out with "
        hint = f"{hint}--ignore COLUMN" if named is None else ""
        raise UserError(f"{where}: {cells.value[outside[0]]:g} is outside 0 to {top:g}{hint}")
    if named is None:
        _check_names(cells, quantity, told=options.quantity is not None)
    percent = cells.value * (100.0 / top)
    errors = 100.0 - percent if quantity == "accuracy" else percent
    if named is None and options.quantity is None:
        _check_guessing(cells, errors, known)
        _check_level(cells, errors)
    return errors


def _unit(cells: Cells) -> Unit:
    """Percent; UserError where some values look like fractions."""
    largest = np.full(len(cells.datasets), -np.inf)
    np.maximum.at(largest, cells.dataset, cells.value)
    small = np.flatnonzero((largest > 0) & (largest <= 1))
    settle = "if they are percent: --percent; if fractions: --fraction"
    if small.size and largest.max() <= 1:
        raise UserError(
            f"{cells.path}: no value exceeds 1 (the largest is {largest.max():g}), so these look "
            f"like fractions; {settle}"
        )
    if small.size:
        low, high = small[0], int(largest.argmax())
        raise UserError(
            f"{cells.path}: {cells.datasets[low]} has no value above {largest[low]:g}, "
            f"{cells.datasets[high]} has up to {largest[high]:g}: fractions and percent in one "
            f"table? If all are percent: --percent; else import them as two files"
        )
    for code in range(len(cells.datasets)):
        _check_one_unit(cells, np.flatnonzero(cells.dataset == code))
    return "percent"


def _check_one_unit(cells: Cells, places: NDArray[np.int64]) -> None:
    """Refuse a dataset in which 0.76 stands beside 71.2, with nothing in between."""
    values = cells.value[places]
    low, high = (values > 0) & (values <= 1), values > 1
    if not low.any() or not high.any() or values[high].min() < 10:
        return
    scaled = 100 * values[low]
    alike = (scaled > 0.8 * values[high].min()) & (scaled < 1.2 * values[high].max())
    if alike.any():
        odd = int(places[low][alike][0])
        raise UserError(
            f"{cells.where(odd)}: {cells.value[odd]:g} beside values from {values[high].min():g} "
            f"to {values[high].max():g}: fractions and percent in one column? If all are percent: "
            f"--percent"
        )


def _check_names(cells: Cells, quantity: Quantity, told: bool) -> None:
    other = "error" if quantity == "accuracy" else "accuracy"
    for name in cells.datasets:
        says_other = _SAYS[other].search(name.casefold())
        if says_other and not told and not _SAYS[quantity].search(name.casefold()):
            raise UserError(
                f"{cells.path}: the name of column {name!r} says {other}, but tables are read as "
                f"errors; say --{other} (or --{quantity}, if they are)"
            )


def _check_guessing(cells: Cells, errors: NDArray[np.float64], known: Known) -> None:
    for code, name in enumerate(cells.datasets):
        count = known.get(name, {}).get("classes", np.nan)
        here = errors[cells.dataset == code]
        guessing = 100.0 - 100.0 / count
        if len(here) >= FEWEST and (here > guessing).mean() > WORSE:
            raise UserError(
                f"{cells.path}: most errors on {name} (median {np.median(here):.4g}) are worse "
                f"than guessing among {count:g} classes; if these are accuracies: --accuracy; if "
                f"they are errors: --error"
            )


def _check_level(cells: Cells, errors: NDArray[np.float64]) -> None:
    here = [errors[cells.dataset == code] for code in range(len(cells.datasets))]
    medians = [float(np.median(values)) for values in here if len(values)]
    if len(errors) >= FEWEST and np.median(medians) > HIGH:
        raise UserError(
            f"{cells.path}: half the datasets have a median above {np.median(medians):.4g}: rather "
            f"accuracies than errors; if so: --accuracy; if they are errors: --error"
        )
