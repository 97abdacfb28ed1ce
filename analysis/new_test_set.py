"""Paper 2, Figure 1 and Table 1: do models keep their accuracy and their order on a new test set?

    python analysis/new_test_set.py accuracies.csv val v2 --accuracy --images val=50000,v2=10000
    python analysis/new_test_set.py studies/paper test cifar10.1 --dataset cifar10

The fitted line (100,000 resamples) with its region, and every model's gap and change of rank.
"""

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from anynet_study import apr, plots
from anynet_study.apr.fits import Scale
from anynet_study.cli.analysis_text import print_table
from anynet_study.cli.inputs import Accuracy, Source
from anynet_study.cli.script import script
from anynet_study.cli.test_sets import DatasetName, Images, image_counts, read_test_sets


def new_test_set(
    source: Source,
    original: str,
    new: str,
    output: Annotated[Path, typer.Option("-o", "--output")] = Path("figures"),
    scale: Scale = "linear",
    images: Images = None,
    dataset: DatasetName = "",
    accuracy: Accuracy = False,
) -> None:
    """Draw new_test_set and gaps, as PNG and PDF, and print the gaps."""
    accuracies = 100 - read_test_sets(source, dataset, accuracy)
    counts = image_counts(images)
    table = apr.gaps(accuracies, original, new, counts)
    fit = apr.linear_fit(accuracies[original], accuracies[new], scale, resamples=100_000)
    figure = plots.fit_grid(accuracies, original, [new], {new: fit}, counts)
    print_table(Console(), f"From {original} to {new}", table)
    print(*plots.save(figure, output / "new_test_set"), sep="\n")
    print(*plots.save(plots.gap_chart(table, original, new), output / "gaps"), sep="\n")


if __name__ == "__main__":
    script(new_test_set)
