"""`anynet-study analyze`: the tables of a study or of a table of errors."""

from pathlib import Path
from typing import Annotated

import typer

from anynet_study.cli.analysis_summary import print_summary
from anynet_study.cli.inputs import (
    Accuracy,
    Family,
    Fraction,
    Metric,
    Recipe,
    Replicates,
    Resamples,
    Seed,
    Source,
    SourceName,
    Targets,
)

__all__ = ["analyze", "print_summary"]


def analyze(
    source: Source,
    table: Annotated[
        str,
        typer.Option(
            help="correlations, match, proxies, regret, costs, sizes, widths, drivers, stages, "
            "importance, configurations, bins, noise, corrected, ties, duration, budget, recipes, "
            "source-by-recipe, metrics, balance, class-or-size, training-drivers, transfer, "
            "beyond, others, improvement, shifts, shift-agreement, gaps, sampling-gaps, "
            "shift-ranks, robustness, effective-robustness, significance, order-changes, "
            "rank-changes, label-sets; several with commas; or all that apply."
        ),
    ] = "all",
    method: Annotated[str, typer.Option(help="spearman, pearson or kendall.")] = "spearman",
    resamples: Resamples = 10_000,
    seed: Seed = 0,
    level: Annotated[float, typer.Option(help="Level of the intervals.")] = 0.95,
    layout: Annotated[
        str, typer.Option("--format", help="text (default), csv, json or latex.")
    ] = "",
    as_json: Annotated[bool, typer.Option("--json", help="Same as --format json.")] = False,
    output: Annotated[
        Path | None,
        typer.Option(
            "-o",
            "--output",
            help="A folder for a file a table; or a .txt, .csv, .json or .tex file.",
        ),
    ] = None,
    unweighted: Annotated[
        bool,
        typer.Option(
            "--unweighted", help="Ignore the weights of a sample drawn with unequal probability."
        ),
    ] = False,
    recipe: Recipe = None,
    metric: Metric = None,
    replicates: Replicates = None,
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
    from anynet_study.cli.analysis_files import choose_layout, formatted, write_tables
    from anynet_study.cli.analysis_summary import as_json as whole
    from anynet_study.cli.analysis_summary import print_analysis
    from anynet_study.cli.analysis_tables import analyse_input, table_names
    from anynet_study.cli.inputs import parse_choice, parse_roles, read_errors
    from anynet_study.files import write_text
    from anynet_study.report import Options

    names = table_names(table)
    layout = choose_layout("json" if as_json else layout, output, len(names))
    choice = parse_choice(recipe, metric, replicates)
    roles = parse_roles(source_name, family or [], targets or [])
    read = read_errors(source, roles, accuracy, fraction, choice)
    read = read.unweighted() if unweighted else read
    options = Options(method, resamples, seed, level)  # type: ignore[arg-type]
    analysis = analyse_input(read, names, options)
    if output is not None and not output.suffix:
        write_tables(analysis, layout, output)
    elif layout == "text" and output is None:
        print_analysis(read, analysis, whole=table != "all")
    else:
        all_of_it = layout == "json" and (output is None or len(names) > 1)
        texts = [
            formatted(analysis, name, layout) for name in ([] if all_of_it else analysis.found)
        ]
        text = whole(read, analysis) + "\n" if all_of_it else "\n".join(texts)
        if output is None:
            print(text, end="")
        else:
            write_text(output, text)
            print(output)
