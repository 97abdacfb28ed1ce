"""Further test sets: lines, gaps, ranks and robustness (papers 2, 4 and 5)."""

from collections.abc import Callable
from dataclasses import replace
from fnmatch import fnmatchcase
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from anynet_study.analysis import apr, plots
from anynet_study.analysis.analyses.building import Parts, stacked, with_averages
from anynet_study.analysis.analysis import MOST_PANELS, Analysis, StudyFigure, check_room
from anynet_study.analysis.apr.simultaneous import bonferroni
from anynet_study.analysis.claims import Claim, Fact, Interval, Kind, Said, sources
from anynet_study.analysis.study import SHIFT, Inputs, Study
from anynet_study.analysis.worlds import SHAPES, Draw, Setting, World, answers, correlated
from anynet_study.core.errors import DoesNotApplyError, UserError, listed, some_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def of_test_sets(
    study: Study, make: Callable[[pd.DataFrame, str, dict[str, int] | None], pd.DataFrame]
) -> pd.DataFrame:
    """One table of what `make` says of each further test set.

    It takes the accuracies on all test sets, the name of the further one, and the numbers of images
    of that and of the dataset's own, where both are known.
    """
    parts: Parts = {}
    for dataset, table in study.accuracies.items():
        for name in table.columns[1:]:
            images = image_counts(study, dataset, table[["test", name]])
            parts[dataset, str(name)] = partial(make, table, name, images)
    return _told(study, stacked(["dataset", "test_set"], parts, study.progress))


def of_datasets(
    study: Study, make: Callable[[pd.DataFrame, dict[str, int] | None], pd.DataFrame]
) -> pd.DataFrame:
    """One table of what `make` says of the accuracies on all test sets of each dataset."""
    parts: Parts = {
        (dataset,): partial(make, table, image_counts(study, dataset, table))
        for dataset, table in study.accuracies.items()
    }
    return _told(study, stacked(["dataset"], parts, study.progress))


def _told(study: Study, table: pd.DataFrame) -> pd.DataFrame:
    """The table, with remarks on what counts as test sets, and on what does not."""
    said = [
        f"Further test sets of {dataset}: {listed(some_of(errors.columns[1:]))}."
        for dataset, errors in study.test_sets.items()
    ]
    roles = study.known("roles")
    for dataset, errors in study.evaluated.items():
        used = study.test_sets.get(dataset, errors.iloc[:, :1])
        others = [f"{name} ({study.kind_of(dataset, name)})" for name in errors if name not in used]
        if others:
            said.append(f"Evaluations of {dataset} that do not count: {listed(some_of(others))}.")
    known = {
        *study.shifts,
        *study.shifts.values(),
        *(roles.family | roles.targets if roles else ()),
    }
    idle = [name for name in study.errors if name not in known]
    if study.shifts and idle:
        said.append(f"Left out, as nothing says what they are: {listed(some_of(idle))}.")
    table.attrs["remarks"] = said
    return table


def image_counts(study: Study, dataset: str, table: pd.DataFrame) -> dict[str, int] | None:
    """Images of the test sets in a table; None unless all are known."""
    known = study.images.get(dataset, {})
    return {name: known[name] for name in table} if set(table) <= set(known) else None


def drawn_dataset(study: Study) -> str:
    """The dataset that figures show: the source where it has further test sets, or the first."""
    roles, tables = study.known("roles"), study.accuracies
    name = roles.source if roles and roles.source in tables else next(iter(tables))
    check_room(tables[name].shape[1] - 1, MOST_PANELS, "test sets")
    return str(name)


def drawn_rows(study: Study, table: str) -> pd.DataFrame:
    """The rows of a table, and its averages, that are of the dataset that figures show."""
    rows, name = study.table(table), drawn_dataset(study)
    drawn = rows[rows["dataset"] == name]
    averages = [row for row in rows.attrs.get("averages", []) if row["dataset"] == name]
    drawn.attrs = rows.attrs | {"averages": averages}
    return drawn


def shifts(study: Study) -> pd.DataFrame:
    """Accuracy on a further test set as a line on that on the dataset's own, and how it changes.

    Intervals of changes hold together for all test sets.
    """
    asked = sum(table.shape[1] - 1 for table in study.accuracies.values())
    level = bonferroni(study.options.level, asked)

    def lines(table: pd.DataFrame, name: str, images: dict[str, int] | None) -> pd.DataFrame:
        x, y, fits = table["test"], table[name], []
        changes = apr.mean_change(table, "test", name, images, level)
        row = dict(zip(("change", "change_low", "change_high"), changes, strict=True))
        for scale in ("linear", "logit"):
            found = apr.linear_fit(x, y, scale, study.options.level)
            fits.append({"scale": scale, **row, **found.row()})
        return pd.DataFrame(fits)

    return with_ranking(study, of_test_sets(study, lines))


def with_ranking(study: Study, table: pd.DataFrame) -> pd.DataFrame:
    """The table, with the rank correlation of the errors on each test set with those on the own.

    Its averages are those of the mean errors over the further test sets.
    """
    how = study.options.intervals
    parts: Parts = {
        (dataset,): partial(
            apr.shift_agreement, errors, images=image_counts(study, dataset, errors), **how
        )
        for dataset, errors in study.test_sets.items()
    }
    names = {"evaluation": "test_set", "estimate": "rho", "low": "rho_low", "high": "rho_high"}
    columns = ["rho", "rho_low", "rho_high", "rho_n", "holds_low", "holds_high", "holds"]
    try:
        found = stacked(["dataset"], parts).rename(columns=names | {"n": "rho_n"})
    except DoesNotApplyError:  # no two architectures have an error on all test sets
        return table.assign(**dict.fromkeys(columns, np.nan))
    keys = ["dataset", "test_set"]
    result = table.merge(found.reindex(columns=[*keys, *columns]), on=keys, how="left")
    family = found.attrs["family"] if len(parts) == 1 else "the test sets of each dataset"
    averages = [
        {names.get(key, key): value for key, value in row.items()} | {"rho_n": row["n"]}
        for row in found.attrs["averages"]
    ]
    result.attrs = found.attrs | table.attrs | {"family": family, "averages": averages}
    return result


OF_IMAGES = sources("architectures", "images")
CHANGES = Kind(
    name="accuracy changes",
    speaks=OF_IMAGES,
    smallest=0.0,
    words={
        "opposite": "on {names}, networks trained on {about} are less accurate: by {interval} "
        "points on average",
        "yes": "on {names}, networks trained on {about} are more accurate: by {interval} points "
        "on average",
        "undecided": "on {names}, networks trained on {about} may be more or less accurate "
        "({interval} points on average)",
    },
)
HOLDS = Kind(
    name="ranking carries over to a further test set",
    speaks=OF_IMAGES,
    smallest=apr.SMALLEST_CORRELATION,
    subject="the ranking of networks trained on {about}",
    what="further test sets",
    words={
        "yes": "{subject} carries over to {names}",
        "opposite": "{subject} is reversed on {names}",
        "no": "{subject} does not carry over to {any_of}",
        "undecided": "it is undecided whether {subject} carries over to {any_of}",
    },
)


def found_on_shifts(study: Study, shifts: pd.DataFrame) -> Said:
    """Tell how accuracy changes on further test sets, and whether the ranking carries over there.

    Of shifts alone: transforms of the own images share their sampling error.
    """
    said: list[Claim | Fact] = []
    lines = shifts[shifts["scale"].eq("linear") & shifts["change"].notna()]
    for dataset, rows in lines.groupby("dataset", sort=False):
        asked, of_all = len(rows), len(lines)
        known = [
            row
            for row in rows.to_dict("records")
            if study.kind_of(str(dataset), row["test_set"]) == SHIFT
        ]
        for row in known:
            ends = Interval(row["holds_low"], row["holds_high"], OF_IMAGES, asked)
            said.append(Claim(HOLDS, str(row["test_set"]), ends, str(dataset), asked))
        for row in sorted(known, key=lambda row: row["change"]):  # of many, the largest loss first
            change = row["change_low"], row["change_high"]
            ends = Interval(*change, OF_IMAGES, of_all, row["change"])
            said.append(Claim(CHANGES, str(row["test_set"]), ends, str(dataset), of_all))
    return said


def of_test_images(rho: float, change: float) -> Callable[[Draw, Setting], Inputs]:
    """Networks whose true accuracies correlate by rho on further test sets, `change` apart."""

    def draw_inputs(draw: Draw, setting: Setting) -> Inputs:
        true = correlated([rho] * setting.targets, replace(setting, images=0), draw).errors
        true = true.set_axis(["test", *true.columns[1:]], axis=1)
        # A spread of accuracies as small as the sampling error, at few images.
        true = 40 + (true - 40) / 2
        true = true - true.mean() + 40
        true.iloc[:, 1:] -= change
        share = np.clip(true.to_numpy() / 100, 0.01, 0.99)
        # All networks see the same images: half of the variance is what is hard for all.
        sampling = np.sqrt(share * (1 - share) / setting.images / 2)
        off = draw.normal(size=(1, share.shape[1])) + draw.normal(size=share.shape)
        tested = np.clip(share + sampling * off, 0, 1)
        table = pd.DataFrame(100 * tested, columns=true.columns)
        errors, sizes = (
            table[["test"]].set_axis(["d"], axis=1),
            dict.fromkeys(table, setting.images),
        )
        return Inputs(errors=errors, evaluated={"d": table}, images={"d": sizes})

    return draw_inputs


TESTED = (
    *(
        Setting(n=n, targets=targets, images=images)
        for n, targets, images in (
            (100, 7, 2_000), (12, 2, 2_000), (30, 2, 200), (100, 1, 200), (100, 20, 10_000),
            (300, 7, 50_000), (300, 2, 200),
        )
    ),
    *(Setting(images=2_000, shape=shape) for shape in SHAPES[1:]),
)  # fmt: skip
HOLDING = (
    World("rho 0.29 of true accuracies", "false", of_test_images(0.29, 5), answers("no"), TESTED),
    World(
        "rho 0.3 of true accuracies",
        "threshold",
        of_test_images(0.3, 5),
        answers("yes"),
        TESTED,
    ),
    World("rho 0.9 of true accuracies", "true", of_test_images(0.9, 5), answers("yes"), TESTED[:3]),
)
CHANGING = (
    World("one distribution", "false", of_test_images(0.9, 0), answers(), TESTED),
    World("0.01 points less", "threshold", of_test_images(0.9, -0.01), answers("opposite"),
          TESTED),
    World("5 points less", "true", of_test_images(0.9, -5), answers("opposite"), TESTED[:3]),
)  # fmt: skip


def draw_shifts(study: Study, _: pd.DataFrame) -> "Figure":
    """A panel for each further test set."""
    table = _called_by_dataset(study)
    return plots.fit_grid(table, *_own_and_further(table))


def drawn_shifts(study: Study) -> pd.DataFrame:
    """The points."""
    table = _called_by_dataset(study)
    return plots.fit_data(table, *_own_and_further(table), level=study.options.level)


def _called_by_dataset(study: Study) -> pd.DataFrame:
    """The accuracies that are drawn, with the dataset's own test set under the dataset's name."""
    dataset = drawn_dataset(study)
    return study.accuracies[dataset].rename(columns={"test": dataset})


def _own_and_further(table: pd.DataFrame) -> tuple[str, list[str]]:
    own, *further = map(str, table.columns)
    return own, further


SHIFTS = Analysis[Study](
    name="shifts",
    older_names=("shift-agreement",),
    title="Accuracy on further test sets as a line on that on the dataset's own",
    table=shifts,
    question=(
        "How much accuracy is lost on a further test set, is a point more on the own test set a "
        "point more there, and does the ranking hold?"
    ),
    formula=(
        "accuracy on the further test set = a + b · accuracy on the own one, linear and in logits; "
        "Spearman's ρ(error on the own test set, error on the further one)"
    ),
    source="paper 2, section 3.3 and Figure 1; paper 4, Appendix B.2",
    avoid=(
        "to extrapolate beyond the accuracies that were seen; for test sets of a few hundred "
        "images, as their sampling error lowers ρ"
    ),
    needs=("test_sets", "equal_weights"),
    headings={"r2": "R²", "adjusted_r2": "", "excluded": "", "missing": "", "method": ""}
    | {"level": "", "rho": "ρ of the errors", "rho_n": "", "holds": "ranking carries over"}
    | {"holds_low": "", "holds_high": ""},
    note="Slopes are of accuracies as measured: the sampling error of the own test set flattens "
    "them. `effective-robustness` frees its line of that.",
    figures=(
        StudyFigure(
            name="shifts",
            title="Accuracy on further test sets",
            caption="Accuracy on further test sets against that on the dataset's own, with a line "
            "and its {level} confidence region; dotted: equal accuracy.",
            draw=draw_shifts,
            data=drawn_shifts,
        ),
    ),
    arrange=lambda table: with_averages(table, "test_set"),
    say=found_on_shifts,
    says={HOLDS: HOLDING, CHANGES: CHANGING},
    topic="Further test sets",
    section="shifts",
    shown="open",
)


def gaps(study: Study) -> pd.DataFrame:
    """Return what each architecture loses on a further test set, and how its rank changes."""
    how = study.options.intervals
    return of_test_sets(
        study, lambda table, name, images: apr.gaps(table, "test", name, images, **how)
    )


def drawn_gaps(study: Study) -> pd.DataFrame:
    """On the first further test set."""
    rows = drawn_rows(study, "gaps").dropna(subset="gap")
    return rows[rows["test_set"] == rows["test_set"].iloc[0]]


GAPS = Analysis[Study](
    name="gaps",
    title="What is lost on a further test set, and changes of rank",
    older_names=("sampling-gaps",),
    table=gaps,
    question=(
        "What does each architecture lose on a further test set, and can that be sampling error?"
    ),
    formula=(
        "gap = accuracy on the own test set - accuracy on the further one; Newcombe's interval; "
        "gap = sampling error of the further test set, within its Clopper-Pearson interval, + rest"
    ),
    source="paper 2, section 2 and Table 1; Newcombe 1998, method 10",
    avoid=(
        "as evidence of overfitting: a harder test set lowers every accuracy as well, and one pair "
        "of test sets cannot tell the two apart"
    ),
    needs=("test_sets",),
    headings={"beyond": "beyond sampling", "rest_low": "", "rest_high": ""},
    figures=(
        StudyFigure(
            name="gaps",
            title="What each architecture loses",
            caption="What each architecture loses on the first further test set; bars, where the "
            "number of images is known: {level} intervals of sampling error.",
            draw=lambda study, rows: plots.gap_chart(
                rows, "own test set", rows["test_set"].iloc[0]
            ),
            data=drawn_gaps,
        ),
    ),
    section="shifts",
    shown="folded",
    caption="What each architecture loses, and its change of rank",
    note=(
        "Beyond sampling: whether the sampling error of both test sets cannot be the gap. The rest "
        "comes from a different distribution, or from choices that were fitted to the own test set."
    ),
)


def effective_robustness(study: Study) -> pd.DataFrame:
    """Accuracy beyond what the line through the baseline, or all architectures, expects."""
    level, patterns = study.options.level, study.options.baseline

    def made(table: pd.DataFrame, images: dict[str, int] | None) -> pd.DataFrame:
        like = [any(fnmatchcase(str(name), it) for it in patterns) for name in table.index]
        if patterns and not any(like):
            raise UserError(f"--baseline: no architecture is like {', '.join(patterns)}")
        names = table.index[like] if patterns else None
        return apr.effective_robustness(table, "test", baseline=names, images=images, level=level)

    found = of_datasets(study, made)
    if patterns:
        said = f"The line is that of the architectures like {', '.join(patterns)}."
        found.attrs["remarks"] = [*found.attrs.get("remarks", []), said]
    return found


EFFECTIVE_ROBUSTNESS = Analysis[Study](
    name="effective-robustness",
    older_names=("average-robustness", "robustness", "shift-ranks"),
    title="Accuracy on shifts, on average, and beyond what the line through all expects",
    table=effective_robustness,
    question=(
        "How accurate are architectures under shifts, and which are more so than their accuracy "
        "without them suggests?"
    ),
    formula=(
        "mean over the shifts of the accuracy, and its ratio to the accuracy on the own test set; "
        "accuracy on the shift - accuracy expected there from a line through the baseline (by "
        "default all architectures), fitted on the logit scale"
    ),
    source="Taori et al. 2020; paper 5, section 3; of the ranks: paper 4, Appendix B.2",
    avoid=("where accuracies on the own test set differ by hardly more than their sampling error"),
    needs=("test_sets", "equal_weights"),
    figures=(
        StudyFigure(
            name="effective-robustness",
            older_names=("robustness",),
            title="Effective robustness",
            caption="Accuracy on further test sets against that on the dataset's own; how far a "
            "point lies above the line, through all architectures or the baseline's, is its "
            "effective robustness.",
            draw=lambda study, rows: plots.effective_robustness_grid(rows, drawn_dataset(study)),
            data=lambda study: with_averages(drawn_rows(study, "effective-robustness"), "shift"),
        ),
        StudyFigure(
            name="shift-ranks",
            older_names=("transforms",),
            title="Ranks over all test sets",
            caption="Ranks of the best architectures by mean error over all test sets, the own "
            "among them, with percentiles over resampled test sets.",
            draw=lambda study, rows: plots.shift_rank_chart(rows),
            data=lambda study: apr.shift_ranks(
                study.test_sets[drawn_dataset(study)], **study.options.intervals
            ),
        ),
    ),
    arrange=lambda table: with_averages(table, "shift"),
    section="shifts",
    shown="folded",
    caption="Effective robustness",
    note="Ratio: to the accuracy on the own test set, for architectures that are about as accurate "
    "there. Effective: beyond what the line through all architectures expects. Robust: shown to be "
    f"{apr.SMALLEST_ROBUSTNESS:g} point or more beyond it, corrected for all rows; undecided "
    "where the numbers of images, and thus the sampling error, are not known.",
)
