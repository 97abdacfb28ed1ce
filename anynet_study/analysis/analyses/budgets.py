"""Data budgets: how accuracy and robustness grow with the training images (paper 5)."""

from typing import Any

import pandas as pd

from anynet_study.analysis import plots
from anynet_study.analysis.analyses.building import described
from anynet_study.analysis.analysis import Analysis, StudyFigure
from anynet_study.analysis.apr.interval_formulas import student_interval
from anynet_study.analysis.apr.options import with_attrs
from anynet_study.analysis.study import Study
from anynet_study.core.errors import DoesNotApplyError, UserError

#: What is averaged over the networks: two accuracies in percent, and their ratio.
MEANS = ("base", "average", "ratio")


def budgets(study: Study) -> pd.DataFrame:
    """Accuracy and robustness at each data budget, under each way of training.

    Returns DataFrame[recipe, dataset, images_of, train_images, base, base_low, base_high, average,
    average_low, average_high, ratio, ratio_low, ratio_high, n, shifts]: mean accuracy on the own
    test set and over the shifts, in percent, and their ratio, with Student's intervals over the
    networks. Every dataset is a budget, every recipe a way of training; with `Options.budget` every
    value of that column among the networks of each dataset, and of the column `Options.by`.
    """
    rows = of_models(study) if study.options.budget else of_datasets(study)
    table = pd.DataFrame(rows).sort_values(["train_images", "dataset"], kind="stable")
    if len(table) < 2:
        raise DoesNotApplyError("there is one data budget, under one recipe")
    return with_attrs(table.reset_index(drop=True), study.options.level)


def of_datasets(study: Study) -> list[dict[str, Any]]:
    """A row for each dataset under each recipe."""
    if study.known("datasets") is None:
        raise DoesNotApplyError("say which column is the budget: --budget COLUMN")
    known = study.datasets.set_index("dataset").reindex(columns=["base", "train_images"])
    of_recipes: dict[str, dict[str, pd.DataFrame]] = study.known("recipe_test_sets") or {}
    rows = []
    for other, tables in {"": study.test_sets, **of_recipes}.items():
        for dataset, errors in tables.items():
            images_of, images = known.loc[dataset]
            told = {"recipe": other or study.errors_of.get(dataset, ""), "dataset": dataset}
            told |= {"images_of": images_of, "train_images": images}
            rows.append(told | means(errors, study.options.level))
    if all(pd.isna(row["train_images"]) for row in rows):
        raise DoesNotApplyError(
            "the numbers of training images are not known; where a column describes the models by "
            "them: --budget COLUMN"
        )
    return rows


def of_models(study: Study) -> list[dict[str, Any]]:
    """A row for each value of the columns `budget` and `by` among the models of each dataset."""
    budget, by, rows = study.options.budget, study.options.by, []
    numbers = pd.to_numeric(described(study, budget), errors="coerce")
    if not (numbers > 0).any():
        raise UserError(f"--budget: {budget} has no number above 0")
    ways = described(study, by) if by else pd.Series("all", numbers.index)
    for dataset, errors in study.test_sets.items():
        values, recipes = (column.reindex(errors.index) for column in (numbers, ways))
        for (recipe, value), part in errors.groupby([recipes.astype(str), values[values > 0]]):
            told = {"recipe": recipe, "dataset": dataset, "images_of": dataset}
            rows.append(told | {"train_images": value} | means(part, study.options.level))
    return rows


def means(errors: pd.DataFrame, level: float) -> dict[str, Any]:
    """Means over the networks with their intervals; NaN ends of a single network."""
    known = 100 - errors.dropna()  # averages over other shifts cannot be compared
    base, average = known["test"], known.drop(columns="test").mean(axis=1)
    found: dict[str, Any] = {}
    for name, values in zip(MEANS, (base, average, average / base.where(base > 0)), strict=True):
        ends = map(float, student_interval(values.dropna(), level))
        found |= dict(zip((name, f"{name}_low", f"{name}_high"), ends, strict=True))
    return {**found, "n": len(known), "shifts": ", ".join(errors.columns[1:])}


BUDGETS = Analysis[Study](
    name="budgets",
    title="Accuracy and robustness by data budget",
    table=budgets,
    question="At equal training images, which way of training is more accurate, and more robust?",
    formula=(
        "mean over the networks of the accuracy on the own test set, of that averaged over the "
        "shifts, and of their ratio, with Student's t"
    ),
    source="paper 5, Figure 1, Table 1 and section 5.1",
    avoid=(
        "where networks of one budget differ in more than the way of training; for budgets of one "
        "network, which have no interval"
    ),
    needs=("test_sets", "equal_weights"),
    headings={"images_of": "images of", "train_images": "training images"}
    | {"base": "own test set", "average": "over shifts", "shifts": ""},
    figures=(
        StudyFigure(
            name="budgets",
            title="Accuracy by data budget",
            caption="Mean accuracy over the networks by the number of training images, with its "
            "{level} interval: filled on the own test set, hollow on average over the shifts.",
            draw=lambda study, table: plots.budget_chart(
                table, study.options.budget or "training images"
            ),
        ),
    ),
    section="shifts",
    shown="folded",
    caption="Data budgets",
    note=(
        "Of a table of models, --budget names the column of their budgets, and --by that of the "
        "ways in which they were trained."
    ),
)
