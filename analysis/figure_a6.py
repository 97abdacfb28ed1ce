"""Paper 1, Figure A6: does pretraining make the errors follow those on the source?

    python analysis/figure_a6.py studies/paper --recipe pretrained --source ImageNet -o figures
    python analysis/figure_a6.py scratch.csv --pretrained pretrained.csv --source ImageNet

Every dataset's errors from scratch and pretrained against those on the source, with both
correlations, their difference and the mean change (figure_a6.csv).
"""

from pathlib import Path
from typing import Annotated

import typer

import anynet_study
from anynet_study import apr, plots
from anynet_study.analysis.analyses.arguments import Output
from anynet_study.analysis.analyses.script import FOLDER, save, script
from anynet_study.analysis.study import Study
from anynet_study.core.errors import UserError


def figure_a6(
    study: Study,
    source_name: Annotated[str, typer.Option("--source", help="The source dataset.")],
    recipe: Annotated[str, typer.Option(help="The store's recipe that pretrains.")] = "",
    pretrained: Annotated[Path | None, typer.Option(help="Or a second input.")] = None,
    output: Output = FOLDER,
) -> None:
    """Draw figure_a6.png and figure_a6.pdf."""
    if pretrained is not None:
        after = anynet_study.load(pretrained).errors
    elif recipe in (study.known("recipes") or {}):
        after = study.recipes[recipe].dropna(axis=1, how="all")
    else:
        raise UserError("say --recipe NAME of a results store, or --pretrained FILE")
    table = apr.agreement(study.errors, after, source=source_name, **study.options.correlating)
    labels = ("scratch", "pretrained")
    figure = plots.source_by_recipe_grid(study.errors, after, table, source_name, labels)
    save(figure, output / "figure_a6", table)


if __name__ == "__main__":
    script(figure_a6)
