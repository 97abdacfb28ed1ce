"""Paper 3, Appendix N: do the other targets tell more of a target than the source does?

    python analysis/other_targets.py studies/paper --source ImageNet
    python analysis/other_targets.py accuracies.csv --accuracy --source ImageNet --average ranks

F-tests of nested regressions, and correlations with the source and with the others' average.
"""

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from anynet_study import apr, plots
from anynet_study.apr.transfer import Average
from anynet_study.cli.analysis_text import print_table
from anynet_study.cli.inputs import Accuracy, Source, SourceName, read_errors
from anynet_study.cli.script import script


def other_targets(
    source: Source,
    source_name: SourceName = "",
    average: Average = "logits",
    output: Annotated[Path, typer.Option("-o", "--output")] = Path("figures"),
    accuracy: Accuracy = False,
) -> None:
    """Draw other_targets.png and other_targets.pdf, and print both tables."""
    read = read_errors(source, accuracy=accuracy)
    known = read.roles.source if read.roles else str(read.errors.columns[0])
    scores, name = 100 - read.errors, source_name or known
    tests = apr.explained_beyond(scores, name, average=average)
    print_table(Console(), "What each explains beyond the other", tests)
    table = apr.other_targets(scores, name, average=average)
    print_table(Console(), "Correlations", table)
    figure = plots.other_targets_chart(table, name)
    print(*plots.save(figure, output / "other_targets"), sep="\n")


if __name__ == "__main__":
    script(other_targets)
