"""How much does a forest that predicts the errors of a dataset need each stage parameter?

python analysis/importance.py studies/paper -o figures
python analysis/importance.py errors.csv        (with columns d1, w1, b1, g1, d2, ...)

Permutation importance on held-out architectures, with R squared of the forest (importance.csv).
"""

from pathlib import Path
from typing import Annotated

import typer

from anynet_study import apr, plots
from anynet_study.cli.inputs import Source, read_errors
from anynet_study.cli.script import script
from anynet_study.errors import UserError


def importance(
    source: Source,
    output: Annotated[Path, typer.Option("-o", "--output")] = Path("figures"),
    trees: Annotated[int, typer.Option(help="Trees of each forest.")] = 100,
) -> None:
    """Draw importance.png and importance.pdf."""
    read = read_errors(source)
    if not read.has_stages:
        raise UserError(f"{source}: has no columns d1, w1, b1, g1, ... of the stages")
    table = apr.importance(read.errors, read.population, trees=trees)
    figure = plots.importance_grid(table)
    print(*plots.save(figure, output / "importance", table=table), sep="\n")


if __name__ == "__main__":
    script(importance)
