"""What a table of results leaves open: asked once, with options that can be pasted."""

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from anynet_study.core.errors import UserError, listed, some_of
from anynet_study.core.sheets import Sheet, normal_form, quoted
from anynet_study.store.importing.columns import ImportOptions, Roles
from anynet_study.store.importing.evidence import (
    Verdict,
    of_one_dataset,
    said_by,
    verdicts,
    words_of,
)

#: Names of rows that are no models of a population, in normal form.
NO_MODELS = {
    *("chance", "random", "random_chance", "random_guess", "random_guessing", "guessing"),
    *("human", "humans", "human_performance", "human_level", "human_baseline", "human_expert"),
    *("majority", "majority_class", "oracle", "upper_bound", "lower_bound", "chance_level"),
    *("best_human", "baseline_chance", "y_true", "ground_truth", "human_s"),
}
#: Words by which a row is called that sums up the others.
SUMMARIES = {
    *("average", "avg", "mean", "median", "overall", "best", "max", "worst", "min", "std", "all"),
    *("models", "of", "the", "total", "maximum", "minimum", "over"),
}
#: How a row begins that is a note below the table.
NOTES = ("*", "†", "‡", "note", "source", "results ")


def datasets_among(
    sheet: Sheet, roles: Roles, options: ImportOptions, known: Collection[str]
) -> tuple[list[str], dict[str, str]]:
    """The columns of a wide table that are datasets; and of others, why they are none, if told.

    UserError, once, with all columns of which that is unclear.
    """
    numbers = [name for name in roles.others if np.isfinite(sheet.read_as_numbers(name)).any()]
    if options.datasets:
        return [name for name in roles.others if name in options.datasets], {}
    values = {name: sheet.read_as_numbers(name) for name in numbers}
    plain = {name: np.where(np.isinf(v), np.nan, v) for name, v in values.items()}
    declared = {*known, *options.errors}
    found = verdicts(plain, _top(plain, options), declared, options.quantity or options.assumed)
    mixed = [n for n in numbers if np.isinf(values[n]).any() and found[n].kind != "description"]
    if mixed:
        try:
            sheet.numbers(mixed[0])
        except UserError as error:
            more = f" (or all that are such: --ignore {quoted(mixed)})" if mixed[1:] else ""
            raise UserError(f"{error}{more}") from None
    datasets = [name for name in numbers if found[name].kind == "dataset"]
    _ask(sheet.path, datasets, found, declared, options)
    told = {n: found[n].why for n in numbers if found[n].why}
    return datasets, told


def _top(columns: Mapping[str, Any], options: ImportOptions) -> float:
    """The highest value that there can be: 1 too where all that say accuracy stay below."""
    sure = [values for name, values in columns.items() if said_by(name)]
    low = options.unit is None and sure and max(map(np.nanmax, sure), default=100.0) <= 1
    return 1.0 if options.unit == "fraction" or low else 100.0


def _ask(
    path: Path,
    datasets: Sequence[str],
    found: Mapping[str, Verdict],
    declared: Collection[str],
    options: ImportOptions,
) -> None:
    """UserError where columns may be no datasets, or are several times of one dataset."""
    parts, runs = of_one_dataset([name for name in datasets if name not in declared])
    reasons: dict[str, list[str]] = {}
    for name, verdict in found.items():
        if verdict.kind == "unclear":
            reasons.setdefault(verdict.why, []).append(name)
    told = [f"{', '.join(some_of(names))} ({why})" for why, names in reasons.items()]
    left = [name for name, verdict in found.items() if verdict.kind == "unclear"]
    for group in parts:
        told += [f"{listed(group)} (training, validation or test images of one dataset)"]
        left += group[1:]
    for group in runs.values():
        told += [f"{listed(some_of(group))} (trainings or folds of one dataset)"]
        left += group if len(runs) < 2 or any(n not in left for n in group) else []
    if not told:
        return
    kept = [name for name in datasets if name not in left]
    if runs and not reasons and not parts:
        pattern = next(iter(runs))
        role = options.quantity or "accuracy"
        how = f"--map {quoted([f'{role}={pattern}'])} reads them as trainings, "
        others = [name for names in runs.values() for name in names]
        how += f"--dataset-columns {quoted([*kept, *others])} as datasets"
    else:
        chosen = kept or [name for name in found if name in left]
        rest = [name for name in found if name in left and name not in chosen]
        how = f"--dataset-columns {quoted(chosen)}"
        how += f" --ignore {quoted(rest)}" if rest else ""
        how += " (or other names)"
    other = some_of(name for name, verdict in found.items() if verdict.kind == "description")
    told += [f"descriptions: {', '.join(other)}"] if other else []
    raise UserError(f"{path}: is each of these a dataset? {'; '.join(told)}; say which are: {how}")


def ask_of_rows(sheet: Sheet, roles: Roles, table: pd.DataFrame, options: ImportOptions) -> None:
    """UserError for rows that may be no models: chance, notes, and what sums up the others.

    `table` has the errors of models (rows) on datasets.
    """
    if options.ignore_rows:
        return
    odd = {str(name): "called as no model" for name in table.index if _is_no_model(str(name))}
    odd |= _footnotes(sheet, roles, table)
    odd |= _summaries(sheet, table)
    if odd:
        told = "; ".join(f"{name!r} is {why}" for name, why in odd.items())
        raise UserError(
            f"{sheet.path}: row {told}; leave them out with --ignore-rows {quoted(odd)}, or say "
            "that all are models: --ignore-rows none"
        )


def _is_no_model(name: str) -> bool:
    return normal_form(name.partition("(")[0]) in NO_MODELS


def _footnotes(sheet: Sheet, roles: Roles, table: pd.DataFrame) -> dict[str, str]:
    """Rows without any value that are called as notes are."""
    names = [str(cell) for cell in sheet.columns[roles.model]]
    known = {*map(str, table.index[table.notna().any(axis=1)])}
    return {
        name: "a note, without values"
        for name in names
        if name not in known and (name.lower().startswith(NOTES) or len(name.split()) > 5)
    }


def _summaries(sheet: Sheet, table: pd.DataFrame) -> dict[str, str]:
    """Rows called like a summary alone that sum up the others, to the printed digits."""
    found = {}
    for model in table.index:
        words = [word for word in words_of(str(model)) if not word.isdigit()]
        if len(table) < 3 or not words or not {*words} <= SUMMARIES:
            continue
        others, row = table.drop(index=model), table.loc[model]
        for kind in ("mean", "median", "min", "max"):
            apart = (others.agg(kind) - row).abs()
            if (apart <= _half_a_digit(row)).all():
                found[str(model)] = f"the {kind} of the others"
                break
    return found


def _half_a_digit(row: "pd.Series[float]") -> "pd.Series[float]":
    """Half a unit of the last digit of each number, with a little for rounding twice."""
    found = (next((d for d in range(6) if abs(round(v, d) - v) < 1e-9), 6) for v in row)
    return pd.Series([0.6 * 10.0**-digits for digits in found], row.index)
