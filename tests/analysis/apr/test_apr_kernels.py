"""Ranks and kernels against scipy on the materialised resample."""

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import stats

from anynet_study.analysis.apr import kernels
from anynet_study.analysis.apr.bootstrap import draw
from anynet_study.analysis.apr.kernels import RankedColumns, Scratch, make_kernel
from anynet_study.core.errors import UserError

SCIPY = {"spearman": stats.spearmanr, "pearson": stats.pearsonr, "kendall": stats.kendalltau}
PAIRS = np.array([[0, 1], [0, 2], [1, 2]])

# Few distinct values, so that nearly every column has ties.
tables = hnp.arrays(
    np.float64,
    st.tuples(st.integers(2, 25), st.just(3)),
    elements=st.integers(-4, 4).map(float) | st.floats(-1e3, 1e3, width=32),
)


def scipy_correlation(method: str, x: np.ndarray, y: np.ndarray) -> float:
    """The coefficient of scipy, NaN for a constant column."""
    if len(x) < 2 or np.ptp(x) == 0 or np.ptp(y) == 0:
        return np.nan
    with warnings.catch_warnings():  # pearsonr warns of columns that are all but constant
        warnings.simplefilter("ignore")
        return float(SCIPY[method](x, y).statistic)


@given(values=tables, seed=st.integers(0, 99))
@settings(deadline=None, max_examples=40)
def test_midranks_are_those_of_the_materialised_resample(values: np.ndarray, seed: int) -> None:
    multiplicities = draw(len(values), 5, seed, 0)
    ranks = RankedColumns(values.T).centred_midranks(multiplicities, Scratch())
    for resample, counts in enumerate(multiplicities):
        rows = np.repeat(np.arange(len(values)), counts)
        for column in range(3):
            truth = stats.rankdata(values[rows, column])
            assert np.array_equal(ranks[rows, column, resample], 2 * truth - (len(rows) + 1))


@pytest.mark.parametrize("method", ["spearman", "kendall"])
@given(values=tables, seed=st.integers(0, 99))
@settings(deadline=None, max_examples=40)
def test_rank_kernels_equal_scipy(method: str, values: np.ndarray, seed: int) -> None:
    check_kernel(method, values, seed, 1e-12)


@given(values=tables.map(np.round), seed=st.integers(0, 99))
@settings(deadline=None, max_examples=40)
def test_pearson_kernel_equals_scipy(values: np.ndarray, seed: int) -> None:
    check_kernel("pearson", values, seed, 1e-7)


def check_kernel(method: str, values: np.ndarray, seed: int, tolerance: float) -> None:
    multiplicities = draw(len(values), 4, seed, 0)
    got = make_kernel(method, values, PAIRS)(multiplicities)  # type: ignore[arg-type]
    for resample, counts in enumerate(multiplicities):
        rows = np.repeat(np.arange(len(values)), counts)
        truth = [scipy_correlation(method, *values[rows][:, pair].T) for pair in PAIRS]
        np.testing.assert_allclose(got[resample], truth, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("method", ["spearman", "kendall"])
def test_chunks_do_not_change_a_bit(method: str, monkeypatch: pytest.MonkeyPatch) -> None:
    values = np.random.default_rng(0).normal(size=(50, 3)).round(1)
    multiplicities = draw(50, 64, 0, 0)
    whole = make_kernel(method, values, PAIRS)(multiplicities)  # type: ignore[arg-type]
    monkeypatch.setattr(kernels, "WORKING_BYTES", 5_000)
    monkeypatch.setattr(kernels, "RANKING_BYTES", 8_000)
    parts = make_kernel(method, values, PAIRS)(multiplicities)  # type: ignore[arg-type]
    assert np.array_equal(whole, parts)


def test_kendall_of_many_is_that_of_all_pairs_but_for_its_second_order(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    generator = np.random.default_rng(0)
    values = (generator.normal(size=(800, 1)) + generator.normal(size=(800, 3))).round(1)
    counts = np.vstack([np.ones((1, 800), np.int32), draw(800, 400, 0, 0)])
    exact = make_kernel("kendall", values, PAIRS)(counts)
    monkeypatch.setattr(kernels, "MOST_PAIRED", 700)
    found = make_kernel("kendall", values, PAIRS)(counts)
    np.testing.assert_allclose(found[0], exact[0], rtol=1e-12)
    np.testing.assert_allclose(found.std(axis=0), exact.std(axis=0), rtol=0.005)
    assert np.abs(found - exact).max() < 0.4 * exact[1:].std(axis=0).min()


def test_many_columns_with_one_are_those_of_all_pairs() -> None:
    values = np.random.default_rng(0).normal(size=(30, 9)).round(1)
    pairs = np.array([[column, 8] for column in range(9)])
    multiplicities = draw(30, 16, 0, 0)
    every = np.array([(i, j) for i in range(9) for j in range(i, 9)])
    of_all = make_kernel("spearman", values, every)(multiplicities)[:, every[:, 1] == 8]
    assert np.array_equal(make_kernel("spearman", values, pairs)(multiplicities), of_all)


@pytest.mark.parametrize("n", [20_000, 40_000])
def test_ranks_do_not_overflow_their_small_type(n: int) -> None:
    values = np.arange(float(n))[:, None] % 20_001
    counts = draw(n, 1, 0, 0)
    ranks = RankedColumns(values.T).centred_midranks(counts, Scratch())[:, 0, 0]
    rows = np.repeat(np.arange(n), counts[0])
    assert np.array_equal(ranks[rows], 2 * stats.rankdata(values[rows, 0]) - (n + 1))


def test_a_large_offset_does_not_spoil_pearson() -> None:
    generator = np.random.default_rng(1)
    values = generator.normal(size=(40, 3)) * 1e-3 + 99.0
    got = make_kernel("pearson", values, PAIRS)(np.ones((1, 40), dtype=np.int32))[0]
    truth = [stats.pearsonr(*values[:, pair].T).statistic for pair in PAIRS]
    np.testing.assert_allclose(got, truth, rtol=1e-9)


def test_unknown_method_names_the_legal_ones() -> None:
    with pytest.raises(UserError, match="'cosine'; choose from spearman, pearson, kendall"):
        make_kernel("cosine", np.ones((4, 2)), np.array([[0, 1]]))  # type: ignore[arg-type]
