"""Paper 5, section 5.2 and Figures 2 and 3: how good are the best of each size, or each family?

    python analysis/best_of_bins.py studies/paper parameters --edges 2e6,4e6
    python analysis/best_of_bins.py errors.csv flops        (a column of the table)

The mean accuracy of the ten best architectures of each bin, on every dataset.
"""

from pathlib import Path
from typing import Annotated

import pandas as pd
import typer
from rich.console import Console

from anynet_study import apr, plots
from anynet_study.cli.analysis_text import print_table
from anynet_study.cli.inputs import Source, read_errors
from anynet_study.cli.script import script
from anynet_study.errors import UserError


def best_of_bins(
    source: Source,
    covariate: str,
    edges: Annotated[str, typer.Option(help="Where bins end; else thirds.")] = "",
    top: int = 10,
    output: Annotated[Path, typer.Option("-o", "--output")] = Path("figures"),
) -> None:
    """Draw best_of_bins.png and best_of_bins.pdf, and print the means."""
    read = read_errors(source)
    if read.population is None or covariate not in read.population:
        raise UserError(f"{source}: knows no {covariate} of its architectures")
    values = read.population.set_index("architecture")[covariate]
    cuts = [float(edge) for edge in edges.split(",")] if edges else 3
    tables = {n: apr.best_of_bins(100 - c, values, cuts, top) for n, c in read.errors.items()}
    table = pd.concat(tables, names=["dataset"]).reset_index(0)
    print_table(Console(), f"The {top} best by {covariate}", table)
    figure = plots.bin_chart(tables, covariate, "accuracy (%)")
    print(*plots.save(figure, output / "best_of_bins"), sep="\n")


if __name__ == "__main__":
    script(best_of_bins)
