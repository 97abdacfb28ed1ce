"""Does a nearer dataset carry over better? Distances of datasets against correlations (paper 3)."""

from collections.abc import Callable
from itertools import combinations

import numpy as np
import pandas as pd
from scipy.linalg import cholesky
from scipy.spatial.distance import cdist

from anynet_study.analysis import apr, plots
from anynet_study.analysis.analysis import Analysis, StudyFigure
from anynet_study.analysis.claims import Claim, CorrectedP, Fact, Kind, Said, sources
from anynet_study.analysis.plots import wording
from anynet_study.analysis.study import Inputs, Study
from anynet_study.analysis.worlds import (
    SOURCE,
    Draw,
    Setting,
    World,
    answers,
    settings,
    shaped,
)
from anynet_study.core.errors import DoesNotApplyError

#: The distance that is compared, and the ends of its interval.
DISTANCE = {"fid_corrected": "distance", "fid_low": "distance_low", "fid_high": "distance_high"}
#: Fewest pairs that a correlation over pairs rests on, and permutations that it is tested with.
FEWEST, PERMUTATIONS = 6, 9_999


def distance(study: Study) -> pd.DataFrame:
    """By pair of datasets the distance (FID without its bias) and the correlation of errors.

    The nearest pair first. Whether the two go together over the pairs is said beside it.
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
    table.attrs = found.attrs
    return table[["source", "target", *DISTANCE.values(), "estimate", "low", "high", "n"]]


def _none_between(named: set[str]) -> str:
    some = ", ".join(sorted(named)[:6])
    return f"no distance is between two datasets of this study; there are those of {some}"


OF_DATASETS = sources("architectures", "targets")
NEARER_ALIKE = Kind(
    name="nearer datasets rank alike",
    speaks=OF_DATASETS,
    words={
        "opposite": "the nearer two datasets are, the more alike they rank architectures "
        "({pairs} pairs, {p})",
        "yes": "the nearer two datasets are, the less alike they rank architectures "
        "({pairs} pairs, {p})",
        "undecided": "it is undecided whether nearer datasets rank architectures more alike "
        "({pairs} pairs, {p})",
    },
)


def over_pairs(table: pd.DataFrame, level: float) -> Said:
    """Tell whether distance and correlation go together over the pairs of datasets."""
    known = table.dropna(subset=["distance", "estimate"])
    if len(known) < FEWEST:
        few = "{pairs} pairs are too few to say whether nearer datasets rank architectures alike"
        return [Fact(few, {"pairs": len(known)})]
    rho, p = mantel(known)
    shown = f"p = {wording.number(p, 3)}" if p >= 0.001 else "p < 0.001"
    told: dict[str, str | int] = {"pairs": len(known), "p": f"{shown}, permuting datasets"}
    evidence = CorrectedP(p, rho, OF_DATASETS, level=level)
    return [Claim(NEARER_ALIKE, "datasets", evidence, told=told)]


def of_places(alike: float) -> Callable[[Draw, Setting], Inputs]:
    """Datasets at places in a plane: the part `alike` of what their errors share falls with the
    distance, and the rest is of two factors, whatever the distance.
    """

    def draw_inputs(draw: Draw, setting: Setting) -> Inputs:
        count, n = setting.targets + 1, setting.n
        names = [SOURCE, *(f"t{number}" for number in range(setting.targets))]
        places, factors = draw.normal(size=(2, count, 2))
        far = cdist(places, places)
        factors /= np.linalg.norm(factors, axis=1, keepdims=True)
        shared = alike * np.exp(-far) + (1 - alike) * factors @ factors.T
        quality = draw.normal(size=(n, count)) @ cholesky(shared + 1e-6 * np.eye(count))
        values = (2 * quality + draw.normal(size=(n, count))) / np.sqrt(5)
        errors = shaped(np.zeros((n, 1)), values, 0.0, setting.shape, draw)
        rows = [(names[a], names[b], *[far[a, b]] * 3) for a, b in combinations(range(count), 2)]
        distances = pd.DataFrame(rows, columns=["a", "b", *DISTANCE])
        return Inputs(errors=pd.DataFrame(errors, columns=names), distances=distances)

    return draw_inputs


PLACED = settings(n=(100, 12, 300), targets=(7, 3, 20), shape=("normal", "skewed", "diverged"))
GOING_TOGETHER = (
    World("no matter how far", "false", of_places(0.0), answers(), PLACED),
    World("a hundredth falls with distance", "threshold", of_places(0.01), answers("opposite"),
          PLACED),
    World("all falls with distance", "true", of_places(1.0), answers("opposite"), PLACED[:1]),
)  # fmt: skip


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
    say=lambda study, table: over_pairs(table, study.options.level),
    says={NEARER_ALIKE: GOING_TOGETHER},
    topic="All pairs",
    note="The distance compares the features of the images, not their classes.",
)
