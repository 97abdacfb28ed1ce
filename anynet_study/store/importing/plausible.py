"""Whether errors can be what they are taken for, seen as a whole."""

from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

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


#: How a row is called that is no model.
SUMMARIES = {"average", "avg", "mean", "median", "overall"}


def _refuse_means_of_models(path: Path, errors: pd.DataFrame) -> None:
    """UserError for a row that is called like a summary and is the mean of the others."""
    for model in errors.index:
        if normal_form(str(model)) in SUMMARIES and len(errors) > 2:
            gap = (errors.drop(index=model).mean() - errors.loc[model]).abs()
            if gap.max() <= ROUNDED:
                raise UserError(
                    f"{path}: row {model!r} is the mean of the others, not a model; remove it"
                )


def require_plausible(
    path: Path,
    errors: pd.DataFrame,
    known: Mapping[str, Mapping[str, Any]],
    declared: Collection[str] = (),
) -> None:
    """UserError for a dataset whose errors (models, datasets), in percent, nothing explains.

    Those are the mean of all others in every row; errors of nearly everything beside datasets
    of small errors; and, where its classes are `known`, all errors above chance. Datasets that the
    user names are `declared`.
    """
    _refuse_means_of_models(path, errors)
    medians = errors.median()
    for name in errors.columns:
        others = errors.drop(columns=name)
        classes = known.get(name, {}).get("classes")
        if classes and errors[name].min() > 100 * (1 - 1 / classes):
            raise UserError(
                f"{path}: all models are worse than chance on {name}: the least error is "
                f"{errors[name].min():.4g}% and {classes} classes are said; accuracies for errors?"
            )
        if name in declared or name in known or others.empty:
            continue
        gap = (errors[name] - others.mean(axis=1)).abs()
        if others.shape[1] > 1 and len(errors) > 1 and gap.max() <= ROUNDED:
            raise UserError(
                f"{path}: column {name!r} is the mean of the others; is it a dataset? {OPTION}"
            )
        if medians[name] > FAR and medians.drop(name).max() < NEAR:
            raise UserError(
                f"{path}: the median error on {name!r} would be {medians[name]:.4g}%, on all "
                f"others less than {NEAR:g}%; is it a dataset? {OPTION}"
            )
