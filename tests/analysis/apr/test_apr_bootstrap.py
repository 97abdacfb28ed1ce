"""Resamples against brute force, intervals against scipy's BCa and against the truth."""

from types import SimpleNamespace

import numpy as np
import pytest
from scipy import stats

from anynet_study.analysis.apr import bootstrap
from anynet_study.analysis.apr.bootstrap import (
    BLOCK,
    Resampled,
    _acceleration,
    bca,
    draw,
    pairwise,
    resample_correlations,
)
from anynet_study.core.errors import UserError
from anynet_study.core.metrics import check_level

PAIRS = [(0, 1), (0, 2), (1, 2)]


@pytest.fixture
def gappy() -> np.ndarray:
    """30 x 3 with ties, and gaps in two columns."""
    generator = np.random.default_rng(5)
    values = (generator.normal(size=(30, 3)) + generator.normal(size=(30, 1))).round(1)
    values[generator.random((30, 3)) < [0.0, 0.2, 0.3]] = np.nan
    return values


def of_pairs(
    values: np.ndarray,
    pairs: list[tuple[int, int]],
    resamples: int,
    seed: int,
    method: str = "spearman",
) -> Resampled:
    return resample_correlations(values, pairwise(values, pairs), method, resamples, seed)


def by_hand(rows: np.ndarray) -> list[float]:
    found = []
    for x, y in PAIRS:
        complete = rows[~np.isnan(rows[:, [x, y]]).any(axis=1)]
        found.append(stats.spearmanr(complete[:, x], complete[:, y]).statistic)
    return found


def test_resamples_with_gaps_equal_brute_force(gappy: np.ndarray) -> None:
    draws = of_pairs(gappy, PAIRS, BLOCK + 20, 3).draws
    for resample in (0, 1, BLOCK - 1, BLOCK, BLOCK + 19):
        block, row = divmod(resample, BLOCK)
        counts = draw(30, BLOCK, 3, block)[row]
        truth = by_hand(np.repeat(gappy, counts, axis=0))
        np.testing.assert_allclose(draws[:, resample], truth, rtol=1e-12)


def test_a_jackknife_of_groups_has_the_same_acceleration(monkeypatch: pytest.MonkeyPatch) -> None:
    values = np.exp(np.random.default_rng(0).normal(size=(4000, 2)))  # skewed
    values[:, 1] += values[:, 0]
    monkeypatch.setattr(bootstrap, "MOST_LEFT_OUT", 4000)
    every = of_pairs(values, [(0, 1)], 40, 0, "pearson").jackknife
    monkeypatch.setattr(bootstrap, "MOST_LEFT_OUT", 1000)
    groups = of_pairs(values, [(0, 1)], 40, 0, "pearson").jackknife
    assert (every.shape, groups.shape) == ((1, 4000), (1, 1000))
    rows = np.arange(4000) % 1000 != 3
    assert groups[0, 3] == pytest.approx(np.corrcoef(values[rows].T)[0, 1])
    np.testing.assert_allclose(_acceleration(groups), _acceleration(every), atol=0.005)


def test_jackknife_equals_leaving_rows_out(gappy: np.ndarray) -> None:
    jackknife = of_pairs(gappy, PAIRS, 40, 0).jackknife
    for row in range(30):
        truth = by_hand(np.delete(gappy, row, axis=0))
        np.testing.assert_allclose(jackknife[:, row], truth, rtol=1e-12)


def test_draws_depend_on_the_seed_alone(gappy: np.ndarray, monkeypatch: pytest.MonkeyPatch) -> None:
    many = of_pairs(gappy, PAIRS, 3 * BLOCK, 1).draws
    monkeypatch.setattr("os.sched_getaffinity", lambda _: {0})
    monkeypatch.setattr(bootstrap, "DRAWN", 100)  # three resamples at a time
    assert np.array_equal(many, of_pairs(gappy, PAIRS, 3 * BLOCK, 1).draws)
    assert np.array_equal(many[:, :BLOCK], of_pairs(gappy, PAIRS, BLOCK, 1).draws)
    assert not np.array_equal(many, of_pairs(gappy, PAIRS, 3 * BLOCK, 2).draws)


def test_draws_are_resamples_with_replacement() -> None:
    counts = draw(20, 2000, seed=0, block=0)
    assert (counts.sum(axis=1) == 20).all()
    np.testing.assert_allclose(counts.mean(axis=0), 1.0, atol=0.1)
    np.testing.assert_allclose(counts.var(), 1 - 1 / 20, atol=0.02)


def test_intervals_equal_those_of_scipy() -> None:
    """Given the same resamples; skewed errors, where bias and acceleration move the ends."""
    x, noise = np.exp(np.random.default_rng(0).normal(size=(2, 20)))
    found = of_pairs(np.column_stack([x, x + noise]), [(0, 1)], 2_000, 0, "pearson")
    truth = stats.bootstrap(
        (x, x + noise),
        lambda a, b, axis: stats.pearsonr(a, b, axis=axis).statistic,
        paired=True,
        n_resamples=0,
        method="BCa",
        bootstrap_result=SimpleNamespace(bootstrap_distribution=found.draws[0]),
    ).confidence_interval
    np.testing.assert_allclose(np.ravel(found.interval(0.95)), [truth.low, truth.high], rtol=1e-9)
    percentiles = np.quantile(found.draws[0], [0.025, 0.975])
    assert abs(percentiles - [truth.low, truth.high]).min() > 0.005


@pytest.mark.parametrize(("n", "symmetric"), [(12, True), (39, True), (40, False)])
def test_differences_of_few_architectures_have_symmetric_intervals(n: int, symmetric: bool) -> None:
    """Half as wide as Student's t of their standard error, that of n - 1 free values."""
    values = np.random.default_rng(2).normal(size=(n, 3)) + np.arange(n)[:, None] / n * [4, 3, 2]
    found = of_pairs(values, PAIRS, 400, 0)
    difference = (found[:2] - found[1:]).average()
    [low], [high] = difference.interval(0.9)
    of_means = found[:2].average() - found[1:].average()
    np.testing.assert_allclose(np.ravel(of_means.interval(0.9)), [low, high])
    draws = difference.draws[0]
    reach = stats.t(n - 1).ppf(0.95) * draws.std(ddof=0) * np.sqrt(n / (n - 1))
    ends = [*difference.estimate - reach, *difference.estimate + reach]
    assert ([low, high] == pytest.approx(ends)) == symmetric
    single = found[:2].interval(0.9)
    truth = bca(found.estimate, found.draws, found.jackknife, 0.9)
    np.testing.assert_array_equal(single, [end[:2] for end in truth])


def test_undefined_resamples_are_left_out_until_they_are_most() -> None:
    draws = np.random.default_rng(0).normal(size=(2, 1000))
    draws[0, :100] = draws[1, :600] = np.nan
    low, high = bca(np.zeros(2), draws, np.zeros((2, 5)), 0.95)
    alone = bca(np.zeros(1), draws[:1, 100:], np.zeros((1, 5)), 0.95)
    assert (low[0], high[0]) == (alone[0][0], alone[1][0])
    assert np.isnan([low[1], high[1]]).all()


def test_a_column_that_one_row_alone_keeps_from_being_constant_has_no_interval() -> None:
    """Otherwise it would be [-0.61, -0.60] for 8 rows, of the ties of the other column."""
    alone = np.column_stack([np.r_[1.0, np.zeros(7)], [1, 3, 4, 2, 4, 6, 5, 3]])
    two = alone + np.column_stack([np.r_[0, 2.0, np.zeros(6)], np.zeros(8)])
    for values, known in ((alone, False), (two, True)):
        resampled = of_pairs(values, [(0, 1)], 1000, 0)
        low, high = resampled.interval(0.95)
        assert np.isfinite(resampled.estimate).all()
        assert np.isfinite([low, high]).all() == known


def test_an_interval_holds_its_estimate() -> None:
    draws = np.random.default_rng(0).normal(size=(1, 1000))
    low, high = bca(np.array([5.0]), draws, np.array([[0.0, 0.0, 9.0]]), 0.95)
    assert low[0] <= 5.0 <= high[0]


@pytest.mark.parametrize(("n", "includes_0"), [(4, True), (5, False), (12, False)])
def test_the_interval_of_a_perfect_correlation_has_the_width_of_its_sample(
    n: int, includes_0: bool
) -> None:
    values = np.column_stack([np.arange(n), np.arange(n) ** 3.0])
    resampled = of_pairs(values, [(0, 1)], 200, 0)
    low, high = np.ravel(resampled.interval(0.95))
    assert (resampled.estimate[0], high) == (1.0, 1.0)
    assert (low < 0) == includes_0
    assert low < 1 - 2 / n**2


@pytest.mark.parametrize(("level", "resamples"), [(1.0, 1000), (0.0, 1000), (0.95, 39)])
def test_impossible_levels_are_refused(level: float, resamples: int) -> None:
    with pytest.raises(UserError, match="level"):
        check_level(level, resamples)
