"""`anynet-study plot`: the figures of a study or of a table of errors."""

from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from anynet_study.analysis.analyses.arguments import Source, StudyOptions, with_study_options
from anynet_study.cli.options import AsIs, current, opt, writes
from anynet_study.cli.tables import harmless
from anynet_study.core.errors import UserError, counted

#: An option of how figures look.
looks = partial(opt, rich_help_panel="How figures look")


@with_study_options
def plot(
    source: Source,
    output: Annotated[Path, writes("Folder for the figures.")],
    figure: Annotated[str, opt("Names of the list below, with commas; or all that apply.")] = "all",
    formats: Annotated[str, opt("png, pdf and svg, separated by commas.", "--format")] = "png,pdf",
    dpi: Annotated[int, looks("Pixels per inch of png.", min=50, max=1200)] = 200,
    width: Annotated[
        str,
        looks("Width of a figure: 8.5cm, 85mm, 3.4in, 245pt."),
    ] = "",
    font_size: Annotated[
        float | None,
        looks("Size of its labels in points; all other text changes alike.", min=4, max=40),
    ] = None,
    rename: Annotated[
        list[str] | None,
        looks("Other names for datasets, on figures.", metavar="OLD=NEW,..."),
    ] = None,
    style: Annotated[
        str,
        looks("A style of matplotlib: its name, or a file of settings."),
    ] = "",
    as_is: AsIs = False,
    *,
    options: StudyOptions,
) -> None:
    """Draw figures, ready for a paper, and what they show as CSV.

    \b
    Examples:
      anynet-study plot quickstart --figure source -o figures
      anynet-study plot quickstart --figure matrix -o figures --width 8.5cm --font-size 8 \\
        --rename digits=Digits,blobs=Spots
      anynet-study plot errors.csv --format pdf -o figures --source ImageNet \\
        --family ImageNet=1000,ImageNet-10=10 --targets Cifar10=10,Powerline=2
    """
    from anynet_study.analysis.analyses import chosen_names
    from anynet_study.analysis.plots import Look, length, new_names
    from anynet_study.analysis.plots.saving import check_formats
    from anynet_study.analysis.report import draw_figures

    suffixes = formats.replace(" ", "").split(",")
    check_formats(suffixes)
    inches = length("--width", width)
    current([source], as_is)
    study = options.load(source)
    figures = [known for analysis in study.analyses.values() for known in analysis.figures]
    names = chosen_names("--figure", figure, figures)
    called = new_names("--rename", rename or [], list(map(str, study.errors.columns)))
    look = Look(inches, font_size, called, style)
    drawn = draw_figures(study, output, names, suffixes, dpi, look)
    for made in drawn:
        print(*made.files.values(), sep="\n", end="\n" if made.files else "")
    if study.weights is not None:
        typer.echo("note: correlations in the figures are weighted, the points are not", err=True)
    skipped = [made for made in drawn if made.left_out]
    lines = [f"no figure {made.name}: {made.left_out}" for made in skipped]
    if len(skipped) == len(drawn):
        raise UserError(f"{study.name}: {lines[0]}")
    if skipped and figure == "all":
        count = counted(len(skipped), "other figure")
        lines = [f"left out for what the results have not: {count}; --figure NAME says why"]
    for line in lines:
        typer.echo(harmless(line), err=True)
