"""Paper 1, Figure A1: do other ways of training change how a dataset relates to its proxies?

    python analysis/figure_a1.py studies/paper --dataset Cifar10 --proxies ImageNet,ImageNet-10

The dataset's errors under every recipe of a study (other stem, longer training) against the errors
on each proxy, and how far the recipes agree among each other (figure_a1.csv).
"""

from typing import Annotated

import typer

from anynet_study import apr, plots
from anynet_study.analysis.analyses.arguments import Output
from anynet_study.analysis.analyses.script import FOLDER, check_datasets, save, script
from anynet_study.analysis.study import Study


def figure_a1(
    study: Study,
    dataset: Annotated[str, typer.Option(help="The dataset that was trained in several ways.")],
    proxies: Annotated[str, typer.Option(help="NAME,NAME,... on the main recipe.")],
    output: Output = FOLDER,
) -> None:
    """Draw figure_a1.png and figure_a1.pdf."""
    names = proxies.split(",")
    recipes = {"main recipe": study.errors, **study.recipes}
    check_datasets(study, [dataset, *names])
    columns = {f"{dataset}, {name}": errors[dataset] for name, errors in recipes.items()}
    errors = study.errors[names].assign(**columns)
    table = apr.correlations(errors, **study.weighted)
    pairs = [(proxy, column) for proxy in names for column in columns]
    figure = plots.scatter_grid(errors, pairs, table, columns=min(len(columns), 4))
    for axes, (_, column) in zip(figure.axes, pairs, strict=True):
        recipe = plots.wording.shorten(column.removeprefix(f"{dataset}, "), 22)
        axes.set_ylabel(f"{plots.wording.error_label(dataset)}\n{recipe}")
    save(figure, output / "figure_a1", table)


if __name__ == "__main__":
    script(figure_a1)
