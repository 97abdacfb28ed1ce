"""Whether errors can be what they are taken for, seen as a whole."""

from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from anynet_study.core.errors import UserError
from anynet_study.core.sheets import normal_form

#: Percent by which a printed mean may differ from the mean of printed values.
ROUNDED = 0.06
#: A median error above the first, where those of all other datasets are below the second.
FAR, NEAR = 95.0, 50.0
OPTION = (
    "if it is, declare it with --dataset-columns of import, or --targets or --images of other "
    "commands; if it is none, import the table with --describe COLUMN or --ignore COLUMN"
)


#: Words by which a row is called that is no model.
SUMMARIES = {"average", "avg", "mean", "median", "overall", "best", "max", "worst", "min"}
#: Models from which ranks, and means of some datasets, are told from chance.
FEWEST_OF_RANKS, FEWEST_OF_MEANS = 5, 3


def _refuse_summaries_of_models(path: Path, errors: pd.DataFrame) -> None:
    """UserError for a row that is called like a summary, and sums up the others."""
    for model in errors.index:
        if SUMMARIES & {*normal_form(str(model)).split("_")} and len(errors) > 2:
            others = errors.drop(index=model)
            for kind in ("mean", "median", "min", "max"):
                if (others.agg(kind) - errors.loc[model]).abs().max() <= ROUNDED:
                    raise UserError(
                        f"{path}: row {model!r} is the {kind} of the others, not a model; remove it"
                    )


def _means(errors: pd.DataFrame) -> set[str]:
    """Names of columns that are the mean of all others, or of two or more that are side by side."""
    values = errors.dropna().to_numpy()
    models, count = values.shape
    if models < 2 or count < 3:
        return set()
    others = (values.sum(axis=1, keepdims=True) - values) / (count - 1)
    found = np.abs(others - values).max(axis=0) <= ROUNDED
    sums = np.cumsum(np.pad(values, ((0, 0), (1, 0))), axis=1)
    firsts, ends = np.triu_indices(count + 1, 2)
    for place in np.flatnonzero(~found) if models >= FEWEST_OF_MEANS else ():
        apart = (ends <= place) | (firsts > place)
        first, end = firsts[apart], ends[apart]
        for row, value in zip(sums, values[:, place], strict=True):
            near = np.abs((row[end] - row[first]) / (end - first) - value) <= ROUNDED
            first, end = first[near], end[near]
            if not len(first):
                break
        found[place] = len(first) > 0
    return {*errors.columns[found]}


def _doubts(errors: pd.DataFrame) -> dict[str, str]:
    """Why columns may be no datasets, by name, for those that may be none."""
    ranks, medians, means = np.arange(1, len(errors) + 1), errors.median(), _means(errors)
    doubts = {}
    for name, values in errors.items():
        if len(errors) >= FEWEST_OF_RANKS and any(
            np.array_equal(np.sort(column), ranks) for column in (values, 100 - values)
        ):
            doubts[name] = f"column {name!r} holds ranks"
        elif name in means:
            doubts[name] = f"column {name!r} is the mean of the others, or of some side by side"
        elif medians[name] > FAR and medians.drop(name).max() < NEAR:
            told = f"the median error on {name!r} would be {medians[name]:.4g}%"
            doubts[name] = f"{told}, on all others less than {NEAR:g}%"
    return doubts


def require_plausible(
    path: Path,
    errors: pd.DataFrame,
    known: Mapping[str, Mapping[str, Any]],
    declared: Collection[str] = (),
) -> None:
    """UserError for a dataset whose errors (models, datasets), in percent, nothing explains.

    Those are the mean of all others, or of those beside it, in every row; ranks; errors of nearly
    everything beside datasets of small errors; and, where its classes are `known`, all errors above
    chance. Datasets that the user names are `declared`.
    """
    _refuse_summaries_of_models(path, errors)
    doubts = _doubts(errors)
    for name in errors.columns:
        classes = known.get(name, {}).get("classes")
        if classes and errors[name].min() > 100 * (1 - 1 / classes):
            raise UserError(
                f"{path}: all models are worse than chance on {name}: the least error is "
                f"{errors[name].min():.4g}% and {classes} classes are said; accuracies for errors?"
            )
        if name not in declared and name not in known and name in doubts:
            raise UserError(f"{path}: {doubts[name]}; is it a dataset? {OPTION}")
