"""Paper 2, Figure 1 and Table 1: do models keep their accuracy and their order on a new test set?

    python analysis/new_test_set.py accuracies.csv val v2 --accuracy --images val=50000,v2=10000
    python analysis/new_test_set.py studies/paper test cifar10.1 --dataset cifar10

The fitted line (100,000 resamples) with its region, and every model's gap and change of rank.
"""

from anynet_study import apr, plots
from anynet_study.analyses.arguments import Output
from anynet_study.analyses.script import (
    FOLDER,
    DatasetName,
    errors_on_test_sets,
    save,
    script,
    show,
)
from anynet_study.apr.fits import Scale
from anynet_study.study import Study


def new_test_set(
    study: Study,
    original: str,
    new: str,
    scale: Scale = "linear",
    dataset: DatasetName = "",
    output: Output = FOLDER,
) -> None:
    """Draw new_test_set and gaps, as PNG and PDF, and print the gaps."""
    errors, counts = errors_on_test_sets(study, dataset)
    accuracies = 100 - errors
    table = apr.gaps(accuracies, original, new, counts, **study.options.intervals)
    fit = apr.linear_fit(accuracies[original], accuracies[new], scale, resamples=100_000)
    show(f"From {original} to {new}", table)
    figure = plots.fit_grid(accuracies, original, [new], {new: fit}, counts)
    save(figure, output / "new_test_set", plots.fit_data(accuracies, original, [new], counts))
    save(plots.gap_chart(table, original, new), output / "gaps", table)


if __name__ == "__main__":
    script(new_test_set)
