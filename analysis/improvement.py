"""Paper 4, Figures 1b and 8b: is the improvement over a baseline model the same on every dataset?

    python analysis/improvement.py accuracies.csv alexnet --accuracy
    python analysis/improvement.py studies/paper ARCHITECTURE

Accuracies over the baseline's, and lines through them against those on the first dataset.
"""

from anynet_study import apr, plots
from anynet_study.analyses.arguments import Output, SourceName
from anynet_study.analyses.script import (
    FOLDER,
    Images,
    first_or_source,
    image_counts,
    save,
    script,
    show,
)
from anynet_study.study import Study


def improvement(
    study: Study,
    baseline: str,
    source_name: SourceName = "",
    images: Images = None,
    output: Output = FOLDER,
) -> None:
    """Draw improvement.png and improvement.pdf, and print the fits."""
    accuracies, reference = 100 - study.errors, first_or_source(study, source_name)
    fits = apr.improvement_fits(accuracies, reference, baseline, **study.options.intervals)
    show(f"Improvement against that on {reference}", fits)
    table = apr.relative_improvement(accuracies, baseline, image_counts(images))
    save(plots.improvement_chart(table, baseline), output / "improvement", table)


if __name__ == "__main__":
    script(improvement)
