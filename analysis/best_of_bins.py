"""Paper 5, section 5.2 and Figures 2 and 3: how good are the best of each size, or each family?

    python analysis/best_of_bins.py studies/paper parameters --edges 2e6,4e6
    python analysis/best_of_bins.py errors.csv flops        (a column of the table)

The mean accuracy of the ten best architectures of each bin, on every dataset, or on --datasets.
"""

from typing import Annotated

import pandas as pd
import typer

from anynet_study import apr, plots
from anynet_study.analyses.arguments import Output
from anynet_study.analyses.script import FOLDER, Datasets, chosen_errors, save, script
from anynet_study.errors import UserError
from anynet_study.study import Study


def best_of_bins(
    study: Study,
    covariate: str,
    edges: Annotated[str, typer.Option(help="Where bins end; else thirds.")] = "",
    top: int = 10,
    datasets: Datasets = "",
    output: Output = FOLDER,
) -> None:
    """Draw best_of_bins.png and best_of_bins.pdf; the means are in best_of_bins.csv."""
    if covariate not in study.architectures:
        raise UserError(f"{study.name}: knows no {covariate} of its architectures")
    values = study.architectures.set_index("architecture")[covariate]
    cuts = [float(edge) for edge in edges.split(",")] if edges else 3
    how = study.options.intervals
    tables = {
        name: apr.best_of_bins(100 - column, values, cuts, top, **how)
        for name, column in chosen_errors(study, datasets).items()
    }
    figure = plots.bin_chart(tables, covariate, "accuracy (%)")
    table = pd.concat(tables, names=["dataset"]).reset_index(0)
    save(figure, output / "best_of_bins", table)


if __name__ == "__main__":
    script(best_of_bins)
