"""`anynet-study compare`: error distributions of design spaces, side by side."""

import json
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from anynet_study.analysis.analyses.arguments import (
    StudyOptions,
    check_figure,
    parse_pairs,
    save_figure,
    with_study_options,
)
from anynet_study.cli.options import AsIs, current, opt
from anynet_study.core.errors import UserError

if TYPE_CHECKING:
    from anynet_study.analysis.analyses.design_spaces import Spaces

TABLES = ("summary", "pairs", "shared", "edf", "search", "ranges")


#: Of options about which models are in a space, and which count how much.
grouping = partial(opt, rich_help_panel="Which models are compared")
#: Of figures as files.
drawing = partial(opt, rich_help_panel="Figures")


@with_study_options
def compare(
    sources: Annotated[
        list[str],
        typer.Argument(
            metavar="[NAME=]INPUT...",
            help="Studies, results.h5, or CSV/Parquet of errors in percent; one design space each.",
        ),
    ],
    dataset: Annotated[
        str, opt("Errors on this dataset; default: the source, or the only one.")
    ] = "",
    by: Annotated[
        str,
        grouping("Split one input by block, stem, d4, 'cumulative depth', ...", metavar="COLUMN"),
    ] = "",
    group: Annotated[
        list[str] | None,
        grouping(
            "A group of models of one input, by patterns of their names.", metavar="NAME=PATTERN"
        ),
    ] = None,
    read: Annotated[
        list[str] | None,
        opt("One input alone: A=accuracy, error, fraction or percent.", metavar="NAME=HOW"),
    ] = None,
    weigh: Annotated[
        str, grouping("Compare at equal flops, parameters or activations.", metavar="COMPLEXITY")
    ] = "",
    parts: Annotated[int, grouping("Groups for --by of a numeric column.", min=2, max=100)] = 4,
    bins: Annotated[
        int, grouping("Bins of complexity that --weigh makes equal.", min=1, max=1000)
    ] = 10,
    figure: Annotated[
        Path | None, drawing("Draw the EDFs: .png, .pdf or .svg.", metavar="FILE")
    ] = None,
    search_figure: Annotated[
        Path | None, drawing("Draw the best of m random models.", metavar="FILE")
    ] = None,
    as_json: Annotated[bool, opt("Print all tables as JSON.", "--json")] = False,
    csv: Annotated[str, opt(f"Print one table as CSV: {', '.join(TABLES)}.", metavar="TABLE")] = "",
    as_is: AsIs = False,
    *,
    options: StudyOptions,
) -> None:
    """Compare design spaces by the errors of all their models.

    The error distribution function (EDF) says which fraction of a space's models has at most a
    given error. One input alone shows its EDF, and which depths and widths its best models have.
    To set two studies beside each other dataset by dataset: anynet-study report A --beside B.

    \b
    Examples:
      anynet-study compare quickstart --figure edf.png
      anynet-study compare quickstart --by "cumulative depth" --parts 2
      anynet-study compare X=regnetx Y=regnety --dataset cifar10 --weigh flops
      anynet-study compare A=accuracies.csv B=errors.csv --read A=accuracy --read B=error
      anynet-study compare errors.csv --group "ResNet=resnet*" --group "VGG=vgg*"
    """
    from anynet_study.analysis.analyses import design_spaces

    _check(sources, by, group, weigh, csv, as_json)
    check_figure("--figure", figure)
    check_figure("--search-figure", search_figure)
    current([source.rpartition("=")[2] for source in sources], as_is)
    spaces = design_spaces.read_spaces(sources, dataset, options, _own(read or []))
    if by:
        spaces = design_spaces.split_by(spaces, by, parts)
    if group:
        spaces = design_spaces.split_by_name(spaces, group)
    spaces = design_spaces.weigh(spaces, weigh, bins)
    found = spaces.make(TABLES)
    if csv in spaces.left_out:
        raise UserError(f"--csv {csv}: {spaces.left_out[csv]}")
    for name, path in (("edf", figure), ("search", search_figure)):
        if path is not None:
            save_figure(spaces.figure(name), path)
            typer.echo(path, err=True)
    if csv:
        from anynet_study.core.sheets import csv_text

        print(csv_text(found[csv]), end="")
    elif as_json:
        print(_json(spaces, weigh))
    else:
        _print(spaces, weigh)


#: How one input is read: what --read calls it, and the option with its value.
READ = {
    "accuracy": {"accuracy": True},
    "error": {"accuracy": False},
    "fraction": {"fraction": True},
    "percent": {"fraction": False},
}


def _own(values: list[str]) -> dict[str, dict[str, bool]]:
    """Tell how single inputs are read, by name."""
    found: dict[str, dict[str, bool]] = {}
    for name, how in parse_pairs("--read", values, "NAME=HOW, such as A=accuracy"):
        if how not in READ:
            raise UserError(f"--read: {how!r}; legal: {', '.join(READ)}")
        found.setdefault(name, {}).update(READ[how])
    return found


def _check(
    sources: list[str], by: str, group: list[str] | None, weigh: str, csv: str, as_json: bool
) -> None:
    from anynet_study.analysis.analyses.design_spaces import COMPLEXITIES

    if (by or group) and len(sources) > 1:
        raise UserError(f"{'--by' if by else '--group'} splits one input; there are {len(sources)}")
    if by and group:
        raise UserError("--by and --group are two ways to split an input; give one of them")
    if weigh not in ("", *COMPLEXITIES):
        raise UserError(f"--weigh: unknown {weigh!r}; choose from {', '.join(COMPLEXITIES)}")
    if csv not in ("", *TABLES):
        raise UserError(f"--csv: unknown table {csv!r}; choose from {', '.join(TABLES)}")
    if csv and as_json:
        raise UserError("--csv and --json: give one of them")


def _print(spaces: "Spaces", weigh: str) -> None:
    from anynet_study.analysis.plots.wording import metric_name
    from anynet_study.cli.analysis_output import print_analysis
    from anynet_study.cli.terminal import Terminal

    console = Terminal()
    on = f" on {spaces.dataset}" if spaces.dataset else ""
    count, options = len(spaces.errors), spaces.options
    console.print(
        f"{metric_name(spaces.metric)}errors{on}: {count} design space{'s' * (count != 1)}"
        + (f", at equal {weigh}" if weigh else "")
        + f"\n{100 * options.level:g}% intervals from {options.resamples:,} resamples "
        f"(seed {options.seed}){options.part}"
    )
    for name, table in spaces.tables.items():
        if name != "edf" and (name != "ranges" or count == 1):
            analysis = spaces.analysis(name)
            if len(analysis.arrange(table)):
                print_analysis(console, analysis, table)
    if spaces.all_notes:
        console.print("\n" + "\n".join(spaces.all_notes))


def _json(spaces: "Spaces", weigh: str) -> str:
    from anynet_study.cli.analysis_output import records

    tables = {
        name: records(spaces.tables[name]) if name in spaces.tables else [] for name in TABLES
    }
    how = {name: getattr(spaces.options, name) for name in ("resamples", "seed", "level")}
    told = {"dataset": spaces.dataset, "metric": spaces.metric, "weigh": weigh, **how}
    return json.dumps({**told, "notes": spaces.all_notes, **tables}, indent=2)
