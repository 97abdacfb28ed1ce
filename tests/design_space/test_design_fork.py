"""The paper's space against a sampler written from the description of the study's fork of pycls.

Depths and widths: the ceil, to a multiple of q, of a log-uniform variable on
(low - min(q, low/2), high]; ratios and group widths: whole powers of two, uniformly; then widths
and groups are made compatible, and what is not in the band of FLOPs is drawn again. RegNets: a
uniform depth, w0, wa and wm as widths above, to multiples of 8, 0.1 and 0.001; networks that do not
have four stages, or skip a level of quantisation, are drawn again. Nothing of the package's
sampling is used; FLOPs are those of the architecture.
"""

from collections.abc import Sequence

import numpy as np
import pytest
from scipy import stats

from anynet_study.design_space import Architecture, DesignSpace

BAND = (360e6, 400e6)
Stages = np.ndarray


def log_uniform(
    random: np.random.Generator, low: float, high: float, q: float, *shape: int
) -> np.ndarray:
    f = np.exp(-random.uniform(-np.log(high), -np.log(low - min(q, low / 2)), shape))
    return np.ceil(f / q) * q


def power_of_two(random: np.random.Generator, high: int, count: int) -> Stages:
    return (2 ** np.floor(random.uniform(0, np.log2(high) + 1, (count, 4)))).astype(int)


def drawn(count: int, seed: int) -> list[Stages]:
    """Depths, widths, ratios and group widths, shape (count, 4), before they are compatible."""
    random = np.random.default_rng(seed)
    return [
        log_uniform(random, 1, 16, 1, count, 4).astype(int),
        log_uniform(random, 8, 1024, 8, count, 4).astype(int),
        power_of_two(random, 4, count),
        power_of_two(random, 32, count),
    ]


def built(d: Sequence[int], w: Sequence[int], b: Sequence[int], g: Sequence[int]) -> Architecture:
    inside = [max(1, width // ratio) for width, ratio in zip(w, b, strict=True)]
    g = [min(group, v) for group, v in zip(g, inside, strict=True)]
    inside = [max(group, round(v / group) * group) for v, group in zip(inside, g, strict=True)]
    w = [v * ratio for v, ratio in zip(inside, b, strict=True)]
    return Architecture(tuple(d), tuple(w), tuple(b), tuple(g))


def test_each_parameter_has_the_fork_s_law() -> None:
    laws = DesignSpace.anynetx().stages.distributions
    for field, values in zip(laws, drawn(50_000, seed=1), strict=True):
        (law,) = laws[field]
        found, counts = np.unique(values, return_counts=True)
        assert set(found.tolist()) <= set(law.values.tolist())
        expected = np.array([float(law.probability(value)) for value in law.values.tolist()])
        observed = np.zeros(len(expected))
        observed[np.searchsorted(law.values, found)] = counts
        assert stats.chisquare(observed, expected * values.size).pvalue > 1e-3, field


def in_band(candidates: int, seed: int) -> list[Architecture]:
    rows = zip(*(values.tolist() for values in drawn(candidates, seed)), strict=True)
    networks = [built(*row) for row in rows]
    return [network for network in networks if BAND[0] <= network.flops() <= BAND[1]]


@pytest.mark.slow
def test_the_band_has_the_fork_s_marginals() -> None:
    count = 10_000
    theirs, ours = in_band(70_000, seed=2), DesignSpace.anynetx().sample(count, BAND, seed=5)
    depths = [np.array([a.depths for a in networks]) for networks in (theirs, list(ours))]
    # About 60% have a stage of one block (80% by the nearest multiple).
    shares = [(each == 1).any(axis=1).mean() for each in depths]
    error = np.sqrt(0.24 / len(theirs) + 0.24 / count)
    assert abs(shares[0] - shares[1]) < 3.5 * error
    assert shares[1] == pytest.approx(0.605, abs=3.5 * np.sqrt(0.24 / count))
    totals = [each.sum(axis=1) for each in depths]
    assert stats.ttest_ind(*totals).pvalue > 5e-4
    # 19.3 blocks in the mean (18.0 by the nearest multiple).
    assert totals[1].mean() == pytest.approx(19.3, abs=3.5 * totals[1].std() / np.sqrt(count))
    widths = [np.array([a.widths for a in networks]) for networks in (theirs, list(ours))]
    for stage in range(4):
        assert stats.ks_2samp(*(each[:, stage] for each in widths)).pvalue > 5e-4


def test_regnets_have_the_fork_s_law() -> None:
    """How many candidates are in the space, and the depths and widths of those that are."""
    random, count = np.random.default_rng(3), 4000
    numbers = (
        random.integers(12, 29, count),
        log_uniform(random, 8, 256, 8, count),
        log_uniform(random, 8, 256, 0.1, count),
        log_uniform(random, 1.5, 3, 0.001, count),
    )
    theirs = []
    for d, w0, wa, wm in zip(*numbers, strict=True):
        levels = np.round(np.log((np.arange(d) * wa + w0) / w0) / np.log(wm))
        widths, depths = np.unique(8 * np.round(w0 * wm**levels / 8), return_counts=True)
        if len(widths) == levels.max() + 1 == 4:
            theirs.append((*depths, *widths))
    space = DesignSpace.from_spec(
        {"base": "regnetx", "group_widths": [8], "bottleneck_ratios": [1]}
    )
    ours = space.sample(4000)
    share, tried = len(theirs) / count, ours.sampling["candidates"]
    found = ours.sampling["in_space"] / tried
    error = np.sqrt(share * (1 - share) * (1 / count + 1 / tried))
    assert abs(share - found) < 4 * error
    for column, values in enumerate(zip(*theirs, strict=True)):
        field, stage = divmod(column, 4)
        drawn = [(a.depths, a.widths)[field][stage] for a in ours]
        assert stats.ks_2samp(values, drawn).pvalue > 5e-4, column
