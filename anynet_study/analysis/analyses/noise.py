"""Tell how much of the errors is training noise (paper 1, section 6.1.3; paper 4, 1a and 8a)."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cache

import numpy as np
import pandas as pd

from anynet_study.analysis import apr, plots
from anynet_study.analysis.analyses.building import with_interval
from anynet_study.analysis.analysis import Analysis, StudyFigure, check_room
from anynet_study.analysis.apr.simultaneous import bonferroni
from anynet_study.analysis.claims import Claim, CorrectedP, Interval, Kind, Said, sources
from anynet_study.analysis.plots import wording
from anynet_study.analysis.study import NO_REPLICATES, Inputs, Study
from anynet_study.analysis.worlds import (
    MANY,
    SHAPES,
    SOURCE,
    Draw,
    Setting,
    Shape,
    World,
    answers,
    correlated,
    shaped,
)
from anynet_study.core.errors import DoesNotApplyError

#: Lines of architectures that a reader can follow at all.
MOST_LINES = 200
#: Datasets whose bounds are told: the lowest ones.
MOST_BOUNDS = 3
#: Less than this share of the differences between runs is the architectures': mostly noise.
MOSTLY_NOISE = 0.5
#: Fewer repeated trainings than this on a dataset tell nothing of its noise, for or against.
FEWEST_REPEATED = 4
#: Two parts of a table of proxies.
MEASURED, FREED = "as measured", "proxies freed of noise"
CUT = (
    "Freed of noise, a correlation can be estimated beyond 1 or −1, as reliabilities are "
    "estimates, too. It is cut there, with its interval, and the note has what it was. The "
    "interval says which correlations agree with the data."
)


def noise(study: Study) -> pd.DataFrame:
    """Variance within and between architectures, and the ceiling of correlations."""
    table = apr.noise_ceiling(study.replicates, study.options.method, study.options.level)
    if table.empty:
        raise DoesNotApplyError(NO_REPLICATES)
    return table


def noise_of(runs: pd.DataFrame) -> pd.DataFrame:
    """Return the noise (`apr.noise_ceiling`) of runs, in intervals that hold together."""
    known = runs.drop(columns="status", errors="ignore")
    return apr.noise_ceiling(known, level=bonferroni(0.95, known["dataset"].nunique()))


def known_noise(study: Study) -> pd.DataFrame | None:
    """The table of noise, where the study has replicates at all."""
    return None if study.known("replicates") is None else study.get("noise")


def noise_together(study: Study, asked: int) -> pd.DataFrame | None:
    """The noise of so many datasets in intervals that hold together; else what is declared of it.

    None where neither replicates nor --least-icc tell it.
    """
    replicates, least = study.known("replicates"), study.options.least_icc
    if replicates is not None and study.weights is None:
        level = bonferroni(study.options.level, asked)
        return apr.noise_ceiling(replicates, study.options.method, level)
    if least is None:
        return None
    return pd.DataFrame({"dataset": study.errors.columns, "icc": least, "icc_low": least})


def replicates_of(study: Study, names: Sequence[str]) -> pd.DataFrame | None:
    """The replicates, where they tell the noise of all these datasets (an ICC above 0)."""
    noise = known_noise(study)
    known = set() if noise is None else set(noise.loc[noise["icc"] > 0, "dataset"])
    return study.replicates if set(names) <= known and study.options.method != "kendall" else None


def cut(table: pd.DataFrame, bounds: Mapping[str, float | pd.Series]) -> pd.DataFrame:
    """A table with these columns, and their intervals, cut at ±bound where they are beyond it.

    Where an estimate is, the note of its row has what it was, and a remark explains it.
    """
    shown, noted = table.copy(), table.get("note", pd.Series("", table.index)).copy()
    for name, bound in bounds.items():
        if name not in table:  # nothing could be compared
            continue
        before = "" if name == "estimate" else f"{name}_"
        for column in {name, f"{before}low", f"{before}high"} & {*table.columns}:
            shown[column] = table[column].clip(-bound, bound)
        for row in table.index[table[name].abs() > bound]:
            was, now = wording.number(table[name][row]), wording.number(shown[name][row], 0)
            noted[row] = "; ".join(filter(None, [noted[row], f"{was} cut to {now}"]))
            shown.attrs["remarks"] = [*table.attrs.get("remarks", []), CUT]
    return shown.assign(note=noted) if CUT in shown.attrs.get("remarks", []) else shown


OF_NOISE = sources("architectures", "trainings")
CEILING = Kind(
    name="ceiling of noise",
    speaks=OF_NOISE,
    smallest=None,
    words={
        "estimate": "on {names}, training noise keeps a single run from correlating above {high} "
        "even with a perfect proxy",
    },
)


def noise_bounds(study: Study, ceiling: pd.DataFrame) -> Said:
    """Return where training noise alone keeps correlations low; where it hides all, `health` says
    so.

    The bounds are upper ends that hold together, so that a reader may look at the lowest.
    """
    known = noise_together(study, len(ceiling))
    assert known is not None
    clear = known[known["icc_low"] > 0].sort_values("icc_high", kind="stable")
    return [
        Claim(
            CEILING,
            str(row["dataset"]),
            Interval(
                float(np.sqrt(max(row["icc_low"], 0))),
                float(np.sqrt(max(row["icc_high"], 0))),
                OF_NOISE,
                len(ceiling),
            ),
            asked=len(ceiling),
        )
        for row in clear.to_dict("records")[:MOST_BOUNDS]
    ]


#: What `health` says before the answer.
NOT_SHOWN = Kind(
    name="architectures differ, before the answer",
    speaks=OF_NOISE,
    words={
        "undecided": "training noise: it is not shown that architectures differ at all on {names}, "
        "where two trainings of one may differ as much",
    },
)
MOSTLY = Kind(
    name="noise is most of the differences, before the answer",
    speaks=OF_NOISE,
    smallest=MOSTLY_NOISE,
    words={"no": "training noise is most of the differences between single runs on {names}"},
)


def hidden_by_noise(noise: pd.DataFrame) -> list[Claim]:
    """On which datasets architectures are not shown to differ, or do so by less than noise does.

    `noise` has intervals of ICCs that hold together. Of datasets with fewer than `FEWEST_REPEATED`
    repeated trainings nothing is said.
    """
    repeated = noise["replicates"] - noise["architectures"]
    known = noise[noise["icc"].notna() & (repeated >= FEWEST_REPEATED)]
    p, asked = apr.adjust(known["p"]), len(known)
    differ: list[Claim] = []
    share: list[Claim] = []
    for row, corrected in zip(known.to_dict("records"), p, strict=True):
        # Those that hold together are wider than those in the table: a number has one interval.
        icc = with_interval(row, "icc") if asked == 1 else wording.number(row["icc"])
        name = f"{row['dataset']} (ICC {icc})"
        tested = CorrectedP(float(corrected), 1.0, OF_NOISE, asked)
        differ.append(Claim(NOT_SHOWN, name, tested, asked=asked))
        if differ[-1].answer == "yes":
            ends = Interval(row["icc_low"], row["icc_high"], OF_NOISE, asked)
            share.append(Claim(MOSTLY, name, ends, asked=asked))
    return [*differ, *share]


def under_bound(claim: Claim, inputs: Inputs) -> bool:
    """The bound is no lower than the true ceiling."""
    assert isinstance(claim.evidence, Interval)
    return bool(claim.evidence.high >= inputs.errors.attrs["ceiling"][claim.name])


@cache
def ceiling_of(icc: float, shape: Shape) -> float:
    """The root of the correlation of the ranks of two runs of many architectures."""
    setting = Setting(MANY, 1, shape, icc, MANY)
    runs = correlated([0.5], setting, np.random.default_rng(0)).replicates
    assert runs is not None
    both = runs[runs["dataset"] == "t0"].pivot(columns="replicate", index="architecture")["error"]
    return float(np.sqrt(both.corr("spearman").iloc[0, 1]))


def of_runs(draw: Draw, setting: Setting) -> Inputs:
    """Runs with the setting's ICC where they are normal."""
    drawn = correlated([0.5] * (setting.targets - 1), setting, draw)
    ceilings = {str(name): ceiling_of(setting.icc, setting.shape) for name in drawn.errors}
    drawn.errors.attrs["ceiling"] = ceilings | {SOURCE: ceiling_of(setting.icc, "normal")}
    return drawn


REPEATED = tuple(
    Setting(n=n, targets=datasets, icc=icc, twice=twice)
    for n, twice, datasets, icc in (
        (100, 16, 8, 0.8), (12, 12, 2, 0.8), (30, 30, 3, 0.7), (300, 300, 8, 0.9), (300, 4, 8, 0.5),
        (100, 16, 2, 0.8), (100, 100, 20, 0.8), (60, 30, 7, 0.8),
    )
) + tuple(Setting(targets=8, shape=shape, icc=0.8, twice=twice) for shape in SHAPES[1:]
          for twice in (16, 100))  # fmt: skip


def hiding(study: Study) -> Said:
    """Return the claims of `health` about the study's noise."""
    return hidden_by_noise(noise_of(study.replicates))


def of_level(icc: float) -> Callable[[Draw, Setting], Inputs]:
    """Runs with this ICC, all the same on a dataset but for noise where it is 0."""

    def draw_inputs(draw: Draw, setting: Setting) -> Inputs:
        drawn = of_runs(draw, replace(setting, icc=icc or 0.5))
        if icc:
            return drawn
        replicates = drawn.replicates
        assert replicates is not None
        noise = shaped(
            draw.normal(size=(len(replicates), 1)), np.zeros((1, 1)), 1.0, setting.shape, draw
        )
        return replace(drawn, replicates=replicates.assign(error=noise[:, 0]))

    return draw_inputs


HIDDEN = (
    Setting(targets=8, twice=16),
    Setting(n=30, targets=2, twice=30),
    Setting(n=12, targets=2, twice=12),
    Setting(targets=20, twice=100),
    Setting(n=300, targets=8, twice=16, shape="skewed"),
    *(Setting(targets=8, twice=100, shape=shape) for shape in SHAPES[1:]),
)
HIDING = (
    World("architectures do not differ", "false", of_level(0.0), answers(), HIDDEN, hiding),
    World("ICC 0.01", "threshold", of_level(0.01), answers("yes"), HIDDEN, hiding),
    World("ICC 0.8", "true", of_level(0.8), answers("yes"), HIDDEN[:2], hiding),
)
NORMAL = HIDDEN[:4]
ALL_TWICE = (Setting(targets=2, twice=100), Setting(n=300, targets=2, twice=300))
MOSTLY_HIDING = (
    World("ICC 0.55 of normal runs", "false", of_level(0.55), answers("yes"), NORMAL, hiding),
    World("ICC 0.5 of ranks", "threshold", of_level(0.518), answers("yes"), NORMAL, hiding),
    World("ICC 0.2", "true", of_level(0.2), answers("no"), ALL_TWICE, hiding),
)
BOUNDING = (World("ICC as in the setting", "threshold", of_runs, under_bound, REPEATED),)


NOISE = Analysis[Study](
    name="noise",
    title="Training variability and the ceiling it puts on correlations",
    table=noise,
    question="How much of the differences is training noise?",
    formula="ICC = σ²(between) / (σ²(between) + σ²(within)) of the ranks of runs, by one-way "
    "analysis of variance; ceiling = √ICC",
    source="paper 1, section 6.1.3 and Figure A3",
    avoid=(
        "as a property of the dataset alone: architectures of a wider band of FLOPs have a higher "
        "ICC"
    ),
    needs=("replicates", "equal_weights"),
    headings={"replicates": "runs", "icc": "ICC", "within_std": "std within"}
    | {"between_std": "between", "p": ""},
    figures=(
        StudyFigure(
            name="noise",
            title="Replicates against the population",
            caption="How much of the spread is training noise. Each orange row is one architecture "
            "trained several times; above, the distribution of the mean errors of all "
            "architectures, a tick for each. sd: standard deviations in points; ICC: share of the "
            "architectures in the variance of the ranks of single runs, with its {level} interval.",
            draw=lambda study, replicates: plots.noise_grid(
                study.called(replicates), study.table("noise"), study.metrics
            ),
            data=lambda study: study.replicates,
            expected=True,
        ),
    ),
    say=noise_bounds,
    says={CEILING: BOUNDING, NOT_SHOWN: HIDING, MOSTLY: MOSTLY_HIDING},
    topic="Training noise",
    section="noise",
    shown="open",
    note=(
        "ICC: the share of differences between architectures in the variance of the ranks of "
        "single runs (with --method pearson: of their errors). It is the correlation to be "
        "expected between two runs of the same architectures. Its interval is not by resamples, "
        "but by Fisher's z with the jackknife's standard error."
    ),
    expected=True,
)


def corrected(study: Study) -> pd.DataFrame:
    """Correlations as they would be without training noise."""
    table = apr.corrected_correlations(study.replicates, **study.options.correlating)
    return cut(table, {"corrected": 1})


CORRECTED = Analysis[Study](
    name="corrected",
    title="Correlations of single runs, and without the noise of training",
    table=corrected,
    question="How would errors correlate if training had no noise?",
    formula="ρ / √(ICC(x) ICC(y))",
    source="Spearman 1904 (attenuation)",
    avoid="where the interval of an ICC comes near 0: the quotient can then have any value",
    needs=("replicates", "equal_weights"),
    headings={"source": "dataset", "target": "and", "estimate": "of single runs"}
    | {"icc_source": "", "icc_target": "", "corrected": "without noise"},
    section="noise",
    shown="folded",
    caption="Correlations without the noise of training",
    note=(
        "Without noise: what the correlation of two datasets would be if each error were the mean "
        "over many trainings, which is the correlation of single runs divided by the root of the "
        "product of both ICCs (Spearman's attenuation formula)."
    ),
)


def rank_preservation(study: Study) -> pd.DataFrame:
    """Does the order on the source hold, where error bars can tell architectures apart?"""
    intervals = error_bars(study)
    roles = study.known("roles")
    reference = study.errors.columns[0] if roles is None else roles.source
    table = apr.rank_preservation(intervals, reference)
    table.attrs["remarks"] = [*intervals.attrs["remarks"], *table.attrs["remarks"]]
    return table


def error_bars(study: Study) -> pd.DataFrame:
    """Intervals of every architecture's error on every dataset, as `apr.tied_ranks` takes them.

    From replicates; of single runs from the test images, on the datasets whose numbers are known.
    """
    level = study.options.level
    if (replicates := study.known("replicates")) is not None:
        intervals = apr.replicate_intervals(replicates, level)
        intervals.attrs["remarks"] = ["Error bars are of the noise of training."]
        return intervals
    shares, images = (None, "top1", "top5"), study.image_counts
    known = [
        name for name in study.errors if name in images and study.metrics.get(str(name)) in shares
    ]
    if not known:
        raise DoesNotApplyError(
            f"{NO_REPLICATES}, and no numbers of test images are known (of a table: --images)"
        )
    intervals = apr.sampling_intervals(study.errors[known], images, level)
    intervals.attrs["remarks"] = [
        "Nothing was trained twice: error bars are of the sampling of test images "
        "(Clopper-Pearson), and know nothing of the noise of training."
    ]
    return intervals


def tied_ranks(study: Study) -> pd.DataFrame:
    """Rank of every architecture on every dataset, and those that overlapping intervals leave."""
    check_room(len(study.errors), MOST_LINES, "architectures")
    return apr.tied_ranks(error_bars(study))


RANK_PRESERVATION = Analysis[Study](
    name="rank-preservation",
    older_names=("ties",),
    title=(
        "Pairs of architectures in the order of the source, tied by overlapping intervals, or "
        "swapped"
    ),
    table=rank_preservation,
    question="Which pairs of architectures keep their order on another dataset?",
    formula=(
        "shares of pairs of architectures in the same order, tied (intervals overlap) and swapped"
    ),
    source="paper 4, section 4.2 and Figures 1a and 8a",
    avoid=(
        "as evidence that tied architectures are equally good: 95% intervals that just touch mean "
        "p < 0.01, so that many tied pairs differ significantly"
    ),
    needs=("equal_weights",),
    headings={"same": "same order", "preserved": "order holds"},
    figures=(
        StudyFigure(
            name="rank-preservation",
            older_names=("ranks",),
            title="Ranks on every dataset",
            caption="Rank of every architecture on every dataset, one line per architecture. Bars: "
            "the ranks that overlapping {level} intervals leave open: from the replicates, or of "
            "single runs from the test images.",
            draw=lambda study, ranks: plots.rank_preservation_chart(ranks),
            data=tied_ranks,
        ),
    ),
    section="noise",
    shown="folded",
    caption="Order of pairs of architectures",
    note=(
        "Compared with the order on the source. Pairs whose intervals overlap on one of the two "
        "datasets are tied."
    ),
)
