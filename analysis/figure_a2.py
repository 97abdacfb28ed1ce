"""Paper 1, Figure A2: how soon in training is the ranking of the architectures there?

    python analysis/figure_a2.py studies/paper -o figures
    python analysis/figure_a2.py studies/paper --keep 0.9
    python analysis/figure_a2.py studies/a2 --recipe long --zoom 30              (A, both panels)
    python analysis/figure_a2.py studies/a2 --recipe further-natural --marked 5  (B)

The test error after every epoch (figure_a2), the same from an epoch on (figure_a2-zoom), the rank
correlation of every epoch with the last (figure_a2-ranks, .csv), and on the terminal the cheapest
budget that keeps the ranking. With --marked also the best and worst of each dataset, as a sweep
file names them (recipes.NAME.architectures), so that they can be trained for longer. They are those
at the last epoch; of runs that continue others, at the last epoch of these, the regular duration.
"""

import json
from typing import Annotated

import typer

from anynet_study import apr, plots
from anynet_study.analysis.analyses.arguments import Output
from anynet_study.analysis.analyses.script import FOLDER, save, script, show
from anynet_study.analysis.study import Study
from anynet_study.core.errors import UserError


def figure_a2(
    study: Study,
    output: Output = FOLDER,
    keep: Annotated[float, typer.Option(help="Rank correlation with the last epoch.")] = 0.95,
    zoom: Annotated[int, typer.Option(help="First epoch of a second figure; 0: none.")] = 0,
    marked: Annotated[int, typer.Option(help="So many best and worst in colour.")] = 0,
) -> None:
    """Draw figure_a2.png, figure_a2-ranks.png and so on."""
    curves = study.curves
    later = curves[curves["epoch"] >= zoom]
    if later.empty:
        raise UserError(f"--zoom: {zoom}, but the last epoch is {curves['epoch'].max()}")
    ends = plots.best_and_worst(curves, marked, regular_ends(study)) if marked else None
    figure = plots.curve_grid(curves, study.metrics, ends)
    save(figure, output / "figure_a2", study.figure_data("curves"))
    if zoom:
        figure = plots.curve_grid(later, study.metrics, ends)
        save(figure, output / "figure_a2-zoom", plots.curve_data(later))
    if ends is not None:
        for (name, epoch), rows in ends.groupby(["dataset", "epoch"], sort=False):
            told = ", ".join(dict.fromkeys(rows["architecture"]))
            print(f"{name}, {marked} best and {marked} worst at epoch {epoch:g}: [{told}]")
    table = study.table("duration")
    budgets = apr.cheapest_budget(table, keep)
    save(plots.duration_grid(table, budgets), output / "figure_a2-ranks", table)
    show(f"Fewest epochs that keep the ranking (at least {keep:g})", budgets)


def regular_ends(study: Study) -> dict[str, int]:
    """Of the datasets whose runs continue others: the last epoch of these."""
    if study.store is None:
        return {}
    runs = study.store.runs(["run_id", "dataset", "recipe", "planned", "epochs", "spec"])
    epochs, found = dict(zip(runs["run_id"], runs["epochs"], strict=True)), {}
    continuing = runs[study.store.stands(runs, study.options.recipe) & runs["planned"]]
    for dataset, spec in continuing[["dataset", "spec"]].itertuples(index=False):
        begun = json.loads(spec).get("initialisation")
        if isinstance(begun, dict) and begun.get("state_of") in epochs:
            found[str(dataset)] = int(epochs[begun["state_of"]])
    return found


if __name__ == "__main__":
    script(figure_a2)
