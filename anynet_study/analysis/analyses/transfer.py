"""Transfer to targets as lines on the source's accuracy (papers 3 and 4)."""

from typing import TYPE_CHECKING

import pandas as pd

from anynet_study.analysis import apr, plots
from anynet_study.analysis.analyses.noise import cut, replicates_of
from anynet_study.analysis.analysis import MOST_PANELS, Analysis, StudyFigure, check_room
from anynet_study.analysis.study import Study
from anynet_study.core.errors import DoesNotApplyError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: Metrics that are shares of images, with the sampling error of shares.
ACCURACIES = ("top1", "top5")


def scores(study: Study) -> tuple[pd.DataFrame, str, list[str]]:
    """Accuracies, source and targets. Raises UserError where one of them is no dataset."""
    roles = study.roles
    roles.check(study.errors.columns)
    return 100 - apr.check_errors(study.errors, 0), roles.source, list(roles.targets)


def transfer(study: Study) -> pd.DataFrame:
    """A line for each target."""
    told = scores(study)
    runs, baseline = runs_of(study, [study.roles.source]), median_on(*told)
    how = study.options.intervals
    return apr.transfer_fits(*told, **how, replicates=runs, baseline=baseline)


def median_on(accuracies: pd.DataFrame, source: str, targets: list[str]) -> str | None:
    """The architecture that is the median on the source; None where none has all errors."""
    known = accuracies[[source, *targets]].dropna()[source].sort_values(kind="stable")
    return None if known.empty else str(known.index[(len(known) - 1) // 2])


def median_of(study: Study) -> str:
    """Return the `median_on` of a study. Raises DoesNotApplyError where none has all errors."""
    if (baseline := median_on(*scores(study))) is None:
        raise DoesNotApplyError("no architecture has all errors")
    return baseline


def drawn_accuracies(study: Study) -> pd.DataFrame:
    """Return accuracies on the source and the targets."""
    check_room(len(study.roles.targets), MOST_PANELS, "targets")
    accuracies, source, targets = scores(study)
    return accuracies[[source, *targets]].reset_index()


def draw_transfer(study: Study, _: pd.DataFrame) -> "Figure":
    """A panel for each target."""
    roles, metrics = study.roles, study.metrics
    counts = study.image_counts.items()
    images = {name: count for name, count in counts if metrics.get(name, "top1") in ACCURACIES}
    targets = list(roles.targets)
    return plots.transfer_grid(100 - study.errors, roles.source, targets, images=images)


def improvements(study: Study) -> pd.DataFrame:
    """Accuracy over that of the median architecture, of every architecture."""
    accuracies, source, targets = scores(study)
    known = accuracies[[source, *targets]].dropna(axis="columns", how="all")
    return apr.relative_improvement(known, median_of(study))


TRANSFER = Analysis[Study](
    name="transfer",
    older_names=("improvement",),
    title="Accuracy on the targets as a line on that on the source",
    table=transfer,
    question="How much accuracy on a target goes with a point of accuracy on the source?",
    formula=(
        "accuracy on the target = a + b · accuracy on the source, by least squares in percent; "
        "slope without noise: cov(x, y) / (var(x) - variance within architectures); relative "
        "slope: of accuracy / accuracy of the median architecture"
    ),
    source="paper 3, section 4; paper 4, section 4.2 and Figures 1b and 8b; Fuller 1987, section "
    "1.1",
    avoid="to extrapolate beyond the accuracies that were seen",
    needs=("roles", "equal_weights"),
    headings={"freed_slope": "slope without noise", "r2": "R²", "adjusted_r2": "", "excluded": ""},
    figures=(
        StudyFigure(
            name="transfer",
            title="Lines of accuracy on accuracy",
            caption="Accuracy on each target against that on the source, with a line and its "
            "{level} confidence region; bars: 95% intervals of sampling error, where the numbers "
            "of test images are known.",
            draw=draw_transfer,
            data=drawn_accuracies,
            column="slope",
        ),
        StudyFigure(
            name="improvement",
            title="Improvement over the median architecture",
            caption="Accuracy on source and targets over that of the architecture that is the "
            "median on the source.",
            draw=lambda study, table: plots.improvement_chart(table, median_of(study)),
            data=improvements,
        ),
    ),
    section="transfer",
    shown="folded",
    caption="The lines",
    note=(
        "Training noise in the source's accuracies biases slopes towards 0. The slope without this "
        "bias is given where the source has replicates, which show its noise. Relative slope: of "
        "improvements over the architecture that is the median on the source; at 1, a gain of ten "
        "percent on the source goes with a gain of ten percent on the target."
    ),
)


def beyond(study: Study) -> pd.DataFrame:
    """Return what other targets say of a target, and whether it is more than the source does."""
    runs = runs_of(study, [study.roles.source])
    how = study.options.correlating | {"images": study.image_counts, "replicates": runs}
    table = apr.other_targets(*scores(study), **how)
    return cut(table, {"freed_source": 1, "freed_others": 1, "freed_difference": 2})


def runs_of(study: Study, names: list[str]) -> pd.DataFrame | None:
    """The accuracies of single runs, where they tell the noise of these datasets."""
    runs = replicates_of(study, names)
    return None if runs is None else runs.assign(score=100 - runs["error"]).drop(columns="error")


def drawn_others(study: Study) -> pd.DataFrame:
    """Return the table `beyond`. Raises DoesNotApplyError where there is one target alone."""
    if len(study.roles.targets) < 2:
        raise DoesNotApplyError("one target alone has no others")
    return study.table("beyond")


BEYOND = Analysis[Study](
    name="beyond",
    older_names=("others",),
    title="The other targets as proxies, against the source",
    table=beyond,
    question="Is another target a better proxy than the source, or do all explain more than it?",
    formula="mean of ρ(other target, target) against ρ(source, target); F of adding the mean of "
    "the other targets to a regression of the target on the source, and the reverse, of "
    "standardised logits of accuracies",
    source="paper 3, Appendix N; Fuller, Measurement Error Models, 1987, section 1.1",
    avoid=(
        "without replicates of the source: noise in it makes any other dataset seem to explain "
        "more; and with two targets, as there is only one other"
    ),
    needs=("roles", "equal_weights"),
    headings={"rho_source": "source", "rho_others": "one other", "rho_average": "average of others"}
    | {"difference": "one other - source", "freed_difference": "without noise"}
    | dict.fromkeys(("freed_source", "freed_others", "r2_source", "r2_average", "r2_both"), "")
    | {"f_average": "F of others", "f_source": "F of source", "p_average": "", "p_source": ""}
    | {"p_average_noiseless": "p of F, others", "p_source_noiseless": "p of F, source"}
    | {"p_average_holm": "p of others (Holm)", "p_source_holm": "p of source (Holm)"},
    figures=(
        StudyFigure(
            name="others",
            title="The source, and the other targets",
            caption="{correlation} of each target with the source, with one other target (the mean "
            "over the others), and with the average of the others; {level} bootstrap intervals.",
            draw=lambda study, table: plots.other_targets_chart(table, study.roles.source),
            data=drawn_others,
        ),
    ),
    section="transfer",
    heading="Is the source any better than other targets?",
    shown="open",
    note=(
        "“One other”: the mean of the correlations with each other target by itself, which is a "
        "fair comparison, as the source is one dataset. The average of the others has less noise "
        "than any one of them. F of regressions on the source and on that average, as measured: "
        "noise in the source by itself makes F of others large. p of F is right if what is held "
        "fixed has no noise, as papers take for granted. p (Holm), and the difference without "
        "noise, allow for the noise of training (errors in variables), and are given where "
        "replicates show it."
    ),
)
