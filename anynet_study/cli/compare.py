"""`anynet-study compare`: error distributions of design spaces, side by side."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from anynet_study.analyses.arguments import StudyOptions, with_study_options
from anynet_study.cli.figure_file import check_figure
from anynet_study.errors import UserError

if TYPE_CHECKING:
    import pandas as pd

    from anynet_study.cli.compare_sources import Spaces
    from anynet_study.cli.compare_tables import Bootstrap, Comparison

TABLES = ("summary", "pairs", "edf", "search", "ranges")
COMPLEXITIES = ("flops", "parameters", "activations")


@with_study_options
def compare(
    sources: Annotated[
        list[str],
        typer.Argument(
            metavar="[NAME=]INPUT...",
            help="Studies, results.h5, or CSV/Parquet of errors in percent; a design space each.",
        ),
    ],
    dataset: Annotated[
        str, typer.Option(help="Errors on this dataset; default: the source, or the only one.")
    ] = "",
    by: Annotated[
        str,
        typer.Option(
            metavar="COLUMN", help="Split one input by block, stem, d4, 'cumulative depth', ..."
        ),
    ] = "",
    group: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME=PATTERN", help="Take of one input the models named so."),
    ] = None,
    weigh: Annotated[
        str,
        typer.Option(
            metavar="COMPLEXITY",
            help="Compare at equal flops, parameters or activations.",
        ),
    ] = "",
    parts: Annotated[
        int, typer.Option(min=2, max=100, help="Groups that --by makes of a number.")
    ] = 4,
    bins: Annotated[
        int, typer.Option(min=1, max=1000, help="Bins of complexity that --weigh makes equal.")
    ] = 10,
    figure: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Draw the EDFs: .png, .pdf or .svg.")
    ] = None,
    search_figure: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Draw the best of m random models.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print all tables as JSON.")] = False,
    csv: Annotated[
        str, typer.Option(metavar="TABLE", help=f"Print one table as CSV: {', '.join(TABLES)}.")
    ] = "",
    *,
    options: StudyOptions,
) -> None:
    """Compare design spaces by the errors of all their models.

    The error distribution function (EDF) says which fraction of a space's models errs at most so
    much. One input alone shows its EDF, and which depths and widths its best models have.

    \b
    Examples:
      anynet-study compare quickstart --figure edf.png
      anynet-study compare quickstart --by "cumulative depth" --parts 2
      anynet-study compare X=regnetx Y=regnety --dataset cifar10 --weigh flops
      anynet-study compare errors.csv --group "ResNet=resnet*" --group "VGG=vgg*"
    """
    from anynet_study.cli.compare_groups import split_by, split_by_name
    from anynet_study.cli.compare_sources import read_spaces
    from anynet_study.cli.compare_sources import weigh as weighed
    from anynet_study.cli.compare_tables import Bootstrap, draw, make_comparison

    _check(sources, by, group, weigh, csv, as_json)
    check_figure("--figure", figure)
    check_figure("--search-figure", search_figure)
    spaces = read_spaces(sources, dataset, options)
    if by:
        spaces = split_by(spaces, by, parts)
    if group:
        spaces = split_by_name(spaces, group)
    spaces = weighed(spaces, weigh, bins)
    how = Bootstrap(options.resamples, options.seed, options.level)
    level = options.level
    made = make_comparison(spaces, how)
    if csv and getattr(made, csv).empty:
        lacking = "two design spaces" if csv == "pairs" else "numbers that describe the models"
        raise UserError(f"--csv {csv}: needs {lacking}")
    for kind, path in (("edf", figure), ("search", search_figure)):
        if path is not None:
            draw(spaces, made, level, kind, path)
            typer.echo(path, err=True)
    if csv:
        print(getattr(made, csv).to_csv(index=False), end="")
    elif as_json:
        print(_json(spaces, made, how, weigh))
    else:
        _print(spaces, made, how, weigh)


def _check(
    sources: list[str], by: str, group: list[str] | None, weigh: str, csv: str, as_json: bool
) -> None:
    if (by or group) and len(sources) > 1:
        raise UserError(f"{'--by' if by else '--group'} splits one input; there are {len(sources)}")
    if by and group:
        raise UserError("--by and --group are two ways to split an input; give one of them")
    if weigh not in ("", *COMPLEXITIES):
        raise UserError(f"--weigh: no {weigh!r}; legal: {', '.join(COMPLEXITIES)}")
    if csv not in ("", *TABLES):
        raise UserError(f"--csv: no table {csv!r}; legal: {', '.join(TABLES)}")
    if csv and as_json:
        raise UserError("--csv and --json: give one of them")


def _print(spaces: "Spaces", made: "Comparison", how: "Bootstrap", weigh: str) -> None:
    from rich.console import Console

    from anynet_study.cli import compare_text as text

    console = Console()
    for line in _heading(spaces, how, weigh):
        console.print(line, highlight=False, markup=False)
    text.print_summary_table(console, made.summary, spaces.weights is not None)
    if len(made.pairs):
        text.print_pairs(console, made.pairs)
    text.print_search(console, made.search)
    if len(made.summary) == 1 and len(made.ranges):
        text.print_ranges(console, made.ranges, next(iter(spaces.models.values())))
    for line in _notes(spaces, made):
        console.print(f"\n{line}", highlight=False, markup=False, end="")
    if _notes(spaces, made):
        console.print()


def _heading(spaces: "Spaces", how: "Bootstrap", weigh: str) -> list[str]:
    from anynet_study.plots.wording import metric_name

    on = f" on {spaces.dataset}" if spaces.dataset else ""
    count = len(spaces.errors)
    return [
        f"{metric_name(spaces.metric)}errors{on}: {count} design space{'s' * (count != 1)}"
        + (f", at equal {weigh}" if weigh else ""),
        f"{100 * how.level:g}% intervals from {how.resamples:,} resamples (seed {how.seed})",
    ]


def _notes(spaces: "Spaces", made: "Comparison") -> list[str]:
    """What the tables leave out, or do not say."""
    notes = list(spaces.notes)
    for row in made.summary.to_dict("records"):
        outside = len(spaces.errors[row["space"]]) - row["n"] - row["missing"]
        if outside:
            notes.append(
                f"{row['space']}: {outside} of its models weigh nothing, without a counterpart in "
                "another space"
            )
    return notes


def _json(spaces: "Spaces", made: "Comparison", how: "Bootstrap", weigh: str) -> str:
    tables = {name: _records(getattr(made, name)) for name in TABLES}
    told = {"dataset": spaces.dataset, "metric": spaces.metric, "weigh": weigh, **vars(how)}
    return json.dumps({**told, "notes": _notes(spaces, made), **tables}, indent=2)


def _records(table: "pd.DataFrame") -> list[dict[str, object]]:
    """Rows as JSON objects; null where a value is undefined."""
    values = table.astype(object)
    records: list[dict[str, object]] = values.where(table.notna(), None).to_dict("records")
    return records
