"""Tell how, and how long, to train (paper 1, sections 6.1 and 6.2, Figures 6 and A1 to A6)."""

import json
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from anynet_study.analysis import apr, plots
from anynet_study.analysis.analyses.building import Parts, stacked, with_averages
from anynet_study.analysis.analysis import Analysis, StudyFigure
from anynet_study.analysis.apr.options import Floats
from anynet_study.analysis.claims import Claim, Fact, Interval, Kind, Said, sources
from anynet_study.analysis.plots import wording
from anynet_study.analysis.study import ONE_RECIPE, Inputs, Study
from anynet_study.analysis.worlds import (
    MIDDLE,
    SHAPES,
    SIZES,
    SPREAD,
    TARGETS,
    Draw,
    Setting,
    World,
    answers,
    correlated,
    median_of,
    settings,
    shaped,
)
from anynet_study.core.errors import DoesNotApplyError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: Resamples that the intervals of every epoch need.
MOST_RESAMPLES = 1_000
#: What is compared with the errors under the main recipe.
RECIPE, SHIFTED = "recipe", "recipe, on further test sets"
METRIC, BALANCED = "top-5 with top-1 errors", "balanced classes"
CHANGE = {"estimate": "correlation", "mean_before": "mean before", "mean_after": "after"}
CHANGE |= {"most_err_less": "most err less", "improved_low": "", "improved_high": ""}
CHANGE |= {"alike_low": "", "alike_high": ""}

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
    """Return where there is more than one epoch."""
    table = study.table("duration")
    if table["epochs"].max() < 2:
        raise DoesNotApplyError("one epoch has no curve")
    return table


OF_SAMPLE = sources("architectures")
KEPT_AS = {
    apr.SAME_RUN: "agree with the final one of the same runs (a correlation of {keep} or more)",
    apr.ANOTHER_RUN: "tell nearly as much of another run as the final one does ({keep} of it)",
}
IS_KEPT = {
    against: Kind(
        name=f"ranking is kept, of {against}",
        speaks=OF_SAMPLE,
        words={
            "yes": "on {names}, after {share}% of the training (epoch {epoch} of {epochs}) the "
            f"ranking is shown to {does}",
            "undecided": f"on {{names}}, no earlier epoch is shown to {does}",
        },
    )
    for against, does in KEPT_AS.items()
}


def kept(budget: pd.DataFrame) -> Said:
    """Return how much of the training surely keeps the final ranking, dataset by dataset."""
    known, said = budget.dropna(subset="estimate"), []
    for row in known.sort_values("against", kind="stable").to_dict("records"):
        least, most = row["low_sure"] - row["keep"] + 1e-12, 1 - row["keep"]
        evidence = Interval(least, max(least, most), OF_SAMPLE, len(budget))
        told = {"epoch": int(row["epoch_sure"]), "epochs": int(row["epochs"])}
        told["share"] = round(100 * row["epoch_sure"] / row["epochs"])
        keep = wording.number(row["keep"])
        said.append(
            Claim(
                IS_KEPT[row["against"]],
                str(row["dataset"]),
                evidence,
                asked=len(budget),
                told=told | {"keep": keep},
            )
        )
    return said


#: Standard deviations, beside that of a run's last errors, of what an epoch has for itself.
UNSETTLED = np.array([2.0, 1.2, 0.8, 0.6, 0.5, 0.4, 0.35, 0.32, 0.29, 0.0])
#: The same of trainings that are as good as over after two epochs.
SETTLED = np.array([2.0, *[0.05] * 8, 0.0])
#: The reliability of last errors.
LAST_ICC = 0.8


def of_curves(
    again: bool, own: NDArray[np.float64] = UNSETTLED
) -> Callable[[Draw, Setting], Inputs]:
    """Ten epochs whose rankings come ever nearer to the final one; maybe all trained `again`."""

    def draw_inputs(draw: Draw, setting: Setting) -> Inputs:
        curves, seconds = [], []
        for number in range(setting.targets):
            quality = np.sqrt(LAST_ICC) * draw.normal(size=setting.n)
            runs = quality + np.sqrt(1 - LAST_ICC) * draw.normal(size=(2, setting.n))
            part = {"dataset": f"t{number}", "architecture": range(setting.n)}
            for epoch, unsettled in enumerate(own, 1):
                errors = 40 + 20 / epoch + 4 * (runs[0] + unsettled * draw.normal(size=setting.n))
                curves.append(pd.DataFrame({**part, "epoch": epoch, "error": errors}))
            for replicate, run in enumerate(runs):
                told = {**part, "replicate": replicate, "error": 42 + 4 * run}
                seconds.append(pd.DataFrame(told))
        table, both = pd.concat(curves, ignore_index=True), pd.concat(seconds, ignore_index=True)
        last = table[table["epoch"] == len(own)]
        errors = last.pivot(index="architecture", columns="dataset", values="error")
        return Inputs(errors=errors, curves=table, replicates=both if again else None)

    return draw_inputs


def first_kept(keep: float, again: bool) -> int:
    """The first epoch of these curves from which on normal errors keep so much."""
    r = 1 / np.sqrt(1 + UNSETTLED**2) * (LAST_ICC if again else 1.0)
    rhos = 6 / np.pi * np.arcsin(r / 2)
    return int(np.flatnonzero(rhos / rhos[-1] < keep)[-1]) + 2


def keeping(again: bool) -> tuple[World, ...]:
    """Worlds of curves: at the threshold, an epoch is told that is too early."""

    def not_too_early(claim: Claim, _: Inputs) -> bool:
        return int(claim.told["epoch"]) >= first_kept(float(claim.told["keep"]), again)

    def not_before_2(claim: Claim, _: Inputs) -> bool:
        return int(claim.told["epoch"]) >= 2

    first = first_kept(0.95, again)
    over = settings(n=SIZES, targets=(3, 1, 7, 20))
    name, draw = f"kept from epoch {first} of 10 on", of_curves(again)
    return (
        World(name, "false", draw, not_too_early, over),
        World(name, "threshold", draw, not_too_early, over[:1]),
        World(
            "kept from epoch 2 of 10 on", "true", of_curves(again, SETTLED), not_before_2, over[:1]
        ),
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
    needs=("curves", "equal_weights"),
    headings={"keep": "wanted", "estimate": "reached", "share": "share of training"}
    | {"epoch_sure": "epoch where sure", "low_sure": ""},
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
    say=lambda study, table: kept(apr.cheapest_budget(table)),
    says={IS_KEPT[apr.SAME_RUN]: keeping(False), IS_KEPT[apr.ANOTHER_RUN]: keeping(True)},
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


RANKS_ALIKE = Kind(
    name="recipes rank alike",
    speaks=sources("architectures", "trainings"),
    smallest=apr.SMALLEST_CORRELATION,
    subject="the ranking under the main recipe",
    words={
        "yes": "{subject} carries over to {about} on {names}",
        "opposite": "{subject} is reversed under {about} on {names}",
        "no": "{subject} does not carry over to {about} on {any_of}",
        "undecided": "it is undecided whether {subject} carries over to {about} on {any_of}",
    },
)
MOST_ERR_LESS = Kind(
    name="more than half err less",
    speaks=OF_SAMPLE,
    smallest=0.0,
    words={
        "yes": "on {names}, more than half of such architectures err less under {about}",
        "opposite": "on {names}, fewer than half of such architectures err less under {about}",
    },
)


def changed(table: pd.DataFrame, by: str) -> Said:
    """Does the ranking depend on the recipe, and do most architectures err less under it?"""
    said: list[Claim | Fact] = []
    for recipe, rows in table.groupby(by, sort=False):
        known, about = rows.dropna(subset="estimate").to_dict("records"), f"the recipe {recipe}"
        for row in known:
            both = sources("architectures", "trainings")
            alike = Interval(row["alike_low"], row["alike_high"], both, len(rows))
            said.append(Claim(RANKS_ALIKE, str(row["dataset"]), alike, about, len(rows)))
        for row in known:
            low, high = (row[f"improved_{end}"] - 0.5 for end in ("low", "high"))
            less = Interval(low, high, OF_SAMPLE, len(rows))
            said.append(Claim(MOST_ERR_LESS, str(row["dataset"]), less, about, len(rows)))
    return said


#: Draws the errors of a dataset under two recipes: two columns.
TwoRecipes = Callable[[Draw, Setting], Floats]


def ranked_alike(rho: float) -> TwoRecipes:
    """Errors without the noise of training correlate by rho under two recipes."""
    return lambda draw, setting: correlated([rho], setting, draw).errors.to_numpy()


def changed_by(moved: float) -> TwoRecipes:
    """Half of the errors change by less than `moved` under another recipe, whatever the shape."""

    def draw_errors(draw: Draw, setting: Setting) -> Floats:
        quality, own = draw.normal(size=(2, setting.n, 1))
        change = shaped(quality, own, 0.0, setting.shape, draw) - median_of(setting.shape) + moved
        before = MIDDLE + SPREAD * quality
        return np.hstack([before, before + change])

    return draw_errors


def of_datasets(errors: TwoRecipes) -> Callable[[Draw, Setting], Inputs]:
    """Datasets whose errors under two recipes are drawn alike."""

    def draw_inputs(draw: Draw, setting: Setting) -> Inputs:
        drawn = {f"t{number}": errors(draw, setting) for number in range(setting.targets)}
        first, second = (
            pd.DataFrame({name: both[:, at] for name, both in drawn.items()}) for at in (0, 1)
        )
        return Inputs(errors=first, recipes={"other": second})

    return draw_inputs


CHANGES = (*settings(n=SIZES, targets=TARGETS, shape=SHAPES), Setting(n=12, shape="diverged"))
NOISY = (Setting(icc=0.5), Setting(n=300, icc=0.8))


def worlds_of(
    draw_of: Callable[[TwoRecipes], Callable[[Draw, Setting], Inputs]], over: tuple[Setting, ...]
) -> dict[Kind, tuple[World, ...]]:
    """The worlds of two versions of errors, as `draw_of` makes inputs of them."""
    some, also_noisy = over[:2], over + NOISY
    alike = (
        World("rho 0.29", "false", draw_of(ranked_alike(0.29)), answers("no"), also_noisy),
        World("rho 0.3", "threshold", draw_of(ranked_alike(0.3)), answers("yes"), also_noisy),
        World("rho 0.7", "true", draw_of(ranked_alike(0.7)), answers("yes"), some),
    )
    less = (
        World("half err less", "false", draw_of(changed_by(0.0)), answers(), over),
        World("half and a hair err less", "threshold", draw_of(changed_by(-0.01)), answers("yes"),
              over),
        World("many err less", "true", draw_of(changed_by(-2.0)), answers("yes"), some),
    )  # fmt: skip
    return {RANKS_ALIKE: alike, MOST_ERR_LESS: less}


def recipes(study: Study) -> pd.DataFrame:
    """Errors under whatever else was trained or measured, against those under the main recipe.

    Those of every other recipe, also on average over further test sets; top-5 against top-1 errors;
    and datasets against their balanced versions.
    """
    how, roles = study.options.correlating, study.known("roles")
    source = roles.source if roles and roles.source in study.errors else None
    parts: Parts = {}
    for name, errors in (study.known("recipes") or {}).items():
        parts[RECIPE, name] = partial(apr.agreement, study.errors, errors, source, **how)
    for name, tables in averaged(study).items():
        parts[SHIFTED, name] = partial(apr.agreement, *tables, **how)
    if both := study.known("by_metric"):
        parts[METRIC, "top-5"] = partial(apr.agreement, both["top1"], both["top5"], **how)
    for plain, balanced in variants_of(study, lambda variant: variant.pop("balanced", False)):
        after = study.errors[[balanced]].set_axis([plain], axis="columns")
        parts[BALANCED, balanced] = partial(apr.agreement, study.errors[[plain]], after, **how)
    if not parts:
        raise DoesNotApplyError(
            f"{ONE_RECIPE}; nor are there top-5 errors, or balanced versions of datasets"
        )
    table = stacked(["compared", "version"], parts, study.progress)
    table.attrs["family"] = "the datasets of each comparison"
    return table


def averaged(study: Study) -> dict[str, tuple[pd.DataFrame, pd.DataFrame]]:
    """By other recipe, mean errors over the further test sets under the main one and under it.

    Of the test sets that a dataset's networks have under both.
    """
    found = {}
    for recipe, tables in (study.known("recipe_test_sets") or {}).items():
        means: dict[str, pd.Series] = {}
        others: dict[str, pd.Series] = {}
        for dataset, own in (study.known("test_sets") or {}).items():
            other = tables.get(dataset, own[[]])
            if names := [name for name in own.columns[1:] if name in other]:
                means[dataset] = own[names].mean(axis=1, skipna=False)
                others[dataset] = other[names].mean(axis=1, skipna=False)
        if means:
            found[recipe] = pd.DataFrame(means), pd.DataFrame(others)
    return found


def of_kind(table: pd.DataFrame, compared: str) -> pd.DataFrame:
    """The rows of what is compared; those of the first version."""
    rows = table[(table["compared"] == compared) & table["dataset"].notna()]
    if rows.empty:
        raise DoesNotApplyError(f"nothing of this is compared: {compared}")
    return rows[rows["version"] == rows["version"].iloc[0]]


def versions_of(study: Study, rows: pd.DataFrame) -> Versions:
    """Errors before and after what the first row compares, one of RECIPE and METRIC."""
    compared, name = rows[["compared", "version"]].iloc[0]
    if compared == RECIPE:
        return study.errors, study.recipes[name], ("main recipe", name)
    return study.by_metric["top1"], study.by_metric["top5"], ("top-1", "top-5")


def against(name: str, title: str, caption: str, compared: str) -> StudyFigure[Study]:
    """A figure of the errors after against those before, a panel for each dataset."""

    def data(study: Study) -> pd.DataFrame:
        rows = of_kind(study.table("recipes"), compared)
        before, after, _ = versions_of(study, rows)
        return plots.agreement_data(before, after, list(rows["dataset"]))

    def draw(study: Study, _: pd.DataFrame) -> "Figure":
        rows = of_kind(study.table("recipes"), compared)
        before, after, labels = versions_of(study, rows)
        return plots.agreement_grid(before, after, rows, labels)

    return StudyFigure(
        name=name, title=title, caption=caption, draw=draw, data=data, panels="dataset"
    )


def drawn_by_recipe(study: Study) -> pd.DataFrame:
    """Return rows of the first other recipe, on datasets that are compared with the source."""
    rows = of_kind(study.table("recipes"), RECIPE)
    rows = rows.dropna(subset="source_after") if "source_after" in rows else rows[:0]
    if rows.empty:
        raise DoesNotApplyError("no dataset is compared with the source under both recipes")
    return rows


def draw_by_recipe(study: Study, rows: pd.DataFrame) -> "Figure":
    """A panel for each target."""
    before, after, labels = versions_of(study, rows)
    return plots.source_by_recipe_grid(before, after, rows, study.roles.source, labels)


def arrange_recipes(table: pd.DataFrame) -> pd.DataFrame:
    """Without the source where nothing is compared with it."""
    source = table.filter(like="source_")
    return table.drop(columns=source.columns[source.isna().all()])


RECIPES = Analysis[Study](
    name="recipes",
    older_names=("source-by-recipe", "metrics", "balance", "recipe-robustness"),
    title="Other recipes, metrics and versions of datasets against the main ones",
    table=recipes,
    question="Does another recipe, metric or balance of the classes change the ranking, or the "
    "errors?",
    formula="ρ(errors before, errors after), and mean(after) - mean(before); ρ(source under the "
    "main recipe, target under each recipe), and the paired difference",
    source="paper 1, sections 6.1.1, 6.1.2, 6.1.4, 6.1.6 and 6.2.1, Figures A1, A2 and A4 to A6; "
    "paper 5, section 3",
    avoid=(
        "for recipes that differ in more than one thing, if the question is which of them helps; a "
        "balanced version also has fewer images; of ten classes, top-5 errors are near 0"
    ),
    needs=("equal_weights",),
    headings=CHANGE
    | {"source_before": "source, main recipe", "source_after": "source, this recipe"}
    | {"source_difference": "difference", "source_n": ""},
    arrange=arrange_recipes,
    figures=(
        against(
            "recipes",
            "Errors under another recipe",
            "Errors under another recipe against those under the main one.",
            RECIPE,
        ),
        StudyFigure(
            name="source-by-recipe",
            title="Targets under two recipes against the source",
            caption="Errors on each target under the main recipe and under another one, such as "
            "from pretrained weights, against those on the source under the main one.",
            draw=draw_by_recipe,
            data=drawn_by_recipe,
            panels="dataset",
        ),
        against("metrics", "Top-5 against top-1 errors", "Top-5 against top-1 errors.", METRIC),
    ),
    say=lambda study, table: changed(table[table["compared"] == RECIPE], "version"),
    says=worlds_of(of_datasets, CHANGES),
    topic="Training",
    section="training",
    heading="Other recipes, metrics and versions",
    shown="open",
    note=(
        "Below zero, a change says that what is compared errs less. Source: how well the source "
        "under the main recipe predicts each dataset under the main recipe, such as from scratch, "
        "and under another, such as from pretrained weights."
    ),
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
    needs=("roles", "equal_weights"),
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
