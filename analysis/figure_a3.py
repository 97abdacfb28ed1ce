"""Paper 1, Figure A3: how much of the differences between architectures is training noise?

    python analysis/figure_a3.py studies/paper -o figures

The errors of replicates beside those of the whole population, and the correlations that the errors
would have without the noise (figure_a3.csv); `noise_ceiling.py` prints the numbers.
"""

from pathlib import Path
from typing import Annotated

import typer

from anynet_study import apr, plots
from anynet_study.cli.inputs import Source, read_errors
from anynet_study.cli.script import script
from anynet_study.errors import UserError


def figure_a3(
    source: Source, output: Annotated[Path, typer.Option("-o", "--output")] = Path("figures")
) -> None:
    """Draw figure_a3.png and figure_a3.pdf."""
    replicates = read_errors(source).replicates
    if replicates is None:
        raise UserError(f"{source}: replicates are only in a results store")
    noise = apr.noise_ceiling(replicates)
    if noise.empty:
        raise UserError(f"{source}: no architecture was trained twice on a dataset")
    figure = plots.noise_grid(replicates, noise)
    table = apr.corrected_correlations(replicates)
    print(*plots.save(figure, output / "figure_a3", table=table), sep="\n")


if __name__ == "__main__":
    script(figure_a3)
