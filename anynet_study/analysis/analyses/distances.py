"""Does a nearer dataset carry over better? Distances of datasets against correlations (paper 3)."""

from itertools import combinations

import numpy as np
import pandas as pd

from anynet_study.analysis import apr, plots
from anynet_study.analysis.analysis import Analysis, StudyFigure
from anynet_study.analysis.plots import wording
from anynet_study.analysis.study import Study
from anynet_study.core.errors import DoesNotApplyError

#: The distance that is compared, and the ends of its interval.
DISTANCE = {"fid_corrected": "distance", "fid_low": "distance_low", "fid_high": "distance_high"}
#: Fewest pairs that a correlation over pairs rests on, and permutations that it is tested with.
FEWEST, PERMUTATIONS = 6, 9_999


def distance(study: Study) -> pd.DataFrame:
    """By pair of datasets the distance (FID without its bias) and the correlation of errors.

    The nearest pair first. Whether the two go together over the pairs is in `attrs["remarks"]`.
    """
    known = study.distances.rename(columns=DISTANCE)
    named = {*known["a"], *known["b"]}
    there = [name for name in study.errors.columns if name in named]
    if len(there) < 2:
        raise DoesNotApplyError(_none_between(named))
    found = apr.correlations(study.errors[there], **study.weighted)
    keys = [frozenset(pair) for pair in zip(found["source"], found["target"], strict=True)]
    rows = known.assign(pair=list(map(frozenset, zip(known["a"], known["b"], strict=True))))
    rows = rows.drop_duplicates("pair").set_index("pair")[
        ["distance", "distance_low", "distance_high"]
    ]
    columns = ["source", "target", "estimate", "low", "high", "n"]
    table = found[columns].assign(pair=keys).join(rows, on="pair", how="inner")
    table = table.drop(columns="pair").sort_values("distance", kind="stable", ignore_index=True)
    if table.empty:
        raise DoesNotApplyError(_none_between(named))
    table.attrs = found.attrs | {"remarks": [over_pairs(table)]}
    return table[["source", "target", *DISTANCE.values(), "estimate", "low", "high", "n"]]


def _none_between(named: set[str]) -> str:
    some = ", ".join(sorted(named)[:6])
    return f"no distance is between two datasets of this study; there are those of {some}"


def over_pairs(table: pd.DataFrame) -> str:
    """In words: the rank correlation of distance and correlation over pairs, and its p-value."""
    known = table.dropna(subset=["distance", "estimate"])
    if len(known) < FEWEST:
        return f"{len(known)} pairs are too few to say whether nearer datasets agree more."
    rho, p = mantel(known)
    shown = f"p = {wording.number(p, 3)}" if p >= 0.001 else "p < 0.001"
    return (
        f"Over the {len(known)} pairs, distance and correlation have ρ = {wording.number(rho)} "
        f"({shown}, permuting datasets). Below 0, nearer datasets rank more alike."
    )


def mantel(table: pd.DataFrame, seed: int = 0) -> tuple[float, float]:
    """Spearman's coefficient over pairs, and its two-sided p-value when datasets are permuted.

    Pairs that share a dataset are not independent (Mantel 1967). `table` has source, target,
    distance and estimate; a pair that is absent after a permutation is left out of it.
    """
    names = sorted({*table["source"], *table["target"]})
    place = {name: number for number, name in enumerate(names)}
    ranks = np.full((2, len(names), len(names)), np.nan)
    ranked = table.assign(**table[["distance", "estimate"]].rank())
    for row in ranked.itertuples():
        one, other = place[row.source], place[row.target]
        ranks[:, one, other] = ranks[:, other, one] = row.distance, row.estimate
    ones, others = np.array(list(combinations(range(len(names)), 2))).T
    generator = np.random.default_rng(seed)
    drawn = [generator.permutation(len(names)) for _ in range(PERMUTATIONS)]
    orders = np.vstack([np.arange(len(names)), *drawn])
    x, y = np.broadcast_arrays(ranks[0][ones, others], ranks[1][orders[:, ones], orders[:, others]])
    both = ~np.isnan(x + y)
    with np.errstate(invalid="ignore"):  # too few pairs, or none that differ: 0
        x, y = (np.where(both, v - v.mean(axis=1, where=both, keepdims=True), 0) for v in (x, y))
        rho = (x * y).sum(axis=1) / np.sqrt((x**2).sum(axis=1) * (y**2).sum(axis=1))
    rho = np.where(both.sum(axis=1) < 3, 0, np.nan_to_num(rho))
    return float(rho[0]), float((1 + np.sum(abs(rho[1:]) >= abs(rho[0]) - 1e-12)) / len(rho))


DISTANCE_AND_CORRELATION = Analysis[Study](
    name="distance",
    title="Distance of datasets against the correlation of errors on them",
    table=distance,
    question="Do datasets whose images are alike rank architectures alike?",
    formula=(
        "Spearman's ρ(FID of the images, correlation of the errors) over the pairs of datasets; p "
        "by permuting datasets"
    ),
    source="paper 3, Figure 3 and Appendix M; Mantel 1967 for p",
    avoid=(
        "with a handful of datasets: pairs that share a dataset are not independent observations"
    ),
    needs=("distances",),
    headings={"distance": "FID", "n": "architectures"},
    figures=(
        StudyFigure(
            name="distance",
            title="Does a nearer dataset carry over better?",
            caption="{rho}: {correlation} of the errors on two datasets against the distance of "
            "their images (FID, its bias taken off), each with its {level} interval.",
            draw=lambda study, table: plots.distance_chart(table),
            column="distance",
        ),
    ),
    section="pairs",
    shown="folded",
    caption="Distance against correlation",
    note="The distance compares the features of the images, not their classes.",
)
