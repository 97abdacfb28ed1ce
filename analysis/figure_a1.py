"""Paper 1, Figure A1: do other ways of training change how a dataset relates to its proxies?

    python analysis/figure_a1.py studies/paper --dataset Cifar10 --proxies ImageNet,ImageNet-10

The dataset's errors under every recipe of a study (other stem, longer training) against the errors
on each proxy, and how far the recipes agree among each other (figure_a1.csv).
"""

from pathlib import Path
from typing import Annotated

import typer

from anynet_study import apr, plots
from anynet_study.cli.inputs import Source, read_errors
from anynet_study.cli.script import script
from anynet_study.errors import UserError


def figure_a1(
    source: Source,
    dataset: Annotated[str, typer.Option(help="The dataset that was trained in several ways.")],
    proxies: Annotated[str, typer.Option(help="NAME,NAME,... on the main recipe.")],
    output: Annotated[Path, typer.Option("-o", "--output")] = Path("figures"),
) -> None:
    """Draw figure_a1.png and figure_a1.pdf."""
    store = read_errors(source).store
    if store is None or len(store.recipes) < 2:
        raise UserError(f"{source}: only a results store of several recipes has what to compare")
    known = store.errors()
    absent = [name for name in [dataset, *proxies.split(",")] if name not in known]
    if absent:
        raise UserError(f"{source}: no dataset {', '.join(absent)}; there are {', '.join(known)}")
    columns = {f"{dataset}, {name}": store.errors(recipe=name)[dataset] for name in store.recipes}
    errors = known[proxies.split(",")].assign(**columns)
    table = apr.correlations(errors)
    pairs = [(proxy, column) for proxy in proxies.split(",") for column in columns]
    figure = plots.scatter_grid(errors, pairs, table, columns=len(columns))
    print(*plots.save(figure, output / "figure_a1", table=table), sep="\n")


if __name__ == "__main__":
    script(figure_a1)
