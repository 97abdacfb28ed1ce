"""Intervals that hold together, and confidence sets of the best."""

from itertools import combinations

import numpy as np
import pytest
from scipy import stats
from scipy.special import ndtri

from anynet_study.analysis.apr import can_be_largest, pairwise, resample_correlations
from anynet_study.analysis.apr.bootstrap import Resampled
from anynet_study.analysis.apr.simultaneous import bonferroni, simultaneous


def correlated(n: int, proxies: int, seed: int, best: float = 0.0) -> Resampled:
    """Correlations of proxies with a target, all alike but for the first."""
    draw = np.random.default_rng(seed)
    quality = draw.normal(size=n)
    target = quality + draw.normal(size=n)
    noise = draw.normal(size=(n, proxies)) * np.r_[1 - best, np.ones(proxies - 1)]
    values = np.column_stack([quality[:, None] + noise, target])
    pairs = pairwise(values, [(proxy, proxies) for proxy in range(proxies)])
    return resample_correlations(values, pairs, "spearman", 1000, seed)


def test_intervals_of_a_family_are_as_wide_as_they_have_to_be() -> None:
    draw = np.random.default_rng(0)
    alone = draw.normal(size=(1, 20_000))
    apart = draw.normal(size=(5, 20_000))
    for draws, expected in ((np.repeat(alone, 5, axis=0), 0.95), (apart, 0.95**0.2)):
        low, high = simultaneous(Resampled(np.zeros(5), draws, np.zeros((5, 1))), 0.95)
        reach = ndtri((1 + expected) / 2)
        np.testing.assert_allclose([-low, high], reach, atol=0.08)
    undefined = Resampled(np.array([0, np.nan]), apart[:2], np.zeros((2, 1)))
    np.testing.assert_allclose(simultaneous(undefined, 0.95), undefined.interval(0.95))


def test_few_architectures_take_bonferroni() -> None:
    few = correlated(8, 4, 0)
    np.testing.assert_allclose(simultaneous(few, 0.95), few.interval(0.9875))
    assert bonferroni(0.95, 4) == 0.9875
    assert can_be_largest(few, 0.95).all()


def test_equals_are_hardly_ever_left_out_and_the_better_one_stays() -> None:
    """Each of eight that are equally good is the best: all of them stay, in 95% of studies."""
    left_out = [not can_be_largest(correlated(50, 8, seed), 0.95).all() for seed in range(60)]
    assert np.mean(left_out) <= 0.1
    clear = can_be_largest(correlated(800, 4, 0, best=0.9), 0.95)
    assert list(clear) == [True, False, False, False]


@pytest.mark.parametrize("correlation", [False, True])
@pytest.mark.parametrize("best", [0, 1, 2])
def test_what_is_worse_than_the_best_by_more_than_pairs_deviate_is_left_out(
    best: int, correlation: bool
) -> None:
    """Just within and just beyond what a plain loop over the pairs finds."""
    draws = np.random.default_rng(best).normal(size=(3, 400)) * [[0.1], [0.2], [0.3]]
    away = []
    for one, other in combinations(draws, 2):
        apart = one - other
        away.append(abs(apart - apart.mean()) / apart.std())
    farthest = np.quantile(np.max(away, axis=0), 0.9)
    reach = (7 / 6) ** 0.5 * stats.t.ppf(stats.norm.cdf(farthest), 7 - 1)
    for share, stays in ((0.999, True), (1.001, False)):
        worse = [0.2 - share * reach * (draws[best] - other).std() for other in draws]
        values, drawn = (np.tanh(worse), np.tanh(draws)) if correlation else (worse, draws)
        found = can_be_largest(
            Resampled(np.array(values), drawn, np.zeros((3, 7)), correlation), 0.9
        )
        assert found.tolist() == [stays or number == best for number in range(3)]
