"""How long, and how, to train (paper 1, sections 6.1 and 6.2, Figures 6 and A1 to A6)?"""

import json
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

import pandas as pd

from anynet_study.analysis import apr, plots
from anynet_study.analysis.analyses.building import (
    Parts,
    some,
    stacked,
    with_averages,
    with_interval,
)
from anynet_study.analysis.analysis import Analysis, StudyFigure
from anynet_study.analysis.plots import wording
from anynet_study.analysis.study import Study
from anynet_study.core.errors import DoesNotApplyError, listed

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: Resamples that the intervals of every epoch need.
MOST_RESAMPLES = 1_000
#: Correlations with the source: under the main recipe, under another, and their difference.
WHEN = ("before", "after", "difference")
CHANGE = {"estimate": "correlation", "mean_before": "mean before", "mean_after": "after"}
CHANGE |= {"errs_less": "errs less"}

#: Errors before and after a change, and what to call them.
Versions = tuple[pd.DataFrame, pd.DataFrame, tuple[str, str]]


CURVES = Analysis[Study](
    name="curves",
    title="Test error by epoch",
    table=None,
    question="How do the errors fall during training?",
    formula="median, and 10% and 90% quantiles, of the test error over the architectures, by epoch",
    source="paper 1, section 6.1.2 and Figure A2",
    avoid="to choose when to stop: test images must not be used for that",
    needs=("curves",),
    figures=(
        StudyFigure(
            name="curves",
            title="Test error by epoch",
            caption="Test error after every epoch: median over the architectures, the band that "
            "holds 80% of them, and up to 30 single runs, evenly spread from best to worst.",
            draw=lambda study, _: plots.curve_grid(study.curves, study.metrics),
            data=lambda study: plots.curve_data(study.curves),
            panels="dataset",
            expected=True,
        ),
    ),
    section="training",
)


def duration(study: Study) -> pd.DataFrame:
    """Does the ranking after part of the training hold at its end?"""
    options = study.options
    resamples = min(options.resamples, MOST_RESAMPLES)
    how = (options.method, resamples, options.seed, options.level)
    return apr.duration(study.curves, study.known("replicates"), *how)


def drawn_duration(study: Study) -> pd.DataFrame:
    """Where there is more than one epoch."""
    table = study.table("duration")
    if table["epochs"].max() < 2:
        raise DoesNotApplyError("one epoch has no curve")
    return table


def shortest(budget: pd.DataFrame) -> list[str]:
    """How much of the training keeps the final ranking."""
    known = budget.dropna(subset="estimate")
    return [_shortest(rows) for _, rows in known.groupby("against", sort=False)]


def _shortest(known: pd.DataFrame) -> str:
    """Of the datasets whose ranking is compared with the same thing."""
    longest, rho = known.loc[known["share"].idxmax()], wording.letter(known)
    keep, within = wording.number(longest["keep"]), longest["against"] == apr.SAME_RUN
    kept = f"{rho} ≥ {keep}" if within else f"{100 * longest['keep']:g}% of its {rho} or more"
    if longest["epoch"] == longest["epochs"]:
        late = list(known.loc[known["epoch"] == known["epochs"], "dataset"])
        does = "reproduce the final ranking"
        if not within:
            does = "predict the ranking of another run nearly as well as the final one does"
        return f"On {some(late, len(known))}, no earlier epoch is shown to {does} ({kept})."
    most = "" if len(known) == 1 else f" on {some(list(known['dataset']), len(known))}"
    does = (
        "is the final one"
        if within
        else "predicts that of another run nearly as well as the final one"
    )
    return (
        f"After {100 * longest['share']:.0f}% of the training, the ranking {does}{most} "
        f"({kept} from there on{', within the same runs' * within}). It takes longest on "
        f"{longest['dataset']}: epoch {longest['epoch']} of {longest['epochs']}, or epoch "
        f"{longest['epoch_sure']} for the whole interval."
    )


DURATION = Analysis[Study](
    name="duration",
    older_names=("budget",),
    title="The shortest training that keeps the final ranking",
    table=duration,
    question="How early in training is the ranking close to the final one?",
    formula="ρ(error after epoch e, error after the last epoch); kept: ρ(error after e, last error "
    "of another run) / ρ(last error, last error of another run); the first e from which on that "
    "is, or what is kept of another run is, at least as high as wanted",
    source="paper 1, section 6.1.2 and Figure A2",
    avoid=(
        "to predict shorter trainings with their own schedule: all epochs here have the learning "
        "rates of the whole training; and where replicates differ more than architectures, as what "
        "the epochs of one run agree on is then its noise"
    ),
    needs=("curves",),
    headings={"keep": "wanted", "estimate": "reached", "share": "share of training"}
    | {"epoch_sure": "epoch where sure"},
    arrange=apr.cheapest_budget,
    figures=(
        StudyFigure(
            name="duration",
            title="Ranking after part of the training",
            caption="Blue: {correlation} of the errors after every epoch with those after the last "
            "one of the same runs. Green, where 30 architectures or more were trained twice: "
            "that with the last errors of other runs, over that of the whole training. With "
            "{level} intervals; marked: the first epoch from which on the latter, or else the "
            "former, is high enough.",
            draw=lambda study, table: plots.duration_grid(table, apr.cheapest_budget(table)),
            data=drawn_duration,
            panels="dataset",
            column="estimate",
        ),
    ),
    most_resamples=MOST_RESAMPLES,
    say=lambda study, table: shortest(apr.cheapest_budget(table)),
    topic="Training",
    section="training",
    heading="The shortest training that keeps the ranking",
    shown="open",
    note=(
        "The first epoch from which on the ranking correlates with the final one of the same run "
        "at least as much as wanted; or, where 30 architectures or more were trained twice, keeps "
        "as much of the final ranking's correlation with that of another run, so that the noise "
        "which the epochs of one run share does not count. “Where sure”: from which on the whole "
        "interval does. All epochs have the learning rates of the whole training: a shorter "
        "training with its own schedule may do better. Files have every epoch."
    ),
)


def recipes(study: Study) -> pd.DataFrame:
    """Every other recipe against the main one."""
    parts: Parts = {
        (name,): partial(apr.agreement, study.errors, errors, **study.options.correlating)
        for name, errors in study.recipes.items()
    }
    return stacked(["recipe"], parts, study.progress)


def other_recipes(recipes: pd.DataFrame) -> list[str]:
    """Does the ranking depend on the recipe?"""
    said = []
    for name, rows in recipes.groupby("recipe", sort=False):
        known = rows.dropna(subset="estimate")
        if known.empty:
            continue
        least = known.loc[known["estimate"].idxmin()]
        better = list(known.loc[known["errs_less"] == "yes", "dataset"])
        gains = f"; it errs less on {listed(better)}" if better else ""
        agrees = "agrees least" if len(known) > 1 else "agrees"
        said.append(
            f"Under the recipe {name}, the ranking {agrees} with that of the main one on "
            f"{least['dataset']} ({wording.letter(recipes)} = {with_interval(least)}){gains}."
        )
    return said


def first_recipe(study: Study, table: pd.DataFrame) -> Versions:
    """Errors under the main recipe and under the first other one of a table."""
    name = table["recipe"].iloc[0]
    return study.errors, study.recipes[name], ("main recipe", name)


def of_first_recipe(table: pd.DataFrame) -> pd.DataFrame:
    """The rows of the first recipe."""
    return table[table["recipe"] == table["recipe"].iloc[0]]


def drawn_recipes(study: Study) -> pd.DataFrame:
    """The errors under both recipes."""
    rows = of_first_recipe(study.table("recipes"))
    before, after, _ = first_recipe(study, rows)
    return plots.agreement_data(before, after, list(rows["dataset"]))


def draw_recipes(study: Study, _: pd.DataFrame) -> "Figure":
    """A panel for each dataset."""
    rows = of_first_recipe(study.table("recipes"))
    before, after, labels = first_recipe(study, rows)
    return plots.agreement_grid(before, after, rows, labels)


RECIPES = Analysis[Study](
    name="recipes",
    title="Other recipes against the main one",
    table=recipes,
    question="Does another recipe change the ranking, or the errors?",
    formula="ρ(errors before, errors after), and mean(after) - mean(before)",
    source="paper 1, sections 6.1.1 and 6.1.2, Figures A1 and A2",
    avoid=(
        "for recipes that differ in more than one thing, if the question is which of them helps"
    ),
    needs=("recipes",),
    headings=CHANGE,
    figures=(
        StudyFigure(
            name="recipes",
            title="Errors under another recipe",
            caption="Errors under another recipe against those under the main one.",
            draw=draw_recipes,
            data=drawn_recipes,
            panels="dataset",
        ),
    ),
    say=lambda study, table: other_recipes(table),
    topic="Training",
    section="training",
    heading="Other recipes",
    shown="open",
)


def source_by_recipe(study: Study) -> pd.DataFrame:
    """Does the source predict a target better once training starts from its weights (A6)?"""
    source, errors = study.roles.source, study.errors
    study.roles.check(errors.columns)
    parts: Parts = {
        (name,): partial(apr.agreement, errors, other, source, **study.options.correlating)
        for name, other in study.recipes.items()
    }
    table = stacked(["recipe"], parts, study.progress)
    if "source_before" not in table:
        return table
    ends = [f"source_{what}{end}" for what in WHEN for end in ("", "_low", "_high")]
    notes = [name for name in ("note",) if name in table]
    return table[["recipe", "dataset", *ends, "n", *notes]]


def drawn_by_recipe(study: Study) -> pd.DataFrame:
    """Of the first other recipe."""
    return of_first_recipe(study.table("source-by-recipe").dropna(subset="source_after"))


def draw_by_recipe(study: Study, rows: pd.DataFrame) -> "Figure":
    """A panel for each target."""
    before, after, labels = first_recipe(study, rows)
    return plots.source_by_recipe_grid(before, after, rows, study.roles.source, labels)


SOURCE_BY_RECIPE = Analysis[Study](
    name="source-by-recipe",
    title="Correlation with the source's errors under other recipes, such as from pretrained "
    "weights",
    table=source_by_recipe,
    question="Does the source predict targets better under another recipe?",
    formula="ρ(source under the main recipe, target under each recipe), and the paired difference",
    source="paper 1, section 6.2.1 and Figure A6",
    avoid=(
        "where the recipes were run on different architectures: only the few in common are compared"
    ),
    needs=("recipes", "roles"),
    headings={"source_before": "main recipe", "source_after": "this recipe"}
    | {"source_difference": "difference"},
    figures=(
        StudyFigure(
            name="source-by-recipe",
            title="Targets under two recipes against the source",
            caption="Errors on each target under the main recipe and under another one, such as "
            "from pretrained weights, against those on the source under the main one.",
            draw=draw_by_recipe,
            data=drawn_by_recipe,
            panels="dataset",
            column="source_after",
        ),
    ),
    section="training",
    shown="open",
    note="How well the source predicts each target under the main recipe, such as from scratch, "
    "and under another, such as from pretrained weights.",
)


def metrics(study: Study) -> pd.DataFrame:
    """Top-5 against top-1 errors."""
    both = study.by_metric
    return apr.agreement(both["top1"], both["top5"], **study.options.correlating)


def drawn_metrics(study: Study) -> pd.DataFrame:
    """Return the top-1 and the top-5 error of each architecture."""
    datasets = list(study.table("metrics")["dataset"])
    return plots.agreement_data(study.by_metric["top1"], study.by_metric["top5"], datasets)


def draw_metrics(study: Study, _: pd.DataFrame) -> "Figure":
    """A panel for each dataset."""
    top1, top5 = study.by_metric["top1"], study.by_metric["top5"]
    return plots.agreement_grid(top1, top5, study.table("metrics"), ("top-1", "top-5"))


METRICS = Analysis[Study](
    name="metrics",
    title="Top-5 against top-1 errors",
    table=metrics,
    question="Do top-1 and top-5 errors rank the architectures alike?",
    formula="ρ(top-1 error, top-5 error)",
    source="paper 1, section 6.1.4 and Figure A4",
    avoid="for datasets with few classes: with ten classes, top-5 errors are near 0",
    needs=("by_metric",),
    headings=CHANGE | {"mean_before": "mean top-1", "mean_after": "mean top-5"},
    figures=(
        StudyFigure(
            name="metrics",
            title="Top-5 against top-1 errors",
            caption="Top-5 against top-1 errors.",
            draw=draw_metrics,
            data=drawn_metrics,
            panels="dataset",
        ),
    ),
    section="training",
    heading="Top-1 or top-5 errors",
    shown="open",
)


def balance(study: Study) -> pd.DataFrame:
    """Datasets against their balanced versions."""
    pairs = variants_of(study, lambda variant: variant.pop("balanced", False))
    if not pairs:
        raise DoesNotApplyError("no dataset has a balanced version of it in the study")
    parts: Parts = {}
    for plain, balanced in pairs:
        after = study.errors[[balanced]].set_axis([plain], axis="columns")
        before = study.errors[[plain]]
        parts[balanced,] = partial(apr.agreement, before, after, **study.options.correlating)
    return stacked(["version"], parts, study.progress)


BALANCE = Analysis[Study](
    name="balance",
    title="Datasets against their balanced versions",
    table=balance,
    question="Does it matter that classes have different numbers of images?",
    formula="ρ(errors, errors on the balanced version), and mean(after) - mean(before)",
    source="paper 1, section 6.1.6 and Figure A5",
    avoid="as the effect of balance alone: a balanced version also has fewer images",
    headings=CHANGE,
    section="training",
    heading="Balanced versions of datasets",
    shown="open",
)


def class_or_size(study: Study) -> pd.DataFrame:
    """Is it a subset's fewer classes, or its fewer images?"""
    roles = study.roles
    smaller = variants_of(
        study, lambda v: [v.pop(key, None) for key in ("per_class", "fraction")] != [None] * 2
    )
    fewer = [small for whole, small in smaller if whole == roles.source]
    subsets = [name for name in roles.family if name != roles.source and name not in fewer]
    if not fewer or not subsets:
        raise DoesNotApplyError(f"needed: {roles.source} with fewer images, and with fewer classes")
    counts = dict(zip(study.datasets["dataset"], study.datasets["train_images"], strict=True))
    parts: Parts = {}
    for images in fewer:
        classes = min(subsets, key=lambda name: abs(counts[name] - counts[images]))
        versions, targets = (roles.source, images, classes), list(roles.targets)
        how = study.options.correlating
        parts[images, classes] = partial(apr.class_or_size, study.errors, *versions, targets, **how)
    return stacked(["fewer_images", "fewer_classes"], parts, study.progress)


def drawn_versions(study: Study) -> pd.DataFrame:
    """Correlations with the source and its first pair of smaller versions."""
    table = study.table("class-or-size").dropna(subset="rho_source")
    names = ["fewer_images", "fewer_classes"]
    first = table[names].iloc[0].to_dict()
    rows = table[table[names].eq(first).all(axis=1)]
    averages = table.attrs.get("averages", [])
    rows.attrs = table.attrs | {"averages": [it for it in averages if first.items() <= it.items()]}
    return rows


def draw_versions(study: Study, rows: pd.DataFrame) -> "Figure":
    """A row for each target."""
    images, classes = rows[["fewer_images", "fewer_classes"]].iloc[0]
    return plots.class_or_size_chart(rows, (study.roles.source, images, classes))


CLASS_OR_SIZE = Analysis[Study](
    name="class-or-size",
    title="Fewer images or fewer classes: correlation with the targets",
    table=class_or_size,
    question=(
        "Is it the fewer classes of a subset, or its fewer images, that make it a better proxy?"
    ),
    formula=(
        "ρ(fewer images, target) - ρ(source, target); ρ(fewer classes, target) - ρ(fewer images, "
        "target)"
    ),
    source="paper 1, section 4.3.1 and Figure 6",
    avoid="where the two smaller versions have different numbers of images",
    needs=("roles",),
    headings={"rho_source": "source", "rho_images": "with fewer images"}
    | {"rho_classes": "with fewer classes", "by_images": "gained by fewer images"}
    | {"by_classes": "by fewer classes"},
    arrange=lambda table: with_averages(table, "target"),
    figures=(
        StudyFigure(
            name="class-or-size",
            title="The source with fewer classes, and with fewer images",
            caption="{correlation} of each target with the source, and with its versions of fewer "
            "images and of fewer classes, with {level} bootstrap intervals.",
            draw=draw_versions,
            data=drawn_versions,
            panels="target",
            column="rho_source",
        ),
    ),
    section="training",
    heading="Fewer classes or fewer images?",
    shown="open",
)


def variants_of(study: Study, differs: Callable[[dict[str, Any]], object]) -> list[tuple[str, str]]:
    """Pairs of datasets (plain, changed) that differ in one way alone.

    `differs` takes that way's keys out of a variant, and says whether it was changed by them.
    """
    datasets = study.known("datasets")
    if datasets is None:
        return []
    plain: dict[str, str] = {}
    changed: list[tuple[str, str]] = []
    for name, text in zip(datasets["dataset"], datasets["variant"], strict=True):
        variant = json.loads(text or "{}")
        is_changed = bool(variant) and differs(variant)
        rest = json.dumps(variant, sort_keys=True)
        if is_changed:
            changed.append((rest, name))
        elif variant:
            plain.setdefault(rest, name)
    return [(plain[rest], name) for rest, name in changed if rest in plain]
