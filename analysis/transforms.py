"""Paper 4, Appendix B.2: do rankings hold under test-time transforms of the images?

    python analysis/transforms.py studies/paper --dataset cifar10
    python analysis/transforms.py accuracies.csv --accuracy

A column a transform, the first being the images as they are.
"""

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from anynet_study import apr, plots
from anynet_study.cli.analysis_text import print_table
from anynet_study.cli.inputs import Accuracy, Source
from anynet_study.cli.script import script
from anynet_study.cli.test_sets import DatasetName, read_test_sets


def transforms(
    source: Source,
    dataset: DatasetName = "",
    output: Annotated[Path, typer.Option("-o", "--output")] = Path("figures"),
    accuracy: Accuracy = False,
) -> None:
    """Draw transforms.png and transforms.pdf, and print how far the transforms agree."""
    errors = read_test_sets(source, dataset, accuracy)
    agreement = apr.transform_agreement(errors)
    print_table(Console(), f"Spearman's rho with {errors.columns[0]}", agreement)
    figure = plots.shift_rank_chart(apr.transform_ranks(errors))
    print(*plots.save(figure, output / "transforms"), sep="\n")


if __name__ == "__main__":
    script(transforms)
