"""Corrected p-values and Fisher's intervals against scipy and their definitions."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from anynet_study.apr import adjust, architectures_needed, correlations, fisher_interval
from anynet_study.errors import UserError

p_values = st.lists(st.floats(0, 1) | st.just(np.nan), max_size=12)


@given(p=p_values)
def test_adjusted_p_values_are_those_of_the_definitions(p: list[float]) -> None:
    known = np.array([each for each in p if not np.isnan(each)])
    m = len(known)
    # Holm rejects at a the j smallest if each i-th of them is at most a / (m - i + 1).
    rising = np.sort(known)
    for each, holm in zip(p, adjust(p, "holm"), strict=True):
        if np.isnan(each):
            assert np.isnan(holm)
            continue
        rank = int(np.searchsorted(rising, each))
        truth = max((m - i) * rising[i] for i in range(rank + 1))
        assert holm == pytest.approx(min(1.0, truth))
    bh = adjust(p, "bh")
    if m:
        np.testing.assert_allclose(bh[~np.isnan(p)], stats.false_discovery_control(known))


def test_bad_p_values_and_corrections_are_refused() -> None:
    with pytest.raises(UserError, match="outside 0 to 1"):
        adjust([0.5, 1.5])
    with pytest.raises(UserError, match="'sidak'; legal: holm, bh"):
        adjust([0.5], "sidak")  # type: ignore[arg-type]


def test_fisher_intervals_of_pearson_are_scipys() -> None:
    values = np.random.default_rng(0).normal(size=(30, 2)) + np.arange(30)[:, None] / 20
    found = stats.pearsonr(*values.T)
    truth = found.confidence_interval(0.9)
    ours = fisher_interval(found.statistic, 30, 0.9, "pearson")
    np.testing.assert_allclose(ours, truth)
    table = correlations(pd.DataFrame(values, columns=["a", "b"]), "pearson", 50, level=0.9)
    np.testing.assert_allclose(table[["fisher_low", "fisher_high"]].to_numpy()[0], truth)


@pytest.mark.parametrize("method", ["spearman", "kendall"])
def test_fisher_intervals_of_ranks_hold_the_truth(method: str) -> None:
    rho, n, generator = 0.6, 60, np.random.default_rng(1)
    truth = {"spearman": 6 / np.pi * np.arcsin(rho / 2), "kendall": 2 / np.pi * np.arcsin(rho)}
    samples = generator.multivariate_normal([0, 0], [[1, rho], [rho, 1]], (600, n))
    function = {"spearman": stats.spearmanr, "kendall": stats.kendalltau}[method]
    found = np.array([function(*sample.T).statistic for sample in samples])
    low, high = fisher_interval(found, n, 0.95, method)  # type: ignore[arg-type]
    assert 0.93 < ((low < truth[method]) & (truth[method] < high)).mean() < 0.97


def test_fisher_intervals_of_few_or_perfect() -> None:
    low, high = fisher_interval([0.5, 1.0, np.nan], [3, 10, 10])
    np.testing.assert_array_equal(low, [np.nan, 1, np.nan])
    np.testing.assert_array_equal(high, [np.nan, 1, np.nan])


@given(
    r=st.floats(-1, 1),
    width=st.floats(0.02, 1.9),
    method=st.sampled_from(["spearman", "pearson", "kendall"]),
)
def test_the_fewest_architectures_for_a_width(r: float, width: float, method: str) -> None:
    n = int(architectures_needed(r, width, method=method))  # type: ignore[arg-type]
    low, high = fisher_interval(r, np.array([n, n - 1]), method=method)  # type: ignore[arg-type]
    assert not high[0] - low[0] > width * (1 + 1e-6)
    assert n <= 5 or high[1] - low[1] > width * (1 - 1e-6)


def test_bad_sample_sizes_are_refused() -> None:
    with pytest.raises(UserError, match="width: 2 is not"):
        architectures_needed(0.5, 2)
    with pytest.raises(UserError, match="between -1 and 1"):
        architectures_needed([0.5, np.nan], 0.1)
