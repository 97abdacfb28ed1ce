"""Paper 5, Figure 1 and section 5.1: at equal images, which way of training is more robust?

    python analysis/data_budget.py studies/data-budget --shifts v2,sketch,renditions,adversarial

Every dataset is a data budget, every recipe a way of training. Robustness is the mean accuracy on
the shifted test sets, and its ratio to the accuracy on the own one, of all architectures.
"""

from typing import Annotated, Any

import pandas as pd
import typer

from anynet_study import apr, plots
from anynet_study.analyses.arguments import Output
from anynet_study.analyses.script import FOLDER, save, script, show
from anynet_study.errors import UserError
from anynet_study.study import Study


def data_budget(
    study: Study,
    shifts: Annotated[str, typer.Option(help="Evaluations; default: all of final weights.")] = "",
    output: Output = FOLDER,
) -> None:
    """Draw data_budget.png and data_budget.pdf, and print what they show."""
    store = study.store
    if store is None:
        raise UserError(f"{study.name}: a table of errors does not say how networks were trained")
    rows: list[dict[str, Any]] = []
    images = store.datasets().set_index("dataset")["train_images"]
    runs = store.runs()
    for recipe, dataset in runs[["recipe", "dataset"]].drop_duplicates().to_numpy():
        accuracies = 100 - store.evaluation_errors(dataset, "top1", recipe)
        accuracies = accuracies.dropna(axis="columns", how="all")
        if len(accuracies.columns) < 2:
            continue
        final = [name for name in accuracies.columns[1:] if "@" not in name]
        wanted = shifts.split(",") if shifts else final
        found = apr.average_robustness(accuracies, "test", wanted)
        means = found[["base", "average", "ratio"]].mean()
        known = {"recipe": recipe, "dataset": dataset, "train_images": images[dataset]}
        rows.append({**known, **means, "n": int(found["average"].notna().sum())})
    if not rows:
        raise UserError(f"{study.name}: no dataset has further test sets")
    table = pd.DataFrame(rows).sort_values(["train_images", "dataset"], kind="stable")
    show("Accuracy and robustness by data budget", table)
    save(plots.budget_chart(table), output / "data_budget", table)


if __name__ == "__main__":
    script(data_budget)
