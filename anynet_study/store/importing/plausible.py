"""Whether errors can be what they are taken for, seen as a whole."""

from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from anynet_study.errors import UserError
from anynet_study.sheets import normal_form

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


def _is_mean_of_neighbours(errors: pd.DataFrame, name: str) -> bool:
    """Whether a column is the mean of some columns, two or more, right before or after it."""
    place = errors.columns.get_loc(name)
    values = errors.to_numpy()
    for side in (values[:, :place][:, ::-1], values[:, place + 1 :]):
        means = side.cumsum(axis=1)[:, 1:] / np.arange(2, side.shape[1] + 1)
        gaps = np.abs(means - values[:, [place]])
        if (gaps.max(axis=0, initial=0) <= ROUNDED).any():
            return True
    return False


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
    medians = errors.median()
    for name in errors.columns:
        others = errors.drop(columns=name)
        classes = known.get(name, {}).get("classes")
        if classes and errors[name].min() > 100 * (1 - 1 / classes):
            raise UserError(
                f"{path}: all models are worse than chance on {name}: the least error is "
                f"{errors[name].min():.4g}% and {classes} classes are said; accuracies for errors?"
            )
        if name in declared or name in known:
            continue
        ranks = np.arange(1, len(errors) + 1)
        if len(errors) >= FEWEST_OF_RANKS and any(
            np.array_equal(np.sort(values), ranks) for values in (errors[name], 100 - errors[name])
        ):
            raise UserError(f"{path}: column {name!r} holds ranks; is it a dataset? {OPTION}")
        if others.empty:
            continue
        gap = (errors[name] - others.mean(axis=1)).abs()
        if others.shape[1] > 1 and len(errors) > 1 and gap.max() <= ROUNDED:
            raise UserError(
                f"{path}: column {name!r} is the mean of the others; is it a dataset? {OPTION}"
            )
        if len(errors) >= FEWEST_OF_MEANS and _is_mean_of_neighbours(errors, name):
            raise UserError(
                f"{path}: column {name!r} is the mean of the datasets beside it; is it a dataset? "
                f"{OPTION}"
            )
        if medians[name] > FAR and medians.drop(name).max() < NEAR:
            raise UserError(
                f"{path}: the median error on {name!r} would be {medians[name]:.4g}%, on all "
                f"others less than {NEAR:g}%; is it a dataset? {OPTION}"
            )
