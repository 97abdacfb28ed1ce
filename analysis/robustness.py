"""Paper 5, section 3: average and effective robustness, and the effective robustness ratio.

    python analysis/robustness.py accuracies.csv --accuracy --base val --baseline resnet18,vgg11,...
    python analysis/robustness.py studies/paper --dataset ImageNet

A column a test set; all but the base are shifts. Effective robustness is accuracy beyond the trend
of the baseline models (by default all).
"""

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from anynet_study import apr, plots
from anynet_study.cli.analysis_text import print_table
from anynet_study.cli.inputs import Accuracy, Source
from anynet_study.cli.script import script
from anynet_study.cli.test_sets import DatasetName, Images, image_counts, read_test_sets


def robustness(
    source: Source,
    base: Annotated[str, typer.Option(help="The test set without a shift.")] = "test",
    baseline: Annotated[str, typer.Option(help="Architectures, with commas.")] = "",
    dataset: DatasetName = "",
    output: Annotated[Path, typer.Option("-o", "--output")] = Path("figures"),
    images: Images = None,
    accuracy: Accuracy = False,
) -> None:
    """Draw robustness.png and robustness.pdf, and print the averages."""
    accuracies, counts = 100 - read_test_sets(source, dataset, accuracy), image_counts(images)
    averages = apr.average_robustness(accuracies, base, images=counts)
    print_table(Console(), "Average robustness", averages)
    chosen = baseline.split(",") if baseline else None
    table = apr.effective_robustness(accuracies, base, baseline=chosen, images=counts)
    figure = plots.effective_robustness_grid(table, base)
    print(*plots.save(figure, output / "robustness"), sep="\n")


if __name__ == "__main__":
    script(robustness)
