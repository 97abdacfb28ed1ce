"""Bringing a table into the form that is read: a row per model or run, a column per dataset.

And the spread over trainings in it, as it is declared: nothing is guessed, as a column called std
may hold standard deviations of trainings or of folds, standard errors, or half an interval.
"""

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from anynet_study.core.errors import UserError
from anynet_study.core.sheets import Cell, Sheet, normal_form, written
from anynet_study.store.importing.columns import (
    AND,
    ANY,
    NUMBER,
    SIZES,
    ImportOptions,
    Quantity,
    matched,
    require_columns,
)
from anynet_study.store.importing.evidence import OF_DATASETS, OF_SPREAD, words_of

#: Columns of a run's record for it.
RECORDED = ("error_std", "trainings")
#: What may be one in a cell with a spread.
_SPREAD_MARK = re.compile(r"±|\+/?-|\\pm")


def shaped(sheet: Sheet, options: ImportOptions) -> tuple[Sheet, ImportOptions]:
    """The table with rows that are models or runs, and the options as they are of it.

    UserError for columns that are not there, and for a table that seems to lie on its side.
    """
    if options.transpose or (options.transpose is None and _lies_on_its_side(sheet, options)):
        sheet = _transposed(sheet)
    sheet, options = _with_sizes(sheet, options)
    sheet, options = _by_pattern(sheet, options)
    return _with_joined_model(_with_spreads_in_cells(sheet), options), options


def _lies_on_its_side(sheet: Sheet, options: ImportOptions) -> bool:
    """UserError where rows are called as datasets, columns are not, and nothing is declared."""
    if options.columns or options.datasets or len(sheet.columns) < 3 or len(sheet) < 2:
        return False
    first, *others = sheet.columns
    rows = [name for name in sheet.columns[first] if OF_DATASETS & {*words_of(str(name))}]
    columns = [name for name in others if OF_DATASETS & {*words_of(name)}]
    numbers = [name for name in others if not sheet.is_text(name)]
    if 2 * len(rows) <= len(sheet) or columns or len(numbers) < len(others):
        return False
    raise UserError(
        f"{sheet.path}: rows are called as datasets ({rows[0]}, ...) and columns are not "
        f"({others[0]}, ...): --transpose reads rows as datasets and columns as models, "
        "--no-transpose reads it as it is"
    )


def _transposed(sheet: Sheet) -> Sheet:
    """A column for each row, called as the first column says, and a row for each other column."""
    first, *models = sheet.columns
    names = [str(cell) for cell in sheet.columns[first]]
    if len({*names}) < len(names):
        raise UserError(f"{sheet.path}: --transpose: a name in column {first!r} is there twice")
    cells = {name: [sheet.columns[m][row] for m in models] for row, name in enumerate(names)}
    return Sheet(sheet.path, sheet.first_row, {"model": list(models), **cells}, sheet.notes)


def _with_sizes(sheet: Sheet, options: ImportOptions) -> tuple[Sheet, ImportOptions]:
    """Columns that --map parameters= and so on name, called as analyses know them."""
    sizes = {options.columns[size]: size for size in SIZES if size in options.columns}
    if not sizes:
        return sheet, options
    require_columns("--map", sheet.path, [*sizes], sheet.columns)
    names = [sizes.get(name, name) for name in sheet.columns]
    if len({*names}) < len(names):
        twice = next(size for size in sizes.values() if names.count(size) > 1)
        raise UserError(f"--map {twice}: {sheet.path} has a column {twice!r} already")
    rest = {ours: theirs for ours, theirs in options.columns.items() if ours not in SIZES}
    columns = dict(zip(names, sheet.columns.values(), strict=True))
    return replace(sheet, columns=columns, _numbers={}), replace(options, columns=rest)


def _with_joined_model(sheet: Sheet, options: ImportOptions) -> Sheet:
    """The table with one column that names the models where --map model=A+B names two."""
    name = options.columns.get("model", "")
    if AND not in name or name in sheet.columns:
        return sheet
    parts = [part.strip() for part in name.split(AND)]
    require_columns("--map", sheet.path, parts, sheet.columns)
    cells = zip(*(sheet.names(part) for part in parts), strict=True)
    joined: list[Cell] = [AND.join(map(str, row)) for row in cells]
    return replace(sheet, columns={name: joined, **sheet.columns})


def _by_pattern(sheet: Sheet, options: ImportOptions) -> tuple[Sheet, ImportOptions]:
    """Columns that --map accuracy=*_mean (or error=) matches, called by what stands for the *.

    They are then the datasets; those that differ in the number that stands for a # are trainings of
    one dataset. UserError where it matches none, or two get one name.
    """
    role = next(
        (r for r in ("error", "accuracy") if {ANY, NUMBER} & {*options.columns.get(r, "")}), None
    )
    if role is None or options.columns[role] in sheet.columns:
        return sheet, options
    pattern = options.columns[role]
    found = {column: match for column in sheet.columns if (match := matched(pattern, column))}
    if not found:
        raise UserError(f"--map {role}={pattern}: {sheet.path} has no such column")
    alone = options.dataset or sheet.path.stem
    names = {column: match[0] or alone for column, match in found.items()}
    rest = {ours: theirs for ours, theirs in options.columns.items() if ours != role}
    quantity: Quantity = "error" if role == "error" else "accuracy"
    datasets = tuple(dict.fromkeys(names.values()))
    told = replace(options, columns=rest, datasets=datasets, quantity=quantity, dataset="")
    others = [column for column in sheet.columns if column not in found]
    numbers = list(dict.fromkeys(match[1] for match in found.values()))
    if {*datasets} & {*others} or len({*found.values()}) < len(found):
        raise UserError(f"--map {role}={pattern}: {sheet.path} has two columns for one dataset")
    if numbers == [""]:
        columns = {names.get(column, column): cells for column, cells in sheet.columns.items()}
        return replace(sheet, columns=columns, _numbers={}), told
    by_place = {(names[column], match[1]): column for column, match in found.items()}
    nothing: list[Cell] = [None] * len(sheet)
    columns = {column: sheet.columns[column] * len(numbers) for column in others}
    columns["replicate"] = [int(number) for number in numbers for _ in range(len(sheet))]
    for name in datasets:
        cells = (sheet.columns.get(by_place.get((name, n), ""), nothing) for n in numbers)
        columns[name] = [cell for part in cells for cell in part]
    return replace(sheet, columns=columns, _numbers={}), told


def _with_spreads_in_cells(sheet: Sheet) -> Sheet:
    """The spread in cells such as 85.5 ± 0.2 in columns of its own, called NAME_std."""
    found: dict[str, list[Cell]] = {}
    for name, cells in sheet.columns.items():
        marked = _SPREAD_MARK.search("\n".join(map(str, cells)))
        spreads = [written(cell)[1] for cell in cells] if marked else [np.nan]
        if f"{name}_std" not in sheet.columns and not np.isnan(spreads).all():
            found[f"{name}_std"] = [None if np.isnan(spread) else spread for spread in spreads]
    return replace(sheet, columns={**sheet.columns, **found}) if found else sheet


def told_of_spread(describing: Sequence[str], options: ImportOptions) -> str:
    """In words, what is taken for the spread over trainings, and what is not as nobody says so."""
    if "std" in options.columns:
        return f"std from {options.columns['std']!r}, n {options.columns['n']!r}"
    likely = [name for name in describing if {*normal_form(name).split("_")} & OF_SPREAD]
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
