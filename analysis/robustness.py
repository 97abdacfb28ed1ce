"""Paper 5, section 3: average and effective robustness, and the effective robustness ratio.

    python analysis/robustness.py accuracies.csv --accuracy --base val --baseline resnet18,vgg11,...
    python analysis/robustness.py studies/paper --dataset ImageNet

A column a test set; all but the base are shifts. Effective robustness is accuracy beyond the trend
of the baseline models (by default all).
"""

from typing import Annotated, Any

import typer

from anynet_study import apr, plots
from anynet_study.analyses.arguments import Output
from anynet_study.analyses.script import (
    FOLDER,
    DatasetName,
    save,
    script,
    show,
    test_sets_of,
)
from anynet_study.study import Study


def robustness(
    study: Study,
    base: Annotated[str, typer.Option(help="The test set without a shift.")] = "test",
    baseline: Annotated[str, typer.Option(help="Architectures, with commas.")] = "",
    dataset: DatasetName = "",
    output: Output = FOLDER,
) -> None:
    """Draw robustness.png and robustness.pdf, and print the averages."""
    errors, counts = test_sets_of(study, dataset)
    accuracies = 100 - errors
    chosen = baseline.split(",") if baseline else None
    how: dict[str, Any] = {"images": counts, "level": study.options.level}
    show("Average robustness", apr.average_robustness(accuracies, base, **how))
    table = apr.effective_robustness(accuracies, base, baseline=chosen, **how)
    save(plots.effective_robustness_grid(table, base), output / "robustness", table)


if __name__ == "__main__":
    script(robustness)
