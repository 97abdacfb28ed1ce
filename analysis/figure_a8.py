"""Paper 1, Figure A8: how do the errors on all datasets go together?

python analysis/figure_a8.py studies/paper -o figures
python analysis/figure_a8.py errors.csv

Scatterplots below the diagonal, Spearman's correlations with their intervals above it.
"""

from pathlib import Path
from typing import Annotated

import typer

from anynet_study import apr, plots
from anynet_study.cli.inputs import Source, read_errors
from anynet_study.cli.script import script


def figure_a8(
    source: Source, output: Annotated[Path, typer.Option("-o", "--output")] = Path("figures")
) -> None:
    """Draw figure_a8.png and figure_a8.pdf."""
    read = read_errors(source)
    table = apr.correlations(read.errors, weights=read.weights)
    figure = plots.scatter_matrix(read.errors, table)
    print(*plots.save(figure, output / "figure_a8"), sep="\n")


if __name__ == "__main__":
    script(figure_a8)
