"""Paper 1, Figure A2: how soon in training is the ranking of the architectures there?

    python analysis/figure_a2.py studies/paper -o figures
    python analysis/figure_a2.py studies/paper --keep 0.9

The test error after every epoch (figure_a2), the rank correlation of every epoch with the last
(figure_a2-ranks, .csv), and on the terminal the cheapest budget that keeps the ranking.
"""

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from anynet_study import apr, plots
from anynet_study.cli.analysis_text import print_table
from anynet_study.cli.inputs import Source, read_errors
from anynet_study.cli.script import script
from anynet_study.errors import UserError
from anynet_study.report import study_tables


def figure_a2(
    source: Source,
    output: Annotated[Path, typer.Option("-o", "--output")] = Path("figures"),
    keep: Annotated[float, typer.Option(help="Rank correlation with the last epoch.")] = 0.95,
) -> None:
    """Draw figure_a2.png, figure_a2-ranks.png and so on."""
    store = read_errors(source).store
    curves = None if store is None else study_tables(store).curves
    if curves is None or curves.empty:
        raise UserError(f"{source}: only a results store with curves says when a ranking is there")
    table = apr.duration(curves)
    budgets = apr.cheapest_budget(table, keep)
    print(*plots.save(plots.curve_grid(curves), output / "figure_a2"), sep="\n")
    figure = plots.duration_grid(table, budgets)
    print(*plots.save(figure, output / "figure_a2-ranks", table=table), sep="\n")
    print_table(Console(), f"Fewest epochs that keep the ranking (at least {keep:g})", budgets)


if __name__ == "__main__":
    script(figure_a2)
