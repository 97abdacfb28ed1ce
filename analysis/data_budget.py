"""Paper 5, Figure 1 and section 5.1: at equal images, which way of training is more robust?

    python analysis/data_budget.py studies/data-budget --evaluations v2,sketch
    python analysis/data_budget.py models.csv --accuracy --fraction --source val --shifts v2,a,r \
        --describe images,loss --budget images --by loss

Every dataset is a data budget, every recipe a way of training. Robustness is the mean accuracy on
the shifts, or on the evaluations that are named, and its ratio to the accuracy on the own test set,
of all architectures. Of a table, --budget is the column of each model's budget, and --by that of
its way of training.
"""

from typing import Annotated, Any

import pandas as pd
import typer

from anynet_study import plots
from anynet_study.analysis.analyses.arguments import Output
from anynet_study.analysis.analyses.script import (
    FOLDER,
    described,
    save,
    script,
    show,
    tested_dataset,
)
from anynet_study.analysis.study import Study
from anynet_study.core.errors import UserError


def data_budget(
    study: Study,
    budget: Annotated[str, typer.Option(help="A column of numbers above 0: the budget.")] = "",
    by: Annotated[str, typer.Option(help="With --budget: the column of the recipes.")] = "",
    output: Output = FOLDER,
) -> None:
    """Draw data_budget.png and data_budget.pdf, and print what they show."""
    if budget:
        rows = of_models(study, budget, by)
    elif study.store is None:
        raise UserError(f"{study.name}: a table; say which column is the budget: --budget COLUMN")
    else:
        rows = of_datasets(study)
    table = pd.DataFrame(rows).sort_values(["train_images", "dataset"], kind="stable")
    show("Accuracy and robustness by data budget", table)
    figure = plots.budget_chart(table, budget or "training images")
    save(figure, output / "data_budget", table)


def of_datasets(study: Study) -> list[dict[str, Any]]:
    """A row for each dataset under each recipe."""
    described_as = study.datasets.set_index("dataset").reindex(columns=["base", "train_images"])
    of_recipes: dict[str, dict[str, pd.DataFrame]] = study.known("recipe_test_sets") or {}
    rows = []
    for other, tables in {"": study.test_sets, **of_recipes}.items():
        for dataset, errors in tables.items():
            images_of, images = described_as.loc[dataset]
            told = {"recipe": other or study.errors_of[dataset], "dataset": dataset}
            rows.append({**told, "images_of": images_of, "train_images": images} | means(errors))
    if all(pd.isna(row["train_images"]) for row in rows):
        raise UserError(
            f"{study.name}: the numbers of training images are not known; where a column describes "
            "the models by them: --budget COLUMN"
        )
    return rows


def of_models(study: Study, budget: str, by: str) -> list[dict[str, Any]]:
    """A row for each value of the columns `budget` and `by` among the models of one dataset."""
    dataset = tested_dataset(study, "", study.test_sets)
    errors, rows = study.test_sets[dataset], []
    values = pd.to_numeric(described(study, budget), errors="coerce").reindex(errors.index)
    if not (values > 0).any():
        raise UserError(f"--budget: {budget} has no number above 0")
    recipes = described(study, by).reindex(errors.index) if by else pd.Series("all", errors.index)
    for (recipe, value), part in errors.groupby([recipes.astype(str), values[values > 0]]):
        told = {"recipe": recipe, "dataset": dataset, "images_of": dataset, "train_images": value}
        rows.append(told | means(part))
    return rows


def means(errors: pd.DataFrame) -> dict[str, Any]:
    """Mean accuracies on the own test set, over the shifts, and their ratio, of all networks."""
    known = 100 - errors.dropna()  # averages over other shifts cannot be compared
    found = pd.DataFrame({"base": known["test"]})
    found["average"] = known.drop(columns="test").mean(axis=1)
    found["ratio"] = found["average"] / found["base"].where(found["base"] > 0)
    return {**found.mean(), "n": len(known), "shifts": ", ".join(errors.columns[1:])}


if __name__ == "__main__":
    script(data_budget)
