"""Paper 3, Appendix N: do the other targets tell more of a target than the source does?

    python analysis/other_targets.py studies/paper --source ImageNet
    python analysis/other_targets.py accuracies.csv --accuracy --source ImageNet --average ranks

F-tests of nested regressions, and correlations with the source and with the others' average.
"""

from anynet_study import apr, plots
from anynet_study.analyses.arguments import Output, SourceName
from anynet_study.analyses.script import FOLDER, first_or_source, save, script, show
from anynet_study.apr.transfer import Average
from anynet_study.study import Study


def other_targets(
    study: Study,
    source_name: SourceName = "",
    average: Average = "logits",
    output: Output = FOLDER,
) -> None:
    """Draw other_targets.png and other_targets.pdf, and print both tables."""
    scores, name = 100 - study.errors, first_or_source(study, source_name)
    tests = apr.explained_beyond(scores, name, average=average)
    show("What each explains beyond the other", tests)
    table = apr.other_targets(scores, name, average=average, **study.options.correlating)
    show("Correlations", table)
    save(plots.other_targets_chart(table, name), output / "other_targets", table)


if __name__ == "__main__":
    script(other_targets)
