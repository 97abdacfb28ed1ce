"""Paper 4, Figures 1b and 8b: is the improvement over a baseline model the same on every dataset?

    python analysis/improvement.py accuracies.csv alexnet --accuracy
    python analysis/improvement.py studies/models torchvision:alexnet

Accuracies over the baseline's, and lines through them against those on the source, or the first
dataset. --datasets says which are drawn, of many.
"""

from anynet_study import apr, plots
from anynet_study.analysis.analyses.arguments import Output
from anynet_study.analysis.analyses.script import (
    FOLDER,
    Datasets,
    chosen_errors,
    save,
    script,
    show,
    source_or_first,
)
from anynet_study.analysis.study import Study


def improvement(
    study: Study,
    baseline: str,
    datasets: Datasets = "",
    output: Output = FOLDER,
) -> None:
    """Draw improvement.png and improvement.pdf, and print the fits."""
    accuracies, reference = 100 - study.errors, source_or_first(study)
    named = {called: one for one, called in study.networks.items()}
    called, baseline = baseline, named.get(baseline, baseline)
    how = study.options.intervals
    fits = apr.transfer_fits(accuracies, reference, baseline=baseline, **how)
    shown = ["target", "n", "correlation", *fits.filter(like="relative"), "r2", "note"]
    show(f"Improvement against that on {reference}", fits[shown])
    drawn = 100 - chosen_errors(study, datasets)
    table = apr.relative_improvement(drawn, baseline, study.image_counts or None)
    figure = plots.improvement_chart(study.called(table), called)
    save(figure, output / "improvement", table)


if __name__ == "__main__":
    script(improvement)
