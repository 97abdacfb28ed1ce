"""`anynet-study plot`: the figures of a study or of a table of errors."""

from pathlib import Path
from typing import Annotated

import typer

from anynet_study.cli.inputs import (
    Accuracy,
    Family,
    Fraction,
    Resamples,
    Seed,
    Source,
    SourceName,
    Targets,
)
from anynet_study.errors import UserError


def plot(
    source: Source,
    output: Annotated[Path, typer.Option("-o", "--output", help="Folder for the figures.")],
    figure: Annotated[
        str,
        typer.Option(
            help="source, matched, proxies, family, heatmap, matrix, regret, widths, costs, depth, "
            "width, stages, stages-given, importance, fitting, bins, configurations, population, "
            "noise, curves, duration, metrics, recipes, source-by-recipe, class-or-size, ranks, "
            "transfer, others, shifts, gaps, improvement, robustness, transforms, label-sets, or "
            "all that apply.",
        ),
    ] = "all",
    formats: Annotated[
        str, typer.Option("--format", help="png, pdf and svg, separated by commas.")
    ] = "png,pdf",
    dpi: Annotated[int, typer.Option(min=50, max=1200, help="Pixels an inch of png.")] = 200,
    resamples: Resamples = 10_000,
    seed: Seed = 0,
    source_name: SourceName = "",
    family: Family = None,
    targets: Targets = None,
    accuracy: Accuracy = False,
    fraction: Fraction = False,
) -> None:
    """Draw figures, ready for a paper, and what they show as CSV.

    \b
    Examples:
      anynet-study plot quickstart --figure source -o figures
      anynet-study plot errors.csv --format pdf -o figures --source ImageNet \\
        --family ImageNet=1000,ImageNet-10=10 --targets Cifar10=10,Powerline=2
    """
    from anynet_study.cli.inputs import parse_roles, read_errors
    from anynet_study.plots.saving import check_formats
    from anynet_study.report import FIGURES, Options, analyse, draw_figures

    if figure not in ("all", *FIGURES):
        raise UserError(f"--figure: no {figure!r}; legal: {', '.join(FIGURES)}, all")
    suffixes = formats.replace(" ", "").split(",")
    check_formats(suffixes)
    roles = parse_roles(source_name, family or [], targets or [])
    read = read_errors(source, roles, accuracy, fraction)
    names = list(FIGURES) if figure == "all" else [figure]
    options = Options(resamples=resamples, seed=seed)
    needed = {need for name in names for need in FIGURES[name].needs}
    analysis = analyse(read.study_tables(), options, needed)
    drawn = draw_figures(analysis, output, names, suffixes, dpi)
    for each in drawn:
        for path in each.files.values():
            print(path)
    if read.weights is not None:
        typer.echo("note: correlations in the figures are weighted, the points are not", err=True)
    skipped = [f"no figure {each.name}: {each.left_out}" for each in drawn if each.left_out]
    if len(skipped) == len(drawn):
        raise UserError(f"{read.name}: {skipped[0]}")
    for line in skipped:
        typer.echo(line, err=True)
