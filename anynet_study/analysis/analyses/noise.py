"""How much of the errors is training noise (paper 1, section 6.1.3; paper 4, Figures 1a and 8a)?"""

from collections.abc import Mapping, Sequence

import pandas as pd

from anynet_study.analysis import apr, plots
from anynet_study.analysis.analysis import Analysis, StudyFigure, check_room
from anynet_study.analysis.plots import wording
from anynet_study.analysis.study import NO_REPLICATES, Study
from anynet_study.core.errors import DoesNotApplyError

#: Lines of architectures that a reader can follow at all.
MOST_LINES = 200
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


def known_noise(study: Study) -> pd.DataFrame | None:
    """The table of noise, where the study has replicates at all."""
    return None if study.known("replicates") is None else study.get("noise")


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


def noise_bounds(ceiling: pd.DataFrame) -> list[str]:
    """Where training noise alone keeps correlations low; where it hides all, `health` says so."""
    clear = ceiling[ceiling["icc_low"] > 0].sort_values("ceiling", kind="stable")
    if clear.empty:
        return []
    lowest, most = clear.iloc[0], "most on" if len(clear) > 1 else "on"
    return [
        f"Training noise limits what any proxy can reach: {most} {lowest['dataset']}, where a "
        "single run cannot be expected to correlate above "
        f"{wording.number(lowest['ceiling'])} even with a perfect proxy."
    ]


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
    needs=("replicates",),
    headings={"replicates": "runs", "icc": "ICC", "within_std": "std within"}
    | {"between_std": "between"},
    figures=(
        StudyFigure(
            name="noise",
            title="Replicates against the population",
            caption="How much of the spread is training noise. Each orange row is one architecture "
            "trained several times; above, the distribution of the mean errors of all "
            "architectures, a tick for each. sd: standard deviations in points; ICC: share of the "
            "architectures in the variance of the ranks of single runs, with its {level} interval.",
            draw=lambda study, replicates: plots.noise_grid(
                replicates, study.table("noise"), study.metrics
            ),
            data=lambda study: study.replicates,
            expected=True,
        ),
    ),
    say=lambda study, table: noise_bounds(table),
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
    needs=("replicates",),
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
    """Does the order on the source hold, where training noise can tell architectures apart?"""
    intervals = apr.replicate_intervals(study.replicates, study.options.level)
    roles = study.known("roles")
    reference = study.errors.columns[0] if roles is None else roles.source
    return apr.rank_preservation(intervals, reference)


def tied_ranks(study: Study) -> pd.DataFrame:
    """Rank of every architecture on every dataset, and those that overlapping intervals leave."""
    check_room(len(study.errors), MOST_LINES, "architectures")
    return apr.tied_ranks(apr.replicate_intervals(study.replicates, study.options.level))


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
    needs=("replicates",),
    headings={"same": "same order", "preserved": "order holds"},
    figures=(
        StudyFigure(
            name="rank-preservation",
            older_names=("ranks",),
            title="Ranks on every dataset",
            caption="Rank of every architecture on every dataset, one line per architecture. Bars: "
            "the ranks that overlapping {level} intervals, from the replicates, leave open.",
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
