"""Paper 1, section 6.1.3: how much of the variability is training noise, and what does it cost?

    python analysis/noise_ceiling.py studies/quickstart

First the variance components of every dataset with replicates and the ceiling that noise puts on
its correlations, then the correlations between those datasets with the noise taken out.
"""

from rich.console import Console

from anynet_study import apr
from anynet_study.cli.analysis_text import number, print_table
from anynet_study.cli.inputs import Source, read_errors
from anynet_study.cli.script import script
from anynet_study.errors import UserError


def noise_ceiling(source: Source) -> None:
    """Estimate training noise from replicates and correct correlations for it."""
    read = read_errors(source)
    if read.replicates is None:
        raise UserError(f"{source}: replicates are only in a results store")
    noise = apr.noise_ceiling(read.replicates)
    print_table(Console(), "noise", noise)
    pairs = apr.corrected_correlations(read.replicates)
    print("\ncorrelations of single runs -> without noise, with 95% intervals")
    for row in pairs.itertuples():
        ends = f"[{number(row.corrected_low)}, {number(row.corrected_high)}]"
        corrected = f"{number(row.corrected)} {ends}"
        print(f"{row.source}, {row.target}: {number(row.estimate)} -> {corrected}")


if __name__ == "__main__":
    script(noise_ceiling)
