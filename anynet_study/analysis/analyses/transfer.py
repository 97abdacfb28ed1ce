"""Transfer to targets as lines on the source's accuracy (papers 3 and 4)."""

from typing import TYPE_CHECKING

import pandas as pd

from anynet_study.analysis import apr, plots
from anynet_study.analysis.analyses.noise import (
    FREED,
    MEASURED,
    cut,
    measured_and_freed,
    replicates_of,
)
from anynet_study.analysis.analysis import MOST_PANELS, Analysis, StudyFigure, check_room
from anynet_study.analysis.study import Study
from anynet_study.core.errors import UserError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: Metrics that are shares of images, with the sampling error of shares.
ACCURACIES = ("top1", "top5")
LINE = {"freed_slope": "slope without noise", "r2": "R²", "adjusted_r2": "", "excluded": ""}


def scores(study: Study) -> tuple[pd.DataFrame, str, list[str]]:
    """Accuracies, source and targets. Raises UserError where one of them is no dataset."""
    roles = study.roles
    roles.check(study.errors.columns)
    return 100 - apr.check_errors(study.errors, 0), roles.source, list(roles.targets)


def transfer(study: Study) -> pd.DataFrame:
    """A line for each target."""
    runs = runs_of(study, [study.roles.source])
    return apr.transfer_fits(*scores(study), **study.options.intervals, replicates=runs)


def drawn_accuracies(study: Study) -> pd.DataFrame:
    """Of the source and the targets."""
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


TRANSFER = Analysis[Study](
    name="transfer",
    title="Accuracy on the targets as a line on that on the source",
    table=transfer,
    question="How much accuracy on a target goes with a point of accuracy on the source?",
    formula=(
        "accuracy on the target = a + b · accuracy on the source, by least squares in percent; "
        "slope without noise: cov(x, y) / (var(x) - variance within architectures)"
    ),
    source="paper 3, section 4; paper 4, section 4.2; Fuller 1987, section 1.1",
    avoid="to extrapolate beyond the accuracies that were seen",
    needs=("roles",),
    headings=LINE,
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
    ),
    section="transfer",
    shown="folded",
    caption="The lines",
    note=(
        "Training noise in the source's accuracies biases slopes towards 0. The slope without this "
        "bias is given where the source has replicates, which show its noise."
    ),
)


def beyond(study: Study) -> pd.DataFrame:
    """Do the other targets say more of a target than the source does?"""
    runs = runs_of(study, [study.roles.source])
    return apr.explained_beyond(*scores(study), images=study.image_counts, replicates=runs)


def runs_of(study: Study, names: list[str]) -> pd.DataFrame | None:
    """The accuracies of single runs, where they tell the noise of these datasets."""
    runs = replicates_of(study, names)
    return None if runs is None else runs.assign(score=100 - runs["error"]).drop(columns="error")


BEYOND = Analysis[Study](
    name="beyond",
    title="Does the average of the other targets explain more than the source? (F-tests)",
    table=beyond,
    question="Do other targets explain a target beyond what the source does?",
    formula="F of adding the mean of the other targets to a regression of the target on the "
    "source, and the reverse, of standardised logits of accuracies",
    source="paper 3, Appendix N.1; Fuller, Measurement Error Models, 1987, section 1.1",
    avoid=(
        "without replicates of the source: noise in it makes any other dataset seem to explain more"
    ),
    needs=("roles",),
    headings={"r2_source": "R² of source", "r2_average": "of others", "r2_both": "of both"}
    | {"f_average": "F of others", "p_average": "p of others", "f_source": "F of source"}
    | {"p_source": "p of source", "p_average_holm": "p of others (Holm)"}
    | {"p_source_holm": "p of source (Holm)"},
    section="transfer",
    shown="folded",
    caption="What the other targets explain beyond the source",
    note=(
        "R² and F of regressions on the source, on the average of the other targets, and on both, "
        "as measured: noise in the source by itself makes F of others large. p allows for the "
        "noise of the regressor that is held fixed (errors in variables), and is given where "
        "replicates show that noise."
    ),
)


def others(study: Study) -> pd.DataFrame:
    """Are the other targets better proxies than the source?"""
    roles, how = study.roles, study.options.correlating | {"images": study.image_counts}
    parts = {MEASURED: apr.other_targets(*scores(study), **how)}
    runs = runs_of(study, [roles.source, *roles.targets])
    if runs is not None:
        parts[FREED] = apr.other_targets(*scores(study), **how, replicates=runs)
    bounds = {"rho_source": 1, "rho_others": 1, "difference": 2}
    return cut(measured_and_freed(parts), bounds)


def drawn_others(study: Study) -> pd.DataFrame:
    """Return the table `others` of errors as measured. UserError where a target has no others."""
    if len(study.roles.targets) < 2:
        raise UserError("one target alone has no others")
    table = study.table("others")
    return table[table["errors"] == MEASURED]


OTHERS = Analysis[Study](
    name="others",
    title="The other targets as proxies, against the source",
    table=others,
    question="Is another target a better proxy than the source?",
    formula="mean of ρ(other target, target) against ρ(source, target)",
    source="paper 3, Appendix N.2",
    avoid="with two targets: there is only one other",
    needs=("roles",),
    headings={"rho_source": "source", "rho_others": "one other", "rho_average": "average of others"}
    | {"difference": "one other - source"},
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
        "than any one of them."
    ),
)


def improvement(study: Study) -> pd.DataFrame:
    """Lines through improvements relative to the median architecture on the source."""
    accuracies, source, targets = scores(study)
    known = accuracies[[source, *targets]].dropna()[source].sort_values(kind="stable")
    if known.empty:
        raise UserError("no architecture has all errors")
    baseline = known.index[(len(known) - 1) // 2]
    fits = apr.improvement_fits(
        accuracies[[source, *targets]], source, baseline, **study.options.intervals
    )
    return fits.assign(baseline=baseline)


def improvements(study: Study) -> pd.DataFrame:
    """Accuracy over that of the baseline, of every architecture on source and targets."""
    accuracies, source, targets = scores(study)
    known = accuracies[[source, *targets]].dropna(axis="columns", how="all")
    return apr.relative_improvement(known, baseline_of(study))


def baseline_of(study: Study) -> str:
    """The architecture that is the median on the source."""
    return str(study.table("improvement")["baseline"].iloc[0])


IMPROVEMENT = Analysis[Study](
    name="improvement",
    title="Improvement over the median architecture: targets as lines on the source",
    table=improvement,
    question="Does a relative gain on the source become one on the targets?",
    formula=(
        "line of the relative accuracy on the target on that on the source; relative accuracy = "
        "accuracy / accuracy of the median architecture"
    ),
    source="paper 4, Figures 1b and 8b",
    avoid="where the median architecture only guesses: every gain over it then looks large",
    needs=("roles",),
    headings=LINE,
    figures=(
        StudyFigure(
            name="improvement",
            title="Improvement over the median architecture",
            caption="Accuracy on source and targets over that of the architecture that is the "
            "median on the source.",
            draw=lambda study, table: plots.improvement_chart(table, baseline_of(study)),
            data=improvements,
        ),
    ),
    section="transfer",
    shown="folded",
    caption="Improvement over the median architecture",
    note=(
        "Slope 1: a gain of ten percent on the source goes with a gain of ten percent on the "
        "target."
    ),
)
