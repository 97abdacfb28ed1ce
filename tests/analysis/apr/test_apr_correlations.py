"""Correlation tables and corrected p-values against scipy, with ties, gaps and constants."""

import sys

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import stats
from synthetic_study import noisy, population, true_errors

from anynet_study.analysis.apr import adjust, as_matrix, correlations, exclusions, interval_widths
from anynet_study.analysis.apr.correlations import permutation_p_value, student_p_values
from anynet_study.analysis.apr.options import Method
from anynet_study.core.errors import UserError

SCIPY = {"spearman": stats.spearmanr, "pearson": stats.pearsonr, "kendall": stats.kendalltau}

gappy_tables = hnp.arrays(
    np.float64,
    st.tuples(st.integers(4, 20), st.just(3)),
    elements=st.integers(0, 6).map(float) | st.just(np.nan),
)

p_values = st.lists(st.floats(0, 1) | st.just(np.nan), max_size=12)


def frame(values: np.ndarray) -> pd.DataFrame:
    return pd.DataFrame(
        values,
        columns=[f"set-{i}" for i in range(values.shape[1])],
        index=[f"net-{i}" for i in range(len(values))],
    )


@pytest.mark.parametrize("slope", [-3.0, -0.2, 0.5, 2.0])
def test_p_values_by_students_t_are_those_of_scipy(slope: float) -> None:
    x, noise = np.random.default_rng(1).normal(size=(2, 12))
    truth = stats.pearsonr(x, slope * x + noise)
    assert student_p_values(np.array([truth.statistic]), 10) == pytest.approx(truth.pvalue)


@pytest.mark.parametrize("method", SCIPY)
@given(values=gappy_tables)
@settings(deadline=None, max_examples=30)
def test_estimates_and_p_values_equal_scipy(method: str, values: np.ndarray) -> None:
    table = correlations(frame(values), method=method, resamples=40)  # type: ignore[arg-type]
    assert list(table.columns)[:7] == ["source", "target", "estimate", "low", "high", "n", "p"]
    for row, (i, j) in zip(table.itertuples(), [(0, 1), (0, 2), (1, 2)], strict=True):
        x, y = values[~np.isnan(values[:, [i, j]]).any(axis=1)][:, [i, j]].T
        assert (row.source, row.target, row.n) == (f"set-{i}", f"set-{j}", len(x))
        if len(x) < 4 or np.ptp(x) == 0 or np.ptp(y) == 0:
            assert np.isnan([row.estimate, row.low, row.high, row.p]).all()
            continue
        truth = SCIPY[method](x, y)
        np.testing.assert_allclose(row.estimate, truth.statistic, atol=1e-9)
        if abs(row.estimate) < 1 - 1e-9 and len(x) >= 10:
            np.testing.assert_allclose(row.p, truth.pvalue, rtol=1e-6, atol=1e-12)


@pytest.mark.parametrize("method", SCIPY)
@pytest.mark.parametrize("n", [4, 6])
def test_p_values_of_few_architectures_are_exact(method: Method, n: int) -> None:
    x, y = np.random.default_rng(n).integers(0, 5, (2, n)).astype(float)
    table = correlations(frame(np.column_stack([x, y])), method=method, resamples=40)
    truth = stats.permutation_test(
        (x,), lambda x: abs(SCIPY[method](x, y).statistic), permutation_type="pairings",
        alternative="greater", n_resamples=np.inf,
    )  # fmt: skip
    assert table["p"].item() == pytest.approx(truth.pvalue)


@pytest.mark.parametrize("method", SCIPY)
def test_a_perfect_order_of_four_is_no_proof(method: Method) -> None:
    values = np.column_stack([np.arange(4), np.arange(4)]).astype(float)
    row = correlations(frame(values), method=method, resamples=40).iloc[0]
    assert (row["estimate"], row["high"]) == (1.0, 1.0)
    assert row["p"] == pytest.approx(2 / 24)
    assert row["low"] < 0


def test_random_orders_of_nine_have_about_the_exact_p_value() -> None:
    x, y = np.random.default_rng(2).normal(size=(2, 9))
    exact = stats.kendalltau(x, y, method="exact").pvalue
    assert permutation_p_value(x, y, "kendall") == pytest.approx(exact, abs=0.01)


def test_complete_uses_the_same_architectures_for_every_pair() -> None:
    values = np.random.default_rng(0).normal(size=(20, 4))
    values[:3, 0] = values[2:6, 1] = np.nan
    values[:, 3] = np.nan
    table = correlations(frame(values), resamples=40, missing="complete")
    filled = table[table["target"] != "set-3"]
    assert set(filled["n"]) == {14}
    assert (table[table["target"] == "set-3"]["n"] == 0).all()
    truth = frame(values)[["set-0", "set-1", "set-2"]].dropna().corr(method="spearman")
    np.testing.assert_allclose(filled["estimate"], truth.to_numpy()[np.triu_indices(3, 1)])


def test_seed_decides_the_intervals_and_slabs_do_not(monkeypatch: pytest.MonkeyPatch) -> None:
    errors = frame(np.random.default_rng(0).normal(size=(30, 5)))
    first = correlations(errors, resamples=500, seed=1)
    module = sys.modules[
        "anynet_study.analysis.apr.correlations"
    ]  # apr.correlations is the function
    monkeypatch.setattr(module, "DRAWS_BYTES", 3 * 8 * 500)
    pd.testing.assert_frame_equal(first, correlations(errors, resamples=500, seed=1))
    assert not first["low"].equals(correlations(errors, resamples=500, seed=2)["low"])


def test_progress_is_told_within_a_pair(monkeypatch: pytest.MonkeyPatch) -> None:
    module = sys.modules["anynet_study.analysis.apr.correlations"]
    monkeypatch.setattr(module, "DRAWS_BYTES", 8 * 600)  # a pair at a time
    errors = pd.DataFrame(np.random.default_rng(0).normal(size=(12, 3)), columns=list("abc"))
    told: list[float] = []
    correlations(errors, resamples=600, on_pairs=told.append)
    assert told == sorted(told)
    assert 0 < told[0] < 1
    assert told[-1] == 3


def test_matrix_is_symmetric_and_in_column_order() -> None:
    errors = frame(np.random.default_rng(0).normal(size=(12, 4)))
    table = correlations(errors, resamples=40)
    matrix = as_matrix(table)
    pd.testing.assert_frame_equal(matrix, errors.corr(method="spearman"), check_exact=False)
    counts = as_matrix(table, "n")
    assert counts.loc["set-2", "set-0"] == 12
    assert np.isnan(np.diag(counts)).all()


def test_too_few_architectures_and_unknown_options_are_refused() -> None:
    errors = frame(np.arange(8.0).reshape(4, 2))
    with pytest.raises(UserError, match="3 architectures; at least 4"):
        correlations(errors.iloc[:3])
    with pytest.raises(UserError, match="'listwise'; choose from pairwise, complete"):
        correlations(errors, missing="listwise")  # type: ignore[arg-type]
    with pytest.raises(UserError, match="choose from spearman"):
        correlations(errors, method="rank")  # type: ignore[arg-type]


def test_a_single_dataset_has_no_pairs() -> None:
    assert correlations(frame(np.arange(5.0)[:, None]), resamples=40).empty


def test_exclusions_name_what_has_no_correlation() -> None:
    errors = frame(np.random.default_rng(0).normal(size=(8, 4)))
    errors["set-1"] = 7.5
    errors["set-2"] = np.nan
    errors.iloc[:2, 3] = np.nan
    found = exclusions(errors).to_dict("records")
    assert [(row["dataset"], row["architectures"]) for row in found] == [
        ("set-1", 8),
        ("set-2", 8),
        ("set-3", 2),
    ]
    assert found[0]["reason"] == "constant: every error is 7.5, so it ranks nothing"


@given(p=p_values)
@settings(deadline=None, max_examples=50)
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
    with pytest.raises(UserError, match="'sidak'; choose from holm, bh"):
        adjust([0.5], "sidak")  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def study() -> pd.DataFrame:
    return noisy(true_errors(population(200)), 1)


def test_smaller_studies_have_wider_intervals_as_fisher_says(study: pd.DataFrame) -> None:
    table = interval_widths(study, "big", "pets", (25, 100, 500), 12, resamples=300)
    assert table["n"].tolist() == [25, 100, 200]
    assert table["subsamples"].tolist() == [12, 12, 1]
    assert (np.diff(table["width"]) < 0).all()
    assert (table["width_low"] <= table["width"]).all()
    np.testing.assert_allclose(table["width"], table["fisher"], rtol=0.35)
    with pytest.raises(UserError, match="no column cats"):
        interval_widths(study, "big", "cats")
    with pytest.raises(UserError, match="sizes: at least 4"):
        interval_widths(study, "big", "pets", (3,))
    with pytest.raises(UserError, match="0 architectures with both errors"):
        interval_widths(study.assign(cats=np.nan), "big", "cats")


@pytest.mark.parametrize("method", ["spearman", "pearson", "kendall"])
def test_each_smaller_study_has_the_interval_that_it_has_alone(
    study: pd.DataFrame, method: Method
) -> None:
    options = {"method": method, "resamples": 300, "seed": 4}
    found = interval_widths(study, "big", "pets", (30,), 3, **options).iloc[0]
    widths = []
    for number in range(3):
        drawn = np.random.default_rng([4, 30, number]).permutation(len(study))[:30]
        alone = correlations(study[["big", "pets"]].iloc[drawn].reset_index(drop=True), **options)
        widths.append(float((alone["high"] - alone["low"]).item()))
    assert len(set(widths)) == 3
    expected = np.quantile(widths, [0.5, 0.1, 0.9])
    np.testing.assert_allclose(found[["width", "width_low", "width_high"]].to_list(), expected)
