"""Paper 4, Appendix B.2: do rankings hold under test-time transforms of the images?

    python analysis/transforms.py studies/paper --dataset cifar10
    python analysis/transforms.py accuracies.csv --accuracy

Of a study, its evaluations that are transforms, or those that --evaluations names. Of a table, a
column a transform, the first being the images as they are. The ranks over all of them (transforms),
and under each (transforms-ranks; bars are the ranks that overlapping sampling errors leave open,
where the numbers of images are known).
"""

from anynet_study import apr, plots
from anynet_study.analysis.analyses.arguments import Output
from anynet_study.analysis.analyses.script import (
    FOLDER,
    DatasetName,
    errors_on_test_sets,
    save,
    script,
    show,
)
from anynet_study.analysis.study import Study


def transforms(study: Study, dataset: DatasetName = "", output: Output = FOLDER) -> None:
    """Draw transforms.png and transforms.pdf, and print how far the transforms agree."""
    errors, images = errors_on_test_sets(study, dataset, "transform")
    how = study.options.intervals
    show(f"Spearman's rho with {errors.columns[0]}", apr.shift_agreement(errors, **how))
    ranks = apr.shift_ranks(errors, **how)
    save(plots.shift_rank_chart(ranks), output / "transforms", ranks)
    each = apr.tied_ranks(apr.sampling_intervals(errors, images, study.options.level))
    save(plots.rank_preservation_chart(each), output / "transforms-ranks", each)


if __name__ == "__main__":
    script(transforms)
