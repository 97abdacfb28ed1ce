"""Paper 1, Figure A2: how soon in training is the ranking of the architectures there?

    python analysis/figure_a2.py studies/paper -o figures
    python analysis/figure_a2.py studies/paper --keep 0.9

The test error after every epoch (figure_a2), the rank correlation of every epoch with the last
(figure_a2-ranks, .csv), and on the terminal the cheapest budget that keeps the ranking.
"""

from typing import Annotated

import typer

from anynet_study import apr, plots
from anynet_study.analyses.arguments import Output
from anynet_study.analyses.script import FOLDER, save, script, show
from anynet_study.study import Study


def figure_a2(
    study: Study,
    output: Output = FOLDER,
    keep: Annotated[float, typer.Option(help="Rank correlation with the last epoch.")] = 0.95,
) -> None:
    """Draw figure_a2.png, figure_a2-ranks.png and so on."""
    save(study.figure("curves"), output / "figure_a2", study.figure_data("curves"))
    table = study.table("duration")
    budgets = apr.cheapest_budget(table, keep)
    save(plots.duration_grid(table, budgets), output / "figure_a2-ranks", table)
    show(f"Fewest epochs that keep the ranking (at least {keep:g})", budgets)


if __name__ == "__main__":
    script(figure_a2)
