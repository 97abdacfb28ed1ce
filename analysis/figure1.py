"""Paper 1, Figure 1: is a network that does well on the source a good choice for other images?

    python analysis/figure1.py studies/paper --datasets imagenet,powerline,insects -o figures

The errors on each dataset, relative to their mean there, against those on the source.
"""

from typing import Annotated

import seaborn
import typer
from matplotlib.figure import Figure

from anynet_study import plots
from anynet_study.analyses.arguments import Output
from anynet_study.analyses.script import FOLDER, check_datasets, save, script, source_or_first
from anynet_study.errors import UserError
from anynet_study.study import Study


def figure1(
    study: Study,
    datasets: Annotated[str, typer.Option(help="NAME,NAME,...; default: the first three.")] = "",
    output: Output = FOLDER,
) -> None:
    """Draw figure1.png and figure1.pdf."""
    source = source_or_first(study)
    names = datasets.split(",") if datasets else list(study.errors)[:3]
    check_datasets(study, names)
    if len(names) > len(plots.SERIES):
        raise UserError(f"--datasets: {len(names)} are too many; legal: up to {len(plots.SERIES)}")
    relative = study.errors[names] / study.errors[names].mean()
    across = f"error on {source} (%)"
    table = relative.assign(**{across: study.errors[source]}).reset_index()
    table = table.melt(["architecture", across], names, "dataset", "error over its mean").dropna()
    figure = Figure(figsize=(4.5, 3.2), layout="constrained")
    seaborn.scatterplot(
        table,
        x=across,
        y="error over its mean",
        hue="dataset",
        style="dataset",
        palette=dict(zip(names, (colour for colour, _ in plots.SERIES), strict=False)),
        ax=figure.subplots(),
    )
    save(figure, output / "figure1", table)


if __name__ == "__main__":
    script(figure1)
