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
    if read.store is None or read.replicates is None:
        raise UserError(f"{source}: replicates are only in a results store")
    noise = apr.noise_ceiling(read.replicates)
    print_table(Console(), "noise", noise)
    single = read.store.errors(replicates="first")  # the ICC is that of a single run
    pairs = apr.disattenuate(
        apr.correlations(single), dict(zip(noise.dataset, noise.icc, strict=True))
    )
    print("\ncorrelations of single runs -> without noise")
    for row in pairs.dropna(subset="corrected").itertuples():
        print(f"{row.source}, {row.target}: {number(row.estimate)} -> {number(row.corrected)}")


if __name__ == "__main__":
    script(noise_ceiling)
