"""Paper 5, Figure 1 and section 5.1: at equal images, which way of training is more robust?

    python analysis/data_budget.py studies/data-budget --evaluations v2,sketch

Every dataset is a data budget, every recipe a way of training. Robustness is the mean accuracy on
the shifts, or on the evaluations that are named, and its ratio to the accuracy on the own test set,
of all architectures.
"""

from typing import Any

import pandas as pd

from anynet_study import plots
from anynet_study.analysis.analyses.arguments import Output
from anynet_study.analysis.analyses.script import FOLDER, save, script, show
from anynet_study.analysis.study import Study
from anynet_study.core.errors import UserError


def data_budget(study: Study, output: Output = FOLDER) -> None:
    """Draw data_budget.png and data_budget.pdf, and print what they show."""
    if study.store is None:
        raise UserError(f"{study.name}: a table of errors does not say how networks were trained")
    described = study.datasets.set_index("dataset")[["base", "train_images"]]
    of_recipes = {study.options.recipe or study.store.recipes[0]: study.test_sets}
    of_recipes |= study.known("recipe_test_sets") or {}
    rows: list[dict[str, Any]] = []
    for recipe, tables in of_recipes.items():
        for dataset, errors in tables.items():
            known = 100 - errors.dropna()  # averages over other shifts cannot be compared
            found = pd.DataFrame({"base": known["test"]})
            found["average"] = known.drop(columns="test").mean(axis=1)
            found["ratio"] = found["average"] / found["base"].where(found["base"] > 0)
            about = dict(zip(("images_of", "train_images"), described.loc[dataset], strict=True))
            means, counted = found.mean(), {"n": len(known)}
            used = {"shifts": ", ".join(errors.columns[1:])}
            rows.append({"recipe": recipe, "dataset": dataset, **about, **means, **counted, **used})
    table = pd.DataFrame(rows).sort_values(["train_images", "dataset"], kind="stable")
    show("Accuracy and robustness by data budget", table)
    save(plots.budget_chart(table), output / "data_budget", table)


if __name__ == "__main__":
    script(data_budget)
