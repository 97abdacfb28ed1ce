"""Paper 5, section 3: average and effective robustness, and the effective robustness ratio.

    python analysis/robustness.py accuracies.csv --accuracy --base val --baseline resnet18,vgg11,...
    python analysis/robustness.py studies/paper --dataset ImageNet

Of a table, a column a test set; all but the base are shifts. Of a study, the evaluations that are
shifts. --evaluations says which else are meant. Effective robustness is accuracy beyond the trend
of the baseline models (by default all).
"""

from typing import Annotated, Any

import typer

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
from anynet_study.study import SHIFT, Study


def robustness(
    study: Study,
    base: Annotated[str, typer.Option(help="The test set without a shift.")] = "test",
    baseline: Annotated[str, typer.Option(help="Architectures, with commas.")] = "",
    dataset: DatasetName = "",
    output: Output = FOLDER,
) -> None:
    """Draw robustness.png and robustness.pdf, and print the averages."""
    errors, counts = errors_on_test_sets(study, dataset, SHIFT, base)
    accuracies = 100 - errors
    chosen = baseline.split(",") if baseline else None
    how: dict[str, Any] = {"images": counts, "level": study.options.level}
    used = ", ".join(name for name in errors if name != base)
    show(f"Average robustness over {used}", apr.average_robustness(accuracies, base, **how))
    table = apr.effective_robustness(accuracies, base, baseline=chosen, **how)
    save(plots.effective_robustness_grid(table, base), output / "robustness", table)


if __name__ == "__main__":
    script(robustness)
