"""How many architectures does a study need for intervals this narrow?

    python analysis/sample_size.py studies/paper --source ImageNet --target Cifar10 --width 0.1

The width of the interval in subsamples of the study against Fisher's approximation
(sample_size.csv), and the architectures that each pair of datasets would need.
"""

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from anynet_study import apr, plots
from anynet_study.cli.analysis_text import print_table
from anynet_study.cli.inputs import Source, read_errors
from anynet_study.cli.script import script


def sample_size(
    source: Source,
    name: Annotated[str, typer.Option("--source", help="A dataset.")],
    target: Annotated[str, typer.Option(help="Another dataset.")],
    width: Annotated[float, typer.Option(help="Of the interval, from end to end.")] = 0.1,
    output: Annotated[Path, typer.Option("-o", "--output")] = Path("figures"),
) -> None:
    """Draw sample_size.png and sample_size.pdf."""
    errors = read_errors(source).errors
    table = apr.interval_widths(errors, name, target)
    figure = plots.width_grid({f"{name} and {target}": table})
    print(*plots.save(figure, output / "sample_size", table=table), sep="\n")
    pairs = apr.correlations(errors).dropna(subset="estimate")[
        ["source", "target", "estimate", "n"]
    ]
    needed = apr.architectures_needed(pairs["estimate"], width)
    print_table(
        Console(), f"Architectures for an interval {width:g} wide", pairs.assign(needed=needed)
    )


if __name__ == "__main__":
    script(sample_size)
