"""The tables of an analysis, and the summary that ends a study."""

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

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

if TYPE_CHECKING:
    import pandas as pd
    from rich.console import Console

    from anynet_study.apr import Roles
    from anynet_study.cli.analysis_tables import Analysis, Options
    from anynet_study.cli.inputs import ErrorsInput

#: Pairs of datasets up to which all tables together list them.
MANY_PAIRS = 45

SUFFIXES = {"text": "txt", "csv": "csv", "json": "json", "latex": "tex"}


def analyze(
    source: Source,
    table: Annotated[
        str,
        typer.Option(
            help="correlations, match, proxies, drivers, configurations, noise, or all that apply."
        ),
    ] = "all",
    method: Annotated[str, typer.Option(help="spearman, pearson or kendall.")] = "spearman",
    resamples: Resamples = 10_000,
    seed: Seed = 0,
    level: Annotated[float, typer.Option(help="Level of the intervals.")] = 0.95,
    layout: Annotated[str, typer.Option("--format", help="text, csv, json or latex.")] = "text",
    as_json: Annotated[bool, typer.Option("--json", help="Same as --format json.")] = False,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="Write a file a table to this folder.")
    ] = None,
    unweighted: Annotated[
        bool,
        typer.Option(
            "--unweighted", help="Ignore the weights of a sample drawn with unequal probability."
        ),
    ] = False,
    source_name: SourceName = "",
    family: Family = None,
    targets: Targets = None,
    accuracy: Accuracy = False,
    fraction: Fraction = False,
) -> None:
    """Say how far the ranking on one dataset holds on the others.

    All statistics come with bootstrap intervals.

    \b
    Examples:
      anynet-study analyze quickstart
      anynet-study analyze errors.csv --table match --source ImageNet \\
        --family ImageNet=1000,ImageNet-10=10 --targets Cifar10=10,Powerline=2
    """
    from anynet_study.cli.analysis_tables import Options, analyse
    from anynet_study.cli.inputs import parse_roles, read_errors

    layout = "json" if as_json else layout
    if layout not in SUFFIXES:
        raise UserError(f"--format: no {layout!r}; legal: {', '.join(SUFFIXES)}")
    if table == "all" and layout in ("csv", "latex") and output is None:
        raise UserError(f"--format {layout} of all tables needs --output FOLDER, or one --table")
    roles = parse_roles(source_name, family or [], targets or [])
    read = read_errors(source, roles, accuracy, fraction)
    read = read.unweighted() if unweighted else read
    options = Options(method, resamples, seed, level)  # type: ignore[arg-type]
    analysis = analyse(read, table, options)
    if output is not None:
        _write(analysis, layout, output)
    elif layout == "json":
        print(_json(read, analysis, options))
    elif layout == "text":
        _print_text(read, analysis, options, list_pairs=table != "all")
    else:
        print(_formatted(table, analysis.tables[table], layout), end="")


def print_summary(
    errors: "pd.DataFrame",
    roles: "Roles",
    resamples: int = 10_000,
    seed: int = 0,
    level: float = 0.95,
    weights: "pd.Series[float] | None" = None,
) -> None:
    """Print the correlation matrix, and the best proxy of each target with how sure it is.

    `weights` by architecture, where they were not drawn with equal probability.
    """
    from rich.console import Console

    from anynet_study import apr
    from anynet_study.cli.analysis_tables import Options, exclusions
    from anynet_study.cli.analysis_text import print_matrix, print_table
    from anynet_study.cli.inputs import ErrorsInput

    options = Options("spearman", resamples, seed, level)
    console = Console()
    console.print(_heading("", errors, options, weights), highlight=False, markup=False)
    print_matrix(console, apr.correlations(errors, **vars(options), weights=weights))
    proxies = apr.best_proxies(errors, roles, **vars(options), weights=weights)
    best = proxies.groupby("target", sort=False).head(1)
    print_table(console, "proxies", best)
    _print_exclusions(console, exclusions(ErrorsInput("", errors)))


def _print_text(
    read: "ErrorsInput", analysis: "Analysis", options: "Options", list_pairs: bool
) -> None:
    from rich.console import Console

    from anynet_study.cli.analysis_tables import exclusions
    from anynet_study.cli.analysis_text import print_heading, print_matrix, print_table

    console = Console()
    heading = _heading(f"{read.name}: ", read.errors, options, read.weights)
    console.print(heading, highlight=False, markup=False)
    for name, table in analysis.tables.items():
        if name == "correlations" and len(table) > MANY_PAIRS and not list_pairs:
            print_heading(console, name)
            print_matrix(console, table)
            console.print(f"intervals of the {len(table)} pairs: --table correlations")
        else:
            print_table(console, name, table)
    for name, reason in analysis.skipped.items():
        console.print(f"\nno table {name}: {reason}", highlight=False, markup=False)
    _print_exclusions(console, exclusions(read))


def _heading(
    name: str, errors: "pd.DataFrame", options: "Options", weights: "pd.Series[float] | None"
) -> str:
    lines = [
        f"{name}{len(errors)} architectures x {len(errors.columns)} datasets",
        f"{options.method.capitalize()}, {100 * options.level:g}% intervals from "
        f"{options.resamples:,} resamples (seed {options.seed})",
    ]
    effective = _effective(errors, weights)
    if effective is not None:
        lines.append(
            "correlations weighted, as the sample was drawn with unequal probability:\n"
            f"{len(errors)} architectures say as much as {effective:.1f} of equal weight (eff.)"
        )
    return "\n".join(lines)


def _effective(errors: "pd.DataFrame", weights: "pd.Series[float] | None") -> float | None:
    """Kish's effective number of architectures; None without weights."""
    from anynet_study.apr import effective_size
    from anynet_study.apr.weights import aligned_weights

    aligned = aligned_weights(weights, errors)
    return None if aligned is None else effective_size(aligned)


def _print_exclusions(console: "Console", lines: list[str]) -> None:
    if lines:
        console.print("\nleft out:", highlight=False)
        for line in lines:
            console.print(f"  {line}", highlight=False, markup=False)


def _json(read: "ErrorsInput", analysis: "Analysis", options: "Options") -> str:
    from anynet_study.cli.analysis_tables import exclusions

    tables = {name: _records(table) for name, table in analysis.tables.items()}
    return json.dumps(
        {
            "input": read.name,
            "architectures": len(read.errors),
            "datasets": list(read.errors.columns),
            "effective_architectures": _effective(read.errors, read.weights),
            **vars(options),
            "tables": tables,
            "not_made": analysis.skipped,
            "left_out": exclusions(read),
        },
        indent=2,
    )


def _records(table: "pd.DataFrame") -> list[dict[str, object]]:
    """Rows as JSON objects; null where a value is undefined."""
    values = table.astype(object)
    records: list[dict[str, object]] = values.where(table.notna(), None).to_dict("records")
    return records


def _write(analysis: "Analysis", layout: str, folder: Path) -> None:
    from anynet_study.files import write_text

    for name, table in analysis.tables.items():
        path = folder / f"{name}.{SUFFIXES[layout]}"
        write_text(path, _formatted(name, table, layout))
        print(path)


def _formatted(name: str, table: "pd.DataFrame", layout: str) -> str:
    from anynet_study.cli.analysis_text import display

    if layout == "csv":
        return str(table.to_csv(index=False))
    if layout == "json":
        return json.dumps(_records(table), indent=2) + "\n"
    if layout == "latex":
        text = str(display(name, table).to_latex(index=False, escape=True))
        return re.sub(r"(?<!\w)-(?=\d)", "$-$", text)
    return str(display(name, table).to_string(index=False)) + "\n"
