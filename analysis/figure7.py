"""Paper 1, Figure 7: on which datasets do deeper, and wider, architectures err more, or less?

python analysis/figure7.py studies/paper -o figures
python analysis/figure7.py errors.csv       (with columns d1, w1, b1, g1, d2, ...)
"""

from pathlib import Path
from typing import Annotated

import typer

from anynet_study import apr, plots
from anynet_study.cli.inputs import Source, read_errors
from anynet_study.cli.script import script
from anynet_study.errors import UserError


def figure7(
    source: Source, output: Annotated[Path, typer.Option("-o", "--output")] = Path("figures")
) -> None:
    """Draw figure7a (cumulative depth) and figure7b (cumulative width), as PNG and PDF."""
    read = read_errors(source)
    if not read.has_stages:
        raise UserError(f"{source}: has no columns d1, w1, b1, g1, ... of the stages")
    table = apr.drivers(read.errors, read.population, weights=read.weights)
    for panel, parameter in (("a", "cumulative depth"), ("b", "cumulative width")):
        figure = plots.driver_grid(read.errors, read.population, parameter, table)
        print(*plots.save(figure, output / f"figure7{panel}"), sep="\n")


if __name__ == "__main__":
    script(figure7)
