"""How far the trainings behind a mean are apart: columns of a table that the user declares so.

Nothing is guessed: a column called std may hold standard deviations of trainings or of folds,
standard errors, or half an interval.
"""

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from anynet_study.core.errors import UserError
from anynet_study.core.sheets import Cell, Sheet, normal_form, written
from anynet_study.store.importing.columns import ANY, OF_SPREAD, ImportOptions, Quantity, matched

#: Columns of a run's record for it.
RECORDED = ("error_std", "trainings")


def datasets_by_pattern(sheet: Sheet, options: ImportOptions) -> tuple[Sheet, ImportOptions]:
    """Columns that --map accuracy=*_mean (or error=) matches, called by what stands for the *.

    They are then the datasets. UserError where it matches none, or two get one name.
    """
    role = next((r for r in ("error", "accuracy") if ANY in options.columns.get(r, "")), None)
    if role is None:
        return sheet, options
    pattern = options.columns[role]
    names = {column: matched(pattern, column) or column for column in sheet.columns}
    found = tuple(name for column, name in names.items() if name != column)
    if not found:
        raise UserError(f"--map {role}={pattern}: {sheet.path} has no such column")
    if len({*names.values()}) < len(names):
        raise UserError(f"--map {role}={pattern}: {sheet.path} has two columns for one dataset")
    columns = {names[column]: cells for column, cells in sheet.columns.items()}
    rest = {ours: theirs for ours, theirs in options.columns.items() if ours != role}
    quantity: Quantity = "error" if role == "error" else "accuracy"
    told = replace(options, columns=rest, datasets=found, quantity=quantity)
    return replace(sheet, columns=columns), told


def with_spreads_in_cells(sheet: Sheet) -> Sheet:
    """The spread in cells such as 85.5 ± 0.2 in columns of its own, called NAME_std."""
    found: dict[str, list[Cell]] = {}
    for name, cells in sheet.columns.items():
        spreads = [written(cell)[1] for cell in cells]
        if f"{name}_std" not in sheet.columns and not np.isnan(spreads).all():
            found[f"{name}_std"] = [None if np.isnan(spread) else spread for spread in spreads]
    return replace(sheet, columns={**sheet.columns, **found})


def told_of_spread(sheet: Sheet, options: ImportOptions) -> str:
    """In words, what is taken for the spread over trainings, and what is not as nobody says so."""
    if "std" in options.columns:
        return f"std from {options.columns['std']!r}, n {options.columns['n']!r}"
    likely = [
        name
        for name in sheet.columns
        if name not in options.ignore and {*normal_form(name).split("_")} & OF_SPREAD
    ]
    if not likely:
        return "none"
    return f"not declared, so {', '.join(likely)} not used: --map std=COLUMN,n=COLUMN_OR_NUMBER"


def spread_of(sheet: Sheet, dataset: str, options: ImportOptions) -> dict[str, NDArray[Any]]:
    """By row, the "error_std" (points) and "trainings" of the values on a dataset, as declared.

    A dataset without such a column has none. Raises UserError that names the row of a negative
    standard deviation, and where the number of trainings is missing or is no whole one from 1.
    """
    if "std" not in options.columns:
        return {}
    std = _numbers(sheet, options.columns["std"], dataset)
    trainings = _numbers(sheet, options.columns["n"], dataset)
    trainings = np.where(np.isnan(std) & np.isnan(trainings), 1, trainings)
    wrong = {
        "the standard deviation is negative": std < 0,
        "the number of trainings is missing": np.isnan(trainings),
        "the number of trainings is no whole number from 1": (trainings < 1) | (trainings % 1 > 0),
    }
    for told, bad in wrong.items():
        if bad.any():
            row = sheet.first_row + int(bad.argmax())
            raise UserError(f"{sheet.path}: row {row}, {dataset}: {told}")
    std = np.where(trainings > 1, std, np.nan) * (100 if options.unit == "fraction" else 1)
    return dict(zip(RECORDED, (std, trainings.astype(np.int32)), strict=True))


def _numbers(sheet: Sheet, name: str, dataset: str) -> NDArray[np.float64]:
    """A column, the number that is said instead of one, or NaN where there is none."""
    column = name.replace(ANY, dataset)
    if column in sheet.columns:
        return sheet.numbers(column)
    return np.full(len(sheet), float(name) if name.isdecimal() else np.nan)
