"""How many architectures does a study need for intervals this narrow?

    python analysis/sample_size.py studies/paper --source ImageNet --target Cifar10 --width 0.1

The width of the interval in subsamples of the study against Fisher's approximation
(sample_size.csv), and the architectures that each pair of datasets would need.
"""

from typing import Annotated

import typer

from anynet_study import apr, plots
from anynet_study.analysis.analyses.arguments import Output
from anynet_study.analysis.analyses.correlations import of_parts, widths_of
from anynet_study.analysis.analyses.script import FOLDER, save, script, show
from anynet_study.analysis.study import Study


def sample_size(
    study: Study,
    source_name: Annotated[str, typer.Option("--source", help="A dataset.")],
    target: Annotated[str, typer.Option(help="Another dataset.")],
    width: Annotated[float, typer.Option(help="Of the interval, from end to end.")] = 0.1,
    output: Output = FOLDER,
) -> None:
    """Draw sample_size.png and sample_size.pdf."""
    options = study.options
    table = of_parts(widths_of(study, source_name, target))
    figure = plots.width_grid({f"{source_name} and {target}": table})
    save(figure, output / "sample_size", table)
    pairs = study.table("correlations").dropna(subset="estimate")
    pairs = pairs[["source", "target", "estimate", "n"]]
    needed = apr.architectures_needed(pairs["estimate"], width, options.level, options.method)
    show(f"Architectures for an interval {width:g} wide", pairs.assign(needed=needed))


if __name__ == "__main__":
    script(sample_size)
