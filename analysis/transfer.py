"""Paper 3, Figure 1 and Table 2: do better architectures on the source do better on the targets?

    python analysis/transfer.py studies/paper --source ImageNet --above 70
    python analysis/transfer.py accuracies.csv --accuracy --source ImageNet --above 70 --spline

Lines through all models, and through those above an accuracy on the source alone.
"""

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from anynet_study import apr, plots
from anynet_study.cli.analysis_text import print_table
from anynet_study.cli.inputs import Accuracy, Source, SourceName, read_errors
from anynet_study.cli.script import script


def transfer(
    source: Source,
    source_name: SourceName = "",
    above: Annotated[float | None, typer.Option(help="Accuracy on the source, percent.")] = None,
    spline: Annotated[bool, typer.Option("--spline", help="Smoothing splines, too.")] = False,
    output: Annotated[Path, typer.Option("-o", "--output")] = Path("figures"),
    accuracy: Accuracy = False,
) -> None:
    """Draw transfer.png and transfer.pdf, and print the fits."""
    read = read_errors(source, accuracy=accuracy)
    known = read.roles.source if read.roles else str(read.errors.columns[0])
    scores, name = 100 - read.errors, source_name or known
    print_table(Console(), f"Accuracy on {name}", apr.transfer_fits(scores, name, above=above))
    figure = plots.transfer_grid(scores, name, above=above, spline=spline)
    print(*plots.save(figure, output / "transfer"), sep="\n")


if __name__ == "__main__":
    script(transfer)
