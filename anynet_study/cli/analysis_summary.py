"""What is said before and after the tables of an analysis; and the summary that ends a study."""

import json
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd
    from rich.console import Console

    from anynet_study.apr import Roles
    from anynet_study.cli.inputs import ErrorsInput
    from anynet_study.report import Analysis, Options

#: Rows of a table that all tables together still show.
MANY_ROWS = 45


def print_analysis(read: "ErrorsInput", analysis: "Analysis", whole: bool) -> None:
    """Print every table, why there are no others, and what they leave out.

    Unless they are to be shown `whole`, long tables are only said to be there.
    """
    from rich.console import Console

    from anynet_study.cli.analysis_tables import exclusions, with_remedy
    from anynet_study.cli.analysis_text import print_heading, print_matrix, print_table

    console = Console()
    heading = _heading(f"{read.name}: ", read.errors, analysis.options, read.weights)
    console.print(heading, highlight=False, markup=False)
    for name, table in analysis.found.items():
        if len(table) > MANY_ROWS and not whole and name != "configurations":
            print_heading(console, name)
            if name == "correlations":
                print_matrix(console, table)
            console.print(f"{len(table)} rows: --table {name}", highlight=False)
        else:
            print_table(console, name, table)
    for name, reason in analysis.left_out.items():
        line = f"\nno table {name}: {with_remedy(reason)}"
        console.print(line, highlight=False, markup=False)
    _print_exclusions(console, exclusions(read))


def as_json(read: "ErrorsInput", analysis: "Analysis") -> str:
    """The same as one JSON object."""
    from anynet_study.cli.analysis_files import records
    from anynet_study.cli.analysis_tables import exclusions, with_remedy

    return json.dumps(
        {
            "input": read.name,
            "architectures": len(read.errors),
            "datasets": list(read.errors.columns),
            "effective_architectures": _effective(read.errors, read.weights),
            **vars(analysis.options),
            "tables": {name: records(table) for name, table in analysis.found.items()},
            "not_made": {name: with_remedy(why) for name, why in analysis.left_out.items()},
            "left_out": exclusions(read),
        },
        indent=2,
    )


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
    from anynet_study.cli.analysis_tables import exclusions
    from anynet_study.cli.analysis_text import print_matrix, print_table
    from anynet_study.cli.inputs import ErrorsInput
    from anynet_study.report import Options
    from anynet_study.report.analyses.kind import correlating

    options = Options("spearman", resamples, seed, level)
    console = Console()
    console.print(_heading("", errors, options, weights), highlight=False, markup=False)
    how = {**correlating(options), "weights": weights}
    print_matrix(console, apr.correlations(errors, **how))
    proxies = apr.best_proxies(errors, roles, **how)
    best = proxies.groupby("target", sort=False).head(1)
    print_table(console, "proxies", best)
    _print_exclusions(console, exclusions(ErrorsInput("", errors)))


def _heading(
    name: str, errors: "pd.DataFrame", options: "Options", weights: "pd.Series[float] | None"
) -> str:
    from anynet_study.cli.analysis_files import method_in_words

    lines = [
        f"{name}{len(errors)} architectures x {len(errors.columns)} datasets",
        method_in_words(options),
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
    from anynet_study.apr.population import aligned_weights

    aligned = aligned_weights(weights, errors)
    return None if aligned is None else effective_size(aligned)


def _print_exclusions(console: "Console", lines: list[str]) -> None:
    if lines:
        console.print("\nleft out:", highlight=False)
        for line in lines:
            console.print(f"  {line}", highlight=False, markup=False)
