"""Paper 2, section 3.3: which architectures do a dataset's test images tell apart?

    python analysis/mcnemar.py studies/paper cifar10 --top 10

McNemar's test of every pair of the best, on the images that one of the two alone gets right.
"""

from typing import Annotated

import typer
from rich.console import Console

from anynet_study import apr
from anynet_study.cli.analysis_text import print_table
from anynet_study.cli.inputs import Source, read_errors
from anynet_study.cli.script import script
from anynet_study.errors import UserError
from anynet_study.report.predictions import predicted_of


def mcnemar(
    source: Source,
    dataset: str,
    top: Annotated[int, typer.Option(help="So many of the best.")] = 10,
) -> None:
    """Compare the best architectures on a dataset pair by pair."""
    read = read_errors(source)
    if read.store is None or dataset not in read.errors:
        raise UserError(f"{source}: predictions on {dataset} are only in a results store")
    best = list(read.errors[dataset].dropna().sort_values(kind="stable").index[:top])
    predicted = predicted_of(read.store, read.store.recipes[0], dataset, "test", best)
    print_table(Console(), f"McNemar's test on {dataset}", apr.mcnemar(predicted.correct()))


if __name__ == "__main__":
    script(mcnemar)
