"""Rank architectures by their mean accuracy over all targets, as a benchmark (paper 3)."""

import pandas as pd

from anynet_study.analysis import apr, plots
from anynet_study.analysis.analysis import Analysis, StudyFigure
from anynet_study.analysis.study import Study
from anynet_study.core.errors import counted, listed, some_of

#: Architectures that a figure has room for: the best.
MOST_ARCHITECTURES = 50
#: Metrics that are shares of images.
SHARES = (None, "top1", "top5")


def benchmark(study: Study) -> pd.DataFrame:
    """Rank the architectures by their mean accuracy over the targets."""
    targets = [*study.roles.targets]
    images = {
        name: count
        for name, count in study.image_counts.items()
        if study.metrics.get(name) in SHARES
    }
    table = apr.benchmark(study.errors, targets, images, study.options.level)
    said = [f"Targets: {listed(some_of(targets))}."]
    if unknown := [name for name in targets if name not in images]:
        said.append(
            f"Without intervals of the means: {listed(some_of(unknown))} have no known number of "
            "test images, or a metric that is no share of them."
        )
    if left := table.attrs["left_out"]:
        said.append(f"{counted(left, 'architecture')} without an error on each target left out.")
    table.attrs["remarks"] = said
    return table


def drawn(study: Study) -> pd.DataFrame:
    """The best architectures, each by its rank and its name."""
    table = study.called(study.table("benchmark")).head(MOST_ARCHITECTURES)
    ranked = zip(table["rank"], table["architecture"], strict=True)
    names = [f"{rank}. {name}" for rank, name in ranked]
    return table.assign(**{"class": names}).drop(columns=["lowest", "highest"])


BENCHMARK = Analysis[Study](
    name="benchmark",
    title="Architectures by their mean accuracy over the targets (%)",
    table=benchmark,
    question="Which architectures are best on average over the targets?",
    formula=(
        "mean over the targets of 100 - error; its interval from Wilson's of the single accuracies "
        "(MOVER); lead: the mean over the targets of how far it is above the mean architecture, "
        "with Student's t over the targets"
    ),
    source="paper 3, section 6 (the benchmark that it proposes); Zou and Donner 2008",
    avoid=(
        "where targets have metrics on different scales; to choose among architectures whose ranks "
        "overlap"
    ),
    needs=("roles", "equal_weights"),
    headings={"mean": "mean accuracy", "lead": "above the mean architecture"}
    | {"rank_best": "best rank", "rank_worst": "worst rank"},
    figures=(
        StudyFigure(
            name="benchmark",
            title="Mean accuracy over the targets",
            caption="Mean accuracy over the targets (of many architectures, the best) with its "
            "{level} interval, which allows for the test images of exactly these targets.",
            draw=lambda study, rows: plots.class_chart(
                rows, f"mean accuracy over {rows['datasets'].iloc[0]} targets (%)"
            ),
            data=drawn,
            column="mean",
        ),
    ),
    section="proxies",
    shown="folded",
    caption="A benchmark of all targets",
    note=(
        "The interval of the mean, and the ranks that it leaves open, are for exactly these "
        "targets, on other test images; that of “above the mean architecture” is for targets like "
        "these. Neither allows for other trainings of the same architectures."
    ),
)
