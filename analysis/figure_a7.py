"""Paper 1, Figure A7: how are the best architectures on each dataset built, stage by stage?

python analysis/figure_a7.py studies/paper -o figures
python analysis/figure_a7.py errors.csv     (with columns d1, w1, b1, g1, d2, ...)
"""

from pathlib import Path
from typing import Annotated

import typer

from anynet_study import plots
from anynet_study.cli.inputs import Source, read_errors
from anynet_study.cli.script import script
from anynet_study.errors import UserError


def figure_a7(
    source: Source,
    output: Annotated[Path, typer.Option("-o", "--output")] = Path("figures"),
    top: int = 15,
) -> None:
    """Draw figure_a7.png and figure_a7.pdf: the best architecture and the mean of the best."""
    read = read_errors(source)
    if not read.has_stages:
        raise UserError(f"{source}: has no columns d1, w1, b1, g1, ... of the stages")
    figure = plots.configuration_grid(read.errors, read.population, top)
    print(*plots.save(figure, output / "figure_a7"), sep="\n")


if __name__ == "__main__":
    script(figure_a7)
