"""Paper 3, Appendix N: do the other targets tell more of a target than the source does?

    python analysis/other_targets.py studies/paper --source ImageNet
    python analysis/other_targets.py accuracies.csv --accuracy --source ImageNet --average ranks

F-tests of nested regressions, and correlations with the source and with the others' average.
"""

from typing import Any

from anynet_study import apr, plots
from anynet_study.analysis.analyses.arguments import Output
from anynet_study.analysis.analyses.script import FOLDER, save, script, show, source_or_first
from anynet_study.analysis.apr.other_targets import Average
from anynet_study.analysis.study import Study


def other_targets(
    study: Study,
    average: Average = "logits",
    output: Output = FOLDER,
) -> None:
    """Draw other_targets.png and other_targets.pdf, and print tests and correlations."""
    scores, name = 100 - study.errors, source_or_first(study)
    targets = list(study.roles.targets) if study.known("roles") else None
    how: dict[str, Any] = {"average": average, "images": study.image_counts}
    table = apr.other_targets(scores, name, targets, **how, **study.options.correlating)
    tests = [it for it in table if it.startswith(("target", "n", "r2", "f_", "p_"))]
    show("What each explains beyond the other", table[tests])
    correlations = ["target", "n", *table.filter(regex="^(rho|difference)"), "note"]
    show("Correlations", table[correlations])
    save(plots.other_targets_chart(table, name), output / "other_targets", table)


if __name__ == "__main__":
    script(other_targets)
