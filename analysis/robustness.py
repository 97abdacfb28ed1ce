"""Paper 5, section 3: average and effective robustness, and the effective robustness ratio.

    python analysis/robustness.py accuracies.csv --accuracy --base val --baseline resnet18,vgg11,...
    python analysis/robustness.py studies/paper --dataset ImageNet
    python analysis/robustness.py accuracies.csv --accuracy --base val --group-by family
    python analysis/robustness.py studies/data-budget --dataset cifar10 --group-by recipe

Of a table, a column a test set; all but the base are shifts. Of a study, the evaluations that are
shifts. --evaluations says which else are meant. Effective robustness is accuracy beyond the trend
of the baseline models (by default all). With --group-by a colour and a line for each recipe, each
family of networks, or whatever else a column says of architectures, and the lines as a table
(robustness-lines.csv).
"""

from typing import Annotated, Any

import pandas as pd
import typer

from anynet_study import apr, plots
from anynet_study.analysis.analyses.arguments import Output
from anynet_study.analysis.analyses.building import described, with_averages
from anynet_study.analysis.analyses.script import (
    FOLDER,
    DatasetName,
    errors_on_test_sets,
    save,
    save_table,
    script,
    show,
    tested_dataset,
)
from anynet_study.analysis.study import SHIFT, Study
from anynet_study.core.errors import UserError


def robustness(
    study: Study,
    base: Annotated[str, typer.Option(help="The test set without a shift.")] = "test",
    baseline: Annotated[str, typer.Option(help="Architectures, with commas.")] = "",
    group_by: Annotated[str, typer.Option(help="recipe, family, or a column: lines of each.")] = "",
    dataset: DatasetName = "",
    output: Output = FOLDER,
) -> None:
    """Draw robustness.png and robustness.pdf, and print the averages."""
    shown = base
    if study.known("evaluated") is not None and base in ("test", *study.evaluated):
        # Its own test set is called by the name of the dataset, too.
        dataset = dataset or (base if base in study.evaluated else "")
        base, shown = "test", tested_dataset(study, dataset, study.test_sets)
    errors, counts = errors_on_test_sets(study, dataset, SHIFT, base)
    groups = None
    if group_by == "recipe":
        errors, groups = under_recipes(study, dataset, errors)
    elif group_by:
        groups = described(study, group_by).reindex(errors.index).dropna().astype(str)
        errors = errors.loc[groups.index]
    accuracies = 100 - errors
    chosen = baseline.split(",") if baseline else None
    how: dict[str, Any] = {"images": counts, "level": study.options.level}
    used = ", ".join(name for name in errors if name != base)
    robust = apr.effective_robustness(accuracies, base, baseline=chosen, **how)
    table = with_averages(robust, "shift")
    if groups is not None:
        table["group"] = table["architecture"].map(groups)
    figure = plots.effective_robustness_grid(table, shown)  # refuses too many groups
    means = pd.DataFrame(robust.attrs["averages"] or robust).reindex(columns=AVERAGED)
    show(f"Average robustness over {used}", means.dropna(axis="columns", how="all"))
    if groups is not None:
        lines = apr.robustness_lines(accuracies, base, groups, level=study.options.level)
        shown = with_averages(lines, "shift")[["group", "shift", "n", *SHOWN]]
        show(f"Lines by {group_by}, in logits", shown)
        save_table(lines, output / "robustness-lines.csv")
    save(figure, output / "robustness", table)


#: On the terminal, of the averages.
AVERAGED = ["architecture", "base", "accuracy", "accuracy_low", "accuracy_high", "ratio", "note"]
#: And of the lines.
SHOWN = ["accuracy", "slope", "slope_low", "slope_high", "intercept", "note"]


def under_recipes(
    study: Study, dataset: str, errors: pd.DataFrame
) -> tuple[pd.DataFrame, "pd.Series[str]"]:
    """Errors under every recipe, below each other, on what all tested; and the recipe of each."""
    if study.store is None:
        raise UserError(f"{study.name}: a table of errors does not say how networks were trained")
    name = tested_dataset(study, dataset, study.test_sets)
    tables = {study.errors_of[name]: errors}
    others = study.recipe_test_sets
    tables |= {recipe: found[name] for recipe, found in others.items() if name in found}
    if len(tables) < 2:
        raise UserError(f"{study.name}: networks of one recipe alone have tests of {name}")
    both = pd.concat(tables, join="inner").swaplevel()
    index = pd.Index([f"{one}, {recipe}" for one, recipe in both.index], name="architecture")
    recipes = pd.Series(both.index.get_level_values(1), index)
    return both.set_axis(index), recipes


if __name__ == "__main__":
    script(robustness)
