"""Paper 1, Figure A6: does pretraining make the errors follow those on the source?

    python analysis/figure_a6.py studies/paper --recipe pretrained --source ImageNet -o figures
    python analysis/figure_a6.py scratch.csv --pretrained pretrained.csv --source ImageNet

Every dataset's errors from scratch and pretrained against those on the source, with both
correlations, their difference and the mean change (figure_a6.csv).
"""

from pathlib import Path
from typing import Annotated

import typer

from anynet_study import apr, plots
from anynet_study.cli.inputs import Source, read_errors
from anynet_study.cli.script import script
from anynet_study.errors import UserError


def figure_a6(
    source: Source,
    name: Annotated[str, typer.Option("--source", help="The source dataset.")],
    recipe: Annotated[str, typer.Option(help="The store's recipe that pretrains.")] = "",
    pretrained: Annotated[Path | None, typer.Option(help="Or a second input.")] = None,
    output: Annotated[Path, typer.Option("-o", "--output")] = Path("figures"),
) -> None:
    """Draw figure_a6.png and figure_a6.pdf."""
    read = read_errors(source)
    if pretrained is not None:
        after = read_errors(pretrained).errors
    elif recipe and read.store is not None:
        after = read.store.errors(recipe=recipe).dropna(axis=1, how="all")
    else:
        raise UserError("say --recipe NAME of a results store, or --pretrained FILE")
    table = apr.agreement(read.errors, after, source=name)
    figure = plots.source_by_recipe_grid(read.errors, after, table, name, ("scratch", "pretrained"))
    print(*plots.save(figure, output / "figure_a6", table=table), sep="\n")


if __name__ == "__main__":
    script(figure_a6)
