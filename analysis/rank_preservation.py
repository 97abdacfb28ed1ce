"""Paper 4, Figures 1a, 8a and 9: is the ranking the same on every dataset, up to error bars?

    python analysis/rank_preservation.py studies/quickstart

Error bars are from replicates; architectures whose bars overlap are tied.
"""

from anynet_study import apr, plots
from anynet_study.analyses.arguments import Output
from anynet_study.analyses.script import FOLDER, save, script, show, source_or_first
from anynet_study.study import Study


def rank_preservation(study: Study, output: Output = FOLDER) -> None:
    """Draw rank_preservation.png and .pdf, and print how every dataset ranks."""
    intervals = apr.replicate_intervals(study.replicates, study.options.level)
    name = source_or_first(study)
    show(f"Rankings against that on {name}", apr.rank_preservation(intervals, name))
    ranks = apr.tied_ranks(intervals)
    save(plots.rank_preservation_chart(ranks), output / "rank_preservation", ranks)


if __name__ == "__main__":
    script(rank_preservation)
