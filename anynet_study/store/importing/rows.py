"""Which rows of a table are models, and what tells several rows of one model apart."""

import re
from collections.abc import Mapping

import numpy as np
import pandas as pd

from anynet_study.core.errors import UserError
from anynet_study.core.sheets import (
    Sheet,
    column_called,
    first_repeat,
    normal_form,
    quoted,
    words_of,
)
from anynet_study.store.importing.options import AND, ImportOptions
from anynet_study.store.importing.roles import OF_PASSES, Roles
from anynet_study.store.importing.words import OF_RUNS, PARTS

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
    *("range", "spread", "sd", "stdev", "dev", "deviation", "standard", "difference", "diff"),
    *("gap", "to", "δ", "delta", "minus", "and", "results", "accuracy", "error"),
}
#: What rows that sum up others hold, beside their spread.
OF_OTHERS = ("mean", "median", "min", "max")
#: Among the rows to leave out: all others are models, whatever they are called.
ALL_MODELS = "none"
#: How the name of an image ends.
OF_IMAGE = re.compile(r"\.(?:png|jpe?g|bmp|tiff?|webp|gif|ppm)$", re.IGNORECASE)
#: How a row begins that is a note below the table.
NOTES = ("*", "†", "‡", "note", "source", "results ")


def rows_that_count(sheet: Sheet, roles: Roles, options: ImportOptions) -> Sheet:
    """The rows without those left out, and of each model the last alone if that is asked for.

    UserError for a table without rows, and for a row to be left out that is not there.
    """
    if not len(sheet):
        raise UserError(f"{sheet.path}: the table has no rows")
    if not options.ignore_rows and not options.last:
        return sheet
    names = [str(cell) for cell in sheet.columns[roles.model]]
    if absent := {*options.ignore_rows} - {*names, ALL_MODELS}:
        raise UserError(f"--ignore-rows: {sheet.path} has no row {min(absent)!r}")
    kept = np.array([name not in options.ignore_rows for name in names], bool)
    if options.last:
        of = [name for name in (roles.model, roles.dataset, roles.run.get("replicate")) if name]
        rows = pd.DataFrame({name: list(map(str, sheet.columns[name])) for name in of})
        rows["last"] = sheet.numbers(options.last)
        latest = rows[kept].groupby(of, sort=False)["last"].transform("max")
        kept[kept] = (rows[kept]["last"] == latest).to_numpy()
    return sheet.only(kept)


def refuse_images(sheet: Sheet, roles: Roles, options: ImportOptions) -> None:
    """UserError where most rows are called as files of images: these are no models."""
    called = [str(cell) for cell in sheet.columns[roles.model]]
    images = [name for name in called if OF_IMAGE.search(name)]
    if 2 * len(images) > len(called) and ALL_MODELS not in options.ignore_rows:
        raise UserError(
            f"{sheet.path}: {len(images)} of {len(called)} rows are called as images "
            f"({images[0]}): are these classes that models predict? import --predictions "
            "DATASET=FILE --labels DATASET=FILE reads such tables; if the rows are models all the "
            f"same: --ignore-rows {ALL_MODELS}"
        )


def refuse_repeats(sheet: Sheet, frame: pd.DataFrame, roles: Roles, options: ImportOptions) -> None:
    """UserError where `frame`, of some places of the table, has a model (and dataset) twice."""
    keys = [name for name in ("model", "dataset", "replicate", "recipe") if name in frame]
    if pair := first_repeat(frame[keys]):
        first, second = sheet.rows[frame["place"][list(pair)]]
        cell = " on ".join(str(frame[name][pair[0]]) for name in keys[:2] if name != "replicate")
        how = _told_apart(
            sheet.only(np.isin(np.arange(len(sheet)), frame["place"])), roles, options
        )
        raise UserError(f"{sheet.path}: {cell} is there twice, in rows {first} and {second}; {how}")


def _told_apart(sheet: Sheet, roles: Roles, options: ImportOptions) -> str:
    """Tell how rows of one name are told apart: by another column, as epochs, or as repetitions."""
    of = [name for name in (roles.model, roles.dataset) if name]
    apart = [n for n in sheet.columns if n not in {*of, roles.value, *options.ignore}]
    if passes := column_called(apart, OF_PASSES):
        return (
            f"a row for each {passes}? --last {quoted([passes])} keeps the last row of each model"
        )
    texts, whole = [name for name in apart if sheet.is_text(name)], []
    for name in apart:
        said = {str(cell).lower() for cell in sheet.columns[name]}
        if name in texts and said <= PARTS.keys():
            return (
                f"column {name} says {' and '.join(sorted(said))}: accuracies on several parts of "
                "the images? Keep the rows of one part in the table"
            )
        numbers = sheet.read_as_numbers(name)
        whole += [name] * bool((np.isfinite(numbers) & (np.floor(numbers) == numbers)).all())
    keys = {name: sheet.columns[name] for name in of}
    for name in (*texts, *whole):
        if not pd.DataFrame({**keys, "by": sheet.columns[name]}).duplicated().any():
            if normal_form(name) in OF_RUNS:
                return f"repetitions of one model? --map {quoted([f'replicate={name}'])}"
            return f"name models by two columns: --map {quoted([f'model={of[0]}{AND}{name}'])}"
    return (
        f"name unlike models by two columns, --map {quoted([f'model={of[0]}{AND}COLUMN'])}; number "
        "repetitions of one model by --map replicate=COLUMN"
    )


def ask_of_rows(sheet: Sheet, roles: Roles, table: pd.DataFrame, options: ImportOptions) -> None:
    """UserError for rows that may be no models: chance, notes, and what sums up the others.

    `table` has the errors of models (rows) on datasets, without the rows that are left out.
    """
    if ALL_MODELS in options.ignore_rows:
        return
    odd: dict[str, str] = {}
    silent = {str(name) for name in table.index[table.isna().all(axis=1)]}
    for name in map(str, table.index):
        if normal_form(name.partition("(")[0]) in NO_MODELS:
            odd[name] = "called as no model"
        elif name in silent and (name.lower().startswith(NOTES) or len(name.split()) > 5):
            odd[name] = "a note, without values"
    odd |= _summaries(table.drop(index=[*odd]))
    if odd:
        told = "; ".join(f"{name!r} is {why}" for name, why in odd.items())
        left = options.ignore_rows
        raise UserError(
            f"{sheet.path}: row {told}; leave them out with --ignore-rows {quoted([*left, *odd])}, "
            f"or say that all are models: --ignore-rows {quoted([*left, ALL_MODELS])}"
        )


def _summaries(table: pd.DataFrame) -> Mapping[str, str]:
    """Rows called like a summary alone that sum up the other rows, to the printed digits."""
    called = [[*filter(str.isalpha, words_of(str(model)))] for model in table.index]
    likely = np.array([bool(words) and {*words} <= SUMMARIES for words in called])
    others, found = table[~likely], dict[str, str]()
    if len(others) < 2:
        return found
    apart = others.max() - others.min()
    # Read as an error, the spread of accuracies has become 100 less that spread.
    sums: dict[str, pd.Series[float]] = {kind: others.agg(kind) for kind in OF_OTHERS}
    sums |= {"spread": others.std(), "range": apart}
    sums |= {f"{name} ": 100 - sums[name] for name in ("spread", "range")}
    for model, row in table[likely].iterrows():
        # Half a unit of the last digit of each number, with a little for rounding twice.
        digits = [next((d for d in range(6) if abs(round(v, d) - v) < 1e-9), 6) for v in row]
        near = 0.6 * 10.0 ** -np.array(digits)
        same = (kind for kind, of in sums.items() if ((of - row).abs() <= near).all())
        if kind := next(same, None):
            found[str(model)] = f"the {kind.strip()} of the others"
    return found
