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

from anynet_study.core.errors import UserError, some_of
from anynet_study.core.sheets import (
    Cell,
    Sheet,
    is_unclear_number,
    normal_form,
    quoted,
    words_of,
    written,
)
from anynet_study.store.importing.options import (
    AND,
    ANY,
    NUMBER,
    SIZES,
    ImportOptions,
    matched,
    require_columns,
)
from anynet_study.store.importing.words import OF_DATASETS, OF_SPREAD, Quantity, said_by

#: Columns of a run's record for it.
RECORDED = ("error_std", "trainings")
#: What may be one in a cell with a spread.
_SPREAD_MARK = re.compile(r"±|\+/?-|\\pm")


def shaped(sheet: Sheet, options: ImportOptions) -> tuple[Sheet, ImportOptions]:
    """The table with rows that are models or runs, and the options as they are of it.

    UserError for columns that are not there, for a table that seems to lie on its side, and for
    rows that seem to be headers.
    """
    if options.transpose or (options.transpose is None and _lies_on_its_side(sheet, options)):
        sheet = _transposed(sheet)
    _refuse_headers(sheet, options)
    sheet, options = _by_pattern(*_with_sizes(sheet, options))
    return _with_joined_model(_with_spreads_in_cells(sheet), options), options


def _lies_on_its_side(sheet: Sheet, options: ImportOptions) -> bool:
    """UserError where rows are called as datasets, columns are not, and nothing is declared."""
    if options.columns or options.datasets or len(sheet.columns) < 3 or len(sheet) < 2:
        return False
    first, *others = sheet.columns
    rows = [name for name in sheet.columns[first] if _is_called_as_dataset(str(name))]
    if 2 * len(rows) > len(sheet) and not any(
        _is_called_as_dataset(name) or sheet.is_text(name) for name in others
    ):
        raise UserError(
            f"{sheet.path}: rows are called as datasets ({rows[0]}, ...) and columns are not "
            f"({others[0]}, ...): --transpose reads rows as datasets and columns as models, "
            "--no-transpose reads it as it is"
        )
    return False


def _is_called_as_dataset(name: str) -> bool:
    """Tell whether a name has the name of a dataset in it, or says that it is of accuracies."""
    return bool(OF_DATASETS & {*words_of(name)}) or said_by(name) is not None


def _transposed(sheet: Sheet) -> Sheet:
    """A column for each row, called as the first column says, and a row for each other column."""
    first, *models = sheet.columns
    names = [str(cell) for cell in sheet.columns[first]]
    if len({*names}) < len(names):
        raise UserError(f"{sheet.path}: --transpose: a name in column {first!r} is there twice")
    rows = zip(*(sheet.columns[model] for model in models), strict=True)
    cells = dict(zip(names, map(list, rows), strict=True))
    return replace(sheet.of({"model": list(models), **cells}), rows=1 + np.arange(len(models)))


def _refuse_headers(sheet: Sheet, options: ImportOptions) -> None:
    """UserError for a row of texts alone where other rows have numbers: of units, or of a table
    that follows.
    """
    numbers = {n: sheet.read_as_numbers(n) for n in sheet.columns if n not in options.ignore}
    counted = [name for name, v in numbers.items() if np.isfinite(v).sum() > len(v) / 3]
    if len(counted) < 2:
        return
    table = np.array([numbers[name] for name in counted])
    texts = ~np.isfinite(table).any(axis=0) & (2 * np.isinf(table).sum(axis=0) > len(table))
    for place in np.flatnonzero(texts).tolist():
        cells = [column[place] for column in sheet.columns.values()]
        model = str(cells[0] or "")
        texts_there = [sheet.columns[name][place] for name in counted]
        if model in options.ignore_rows or is_unclear_number(texts_there):
            continue
        alike = len({*texts_there} - {None}) == 1
        what = "does another table begin there? Keep one in a file"
        if place == 0 or alike:
            what = "a second header, as of units, or a model of which all runs failed? Remove it"
            what += f", or leave it out: --ignore-rows {quoted([model])}" if model else ""
        raise UserError(
            f"{sheet.path}: row {sheet.rows[place]} ({', '.join(some_of(map(str, cells)))}) has no "
            f"number where other rows have numbers: {what}"
        )


def _with_sizes(sheet: Sheet, options: ImportOptions) -> tuple[Sheet, ImportOptions]:
    """Columns that --map parameters= and so on name, called as analyses know them."""
    sizes = {options.columns[size]: size for size in SIZES if size in options.columns}
    require_columns("--map", sheet.path, [*sizes], sheet.columns)
    for theirs, ours in sizes.items():
        if theirs != ours and ours in sheet.columns:
            raise UserError(f"--map {ours}: {sheet.path} has a column {ours!r} already")
    rest = {ours: theirs for ours, theirs in options.columns.items() if ours not in SIZES}
    return sheet.renamed(sizes), replace(options, columns=rest)


def _with_joined_model(sheet: Sheet, options: ImportOptions) -> Sheet:
    """The table with one column that names the models where --map model=A+B names two."""
    name = options.columns.get("model", "")
    if AND not in name or name in sheet.columns:
        return sheet
    parts = [part.strip() for part in name.split(AND)]
    require_columns("--map", sheet.path, parts, sheet.columns)
    cells = zip(*(sheet.names(part) for part in parts), strict=True)
    return sheet.of({name: [AND.join(map(str, row)) for row in cells], **sheet.columns})


def _by_pattern(sheet: Sheet, options: ImportOptions) -> tuple[Sheet, ImportOptions]:
    """Columns that --map accuracy=*_mean (or error=) matches, called by what stands for the *.

    They are then the datasets; those that differ in the number that stands for a # are trainings of
    one dataset. UserError where it matches none, or two get one name.
    """
    for role in ("error", "accuracy"):
        pattern = options.columns.get(role, "")
        if {ANY, NUMBER} & {*pattern} and pattern not in sheet.columns:
            break
    else:
        return sheet, options
    found = {column: match for column in sheet.columns if (match := matched(pattern, column))}
    if not found:
        raise UserError(f"--map {role}={pattern}: {sheet.path} has no such column")
    names = {
        column: match[0] or options.dataset or sheet.path.stem for column, match in found.items()
    }
    quantity: Quantity = "error" if role == "error" else "accuracy"
    datasets = tuple(dict.fromkeys(names.values()))
    rest = {ours: theirs for ours, theirs in options.columns.items() if ours != role}
    told = replace(options, columns=rest, datasets=datasets, quantity=quantity, dataset="")
    others = [column for column in sheet.columns if column not in found]
    if {*datasets} & {*others} or len({*found.values()}) < len(found):
        raise UserError(f"--map {role}={pattern}: {sheet.path} has two columns for one dataset")
    numbers = list(dict.fromkeys(match[1] for match in found.values()))
    if numbers == [""]:
        return sheet.renamed(names), told
    by_place = {(names[column], match[1]): column for column, match in found.items()}
    nothing: list[Cell] = [None] * len(sheet)
    columns: dict[str, Sequence[Cell]] = {c: [*sheet.columns[c]] * len(numbers) for c in others}
    columns["replicate"] = [int(number) for number in numbers for _ in range(len(sheet))]
    for name in datasets:
        cells = (sheet.columns.get(by_place.get((name, n), ""), nothing) for n in numbers)
        columns[name] = [cell for part in cells for cell in part]
    return sheet.of(columns), told


def _with_spreads_in_cells(sheet: Sheet) -> Sheet:
    """The spread in cells such as 85.5 ± 0.2 in columns of its own, called NAME_std."""
    found: dict[str, list[Cell]] = {}
    for name, cells in sheet.columns.items():
        marked = _SPREAD_MARK.search("\n".join(map(str, cells)))
        if marked is None or f"{name}_std" in sheet.columns:
            continue
        spreads = [written(cell)[1] for cell in cells]
        if not np.isnan(spreads).all():
            found[f"{name}_std"] = [None if np.isnan(spread) else spread for spread in spreads]
    return sheet.of({**sheet.columns, **found}) if found else sheet


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
    std, trainings = (_numbers(sheet, options.columns[role], dataset) for role in ("std", "n"))
    trainings = np.where(np.isnan(std) & np.isnan(trainings), 1, trainings)
    wrong = {
        "the standard deviation is negative": std < 0,
        "the number of trainings is missing": np.isnan(trainings),
        "the number of trainings is no whole number from 1": (trainings < 1) | (trainings % 1 > 0),
    }
    for told, bad in wrong.items():
        if bad.any():
            row = sheet.rows[int(bad.argmax())]
            raise UserError(f"{sheet.path}: row {row}, {dataset}: {told}")
    std = np.where(trainings > 1, std, np.nan) * (100 / options.top)
    return dict(zip(RECORDED, (std, trainings.astype(np.int32)), strict=True))


def _numbers(sheet: Sheet, name: str, dataset: str) -> NDArray[np.float64]:
    """A column, the number that is said instead of one, or NaN where there is none."""
    column = name.replace(ANY, dataset)
    if column in sheet.columns:
        return sheet.numbers(column)
    return np.full(len(sheet), float(name) if name.isdecimal() else np.nan)
