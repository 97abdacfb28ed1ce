"""Paper 4, Figures 1b and 8b: is the improvement over a baseline model the same on every dataset?

    python analysis/improvement.py accuracies.csv alexnet --accuracy
    python analysis/improvement.py studies/paper ARCHITECTURE

Accuracies over the baseline's, and lines through them against those on the first dataset.
"""

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from anynet_study import apr, plots
from anynet_study.cli.analysis_text import print_table
from anynet_study.cli.inputs import Accuracy, Source, SourceName, read_errors
from anynet_study.cli.script import script
from anynet_study.cli.test_sets import Images, image_counts


def improvement(
    source: Source,
    baseline: str,
    source_name: SourceName = "",
    output: Annotated[Path, typer.Option("-o", "--output")] = Path("figures"),
    images: Images = None,
    accuracy: Accuracy = False,
) -> None:
    """Draw improvement.png and improvement.pdf, and print the fits."""
    accuracies = 100 - read_errors(source, accuracy=accuracy).errors
    reference = source_name or str(accuracies.columns[0])
    fits = apr.improvement_fits(accuracies, reference, baseline)
    print_table(Console(), f"Improvement against that on {reference}", fits)
    table = apr.relative_improvement(accuracies, baseline, image_counts(images))
    figure = plots.improvement_chart(table, baseline)
    print(*plots.save(figure, output / "improvement"), sep="\n")


if __name__ == "__main__":
    script(improvement)
