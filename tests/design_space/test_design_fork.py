"""The paper's space against a sampler written from the description of pycls's sweep code.

That code is of May 2021, after the study's preprint; the study's own sampler is not published.

Depths and widths: the ceil, to a multiple of q, of a log-uniform variable on
(low - min(q, low/2), high]; ratios and group widths: whole powers of two, uniformly; then widths
and groups are made compatible, and what is not in the band of FLOPs is drawn again. RegNets: a
uniform depth, w0, wa and wm as widths above, to multiples of 8, 0.1 and 0.001; networks that do not
have four stages, or skip a level of quantisation, are drawn again. Nothing of the package's
sampling is used; FLOPs are those of the architecture.
"""

import numpy as np
from scipy import stats

from anynet_study.design_space import DesignSpace

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


def test_redrawn_networks_are_as_drawn_and_adjusted_ones_are_not() -> None:
    """Redrawn: every group width is of the set, and divides the bottleneck's width.

    How often it does was counted on the published code's draws (547 of 2,000 networks could be
    built, some of which with another group width than stated).
    """
    sets = {1, 2, 4, 8, 16, 32}
    redrawn = DesignSpace.anynetx(compatible="redraw").sample(200, seed=3)
    for architecture in redrawn:
        parts = zip(
            architecture.widths,
            architecture.bottleneck_ratios,
            architecture.group_widths,
            strict=True,
        )
        assert all(g in sets and w // b % g == 0 for w, b, g in parts)
    adjusted = DesignSpace.anynetx().sample(200, seed=3)
    assert any(not set(architecture.group_widths) <= sets for architecture in adjusted)
    _, w, b, g = drawn(2_000, seed=2)
    v = w // b
    share = np.mean(((g <= v) & (v % np.minimum(g, v) == 0)).all(axis=1))
    rate = redrawn.sampling["in_space"] / redrawn.sampling["candidates"]
    assert abs(rate - share) < 0.04
