"""Paper 3, Figure 1 and Table 2: do better architectures on the source do better on the targets?

    python analysis/transfer.py studies/paper --source ImageNet --above 70
    python analysis/transfer.py accuracies.csv --accuracy --source ImageNet --above 70 --spline

Lines through all models, and through those above an accuracy on the source alone.
"""

from typing import Annotated

import typer

from anynet_study import apr, plots
from anynet_study.analyses.arguments import Output
from anynet_study.analyses.script import FOLDER, save, script, show, source_or_first
from anynet_study.study import Study


def transfer(
    study: Study,
    above: Annotated[float | None, typer.Option(help="Accuracy on the source, percent.")] = None,
    spline: Annotated[bool, typer.Option("--spline", help="Smoothing splines, too.")] = False,
    output: Output = FOLDER,
) -> None:
    """Draw transfer.png and transfer.pdf, and print the fits."""
    scores, name = 100 - study.errors, source_or_first(study)
    fits = apr.transfer_fits(scores, name, above=above, **study.options.intervals)
    show(f"Accuracy on {name}", fits)
    figure = plots.transfer_grid(scores, name, above=above, spline=spline)
    save(figure, output / "transfer", scores.reset_index())


if __name__ == "__main__":
    script(transfer)
