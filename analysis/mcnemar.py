"""Which architectures do a dataset's test images tell apart?

    python analysis/mcnemar.py studies/paper cifar10 --top 10

McNemar's test of every pair of the best, on the images that one of the two alone gets right.
"""

from typing import Annotated

import typer

from anynet_study import apr
from anynet_study.analysis.analyses.script import check_datasets, script, show
from anynet_study.analysis.study import Study


def mcnemar(
    study: Study, dataset: str, top: Annotated[int, typer.Option(help="So many of the best.")] = 10
) -> None:
    """Compare the best architectures on a dataset pair by pair."""
    check_datasets(study, [dataset])
    right = study.predicted(dataset, "test", study.best(dataset, top)).correct()
    show(f"McNemar's test on {dataset}", apr.mcnemar(right))


if __name__ == "__main__":
    script(mcnemar)
