"""Paper 4, Figures 1a, 8a and 9: is the ranking the same on every dataset, up to error bars?

    python analysis/rank_preservation.py studies/quickstart

Error bars are from replicates; architectures whose bars overlap are tied.
"""

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from anynet_study import apr, plots
from anynet_study.cli.analysis_text import print_table
from anynet_study.cli.inputs import Source, SourceName, read_errors
from anynet_study.cli.script import script
from anynet_study.errors import UserError


def rank_preservation(
    source: Source,
    source_name: SourceName = "",
    output: Annotated[Path, typer.Option("-o", "--output")] = Path("figures"),
) -> None:
    """Draw rank_preservation.png and .pdf, and print how every dataset ranks."""
    read = read_errors(source)
    if read.replicates is None:
        raise UserError(f"{source}: replicates are only in a results store")
    intervals = apr.replicate_intervals(read.replicates)
    known = read.roles.source if read.roles else str(read.errors.columns[0])
    name = source_name or known
    table = apr.rank_preservation(intervals, name)
    print_table(Console(), f"Rankings against that on {name}", table)
    figure = plots.rank_preservation_chart(apr.tied_ranks(intervals))
    print(*plots.save(figure, output / "rank_preservation"), sep="\n")


if __name__ == "__main__":
    script(rank_preservation)
