"""Stages, and weights against repeated rows, the weighted midrank and known spaces."""

import warnings

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import stats
from synthetic_study import ROLES, population, staged_population, true_errors

from anynet_study.analysis.apr import best_proxies, correlations, drivers, match_family
from anynet_study.analysis.apr.bootstrap import draw, pairwise
from anynet_study.analysis.apr.correlations import weighted_p_values
from anynet_study.analysis.apr.kernels import make_kernel
from anynet_study.analysis.apr.population import parameters_of, stages_of
from anynet_study.core.errors import UserError

SCIPY = {"spearman": stats.spearmanr, "pearson": stats.pearsonr}

PAIRS = np.array([[0, 1], [0, 2], [1, 2]])

SIZE = st.shared(st.integers(4, 20), key="architectures")

tables = SIZE.flatmap(
    lambda n: hnp.arrays(
        np.float64, (n, 3), elements=st.integers(0, 6).map(float) | st.just(np.nan)
    )
)

whole = SIZE.flatmap(lambda n: hnp.arrays(np.int64, n, elements=st.integers(1, 5)))

broken = SIZE.flatmap(lambda n: hnp.arrays(np.float64, n, elements=st.floats(0.01, 50)))


def frame(values: np.ndarray) -> pd.DataFrame:
    names = [f"net-{i}" for i in range(len(values))]
    return pd.DataFrame(values, names, [f"set-{i}" for i in range(values.shape[1])])


def series(weights: np.ndarray) -> pd.Series:
    """Weights in another order than the errors."""
    table = pd.Series(weights, [f"net-{i}" for i in range(len(weights))], dtype=float)
    return table.sample(frac=1, random_state=0)


def by_definition(x: np.ndarray, y: np.ndarray, weights: np.ndarray, method: str) -> float:
    """Weighted Pearson's r, of midranks for Spearman: the weight below, and half of the equals'."""
    if method == "spearman":
        x, y = (
            np.array([weights[each < one].sum() + weights[each == one].sum() / 2 for one in each])
            for each in (x, y)
        )
    covariance = np.cov(x, y, aweights=weights)
    return float(covariance[0, 1] / np.sqrt(covariance[0, 0] * covariance[1, 1]))


@pytest.mark.parametrize("method", SCIPY)
@given(values=tables, weights=whole)
@settings(deadline=None, max_examples=30)
def test_whole_weights_are_repeated_rows(
    method: str, values: np.ndarray, weights: np.ndarray
) -> None:
    table = correlations(frame(values), method, 40, weights=series(weights))  # type: ignore[arg-type]
    for row, (i, j) in zip(table.itertuples(), PAIRS, strict=True):
        known = ~np.isnan(values[:, [i, j]]).any(axis=1)
        x, y = np.repeat(values[known], weights[known], axis=0)[:, [i, j]].T
        assert row.n == known.sum()
        if row.n < 4 or np.ptp(x) == 0 or np.ptp(y) == 0:
            assert np.isnan([row.estimate, row.low, row.high, row.p]).all()
            continue
        np.testing.assert_allclose(row.estimate, SCIPY[method](x, y).statistic, atol=1e-9)
        used = weights[known]
        assert row.effective == pytest.approx(used.sum() ** 2 / (used**2).sum())
        assert 0 <= row.p <= 1


def test_where_no_row_speaks_for_an_association_p_is_1() -> None:
    values = np.array([[0.0, 1.0], [1.0, 0.0], [1.0, 2.0], [2.0, 1.0]])
    [row] = correlations(frame(values), resamples=40, weights=series(np.ones(4))).itertuples()
    assert (row.estimate, row.p) == (0.0, 1.0)


@pytest.mark.parametrize("method", SCIPY)
@given(values=tables, weights=broken)
@settings(deadline=None, max_examples=30)
def test_any_weights_follow_the_definition(
    method: str, values: np.ndarray, weights: np.ndarray
) -> None:
    table = correlations(frame(values), method, 40, weights=series(weights))  # type: ignore[arg-type]
    for row, (i, j) in zip(table.itertuples(), PAIRS, strict=True):
        if np.isfinite(row.estimate):
            known = ~np.isnan(values[:, [i, j]]).any(axis=1)
            truth = by_definition(*values[known][:, [i, j]].T, weights[known], method)
            np.testing.assert_allclose(row.estimate, truth, atol=1e-7)


@pytest.mark.parametrize("method", SCIPY)
def test_resamples_carry_the_weights_along(method: str) -> None:
    values = np.random.default_rng(0).normal(size=(20, 3)).round(1)
    weights = np.random.default_rng(1).integers(1, 5, 20)
    multiplicities = draw(20, 50, 0, 0)
    got = make_kernel(method, values, PAIRS, weights / weights.mean())(multiplicities)  # type: ignore[arg-type]
    for resample, counts in enumerate(multiplicities):
        rows = np.repeat(values, counts * weights, axis=0)
        truth = [SCIPY[method](*rows[:, pair].T).statistic for pair in PAIRS]
        np.testing.assert_allclose(got[resample], truth, rtol=1e-9, atol=1e-12)


def test_equal_weights_change_nothing_but_p_and_only_ratios_count() -> None:
    errors = true_errors(population(40))
    equal = pd.Series(3.0, errors.index)
    uneven = pd.Series(np.linspace(0.2, 4, 40), errors.index)
    for weights, other in ((None, equal), (uneven, 7 * uneven)):
        first = correlations(errors, resamples=200, weights=weights)
        second = correlations(errors, resamples=200, weights=other)
        names = ["estimate", "low", "high", "n"]
        pd.testing.assert_frame_equal(first[names], second[names], rtol=1e-9)
    assert (correlations(errors, resamples=200, weights=equal)["effective"] == 40).all()


def test_every_analysis_takes_them() -> None:
    architectures = population(40)
    errors = true_errors(architectures)
    errors.iloc[3, 1] = errors.iloc[5, 3] = np.nan
    weights = pd.Series(np.random.default_rng(0).integers(1, 5, 40), errors.index)
    table = correlations(errors, resamples=80, weights=weights)
    pair = table.set_index(["source", "target"]).loc[("big", "lines")]
    match = match_family(errors, ROLES, resamples=80, weights=weights)
    complete = errors[["big", "big-2", "lines"]].dropna().index
    repeated = errors.loc[complete.repeat(weights[complete])]
    row = match.set_index("target").loc["lines"]
    truth = repeated.corr(method="spearman")
    assert row["rho_source"] == pytest.approx(truth.loc["big", "lines"])
    assert row["rho_member"] == pytest.approx(truth.loc["big-2", "lines"])
    assert row["difference"] == pytest.approx(row["rho_member"] - row["rho_source"])
    assert row["effective"] < row["n"] == 38
    (average,) = match.attrs["averages"]
    assert average["effective"] == match["effective"].min()
    proxies = best_proxies(errors, ROLES, resamples=80, weights=weights)
    found = proxies.set_index(["target", "proxy"])["estimate"]
    assert found["lines", "big"] == pytest.approx(truth.loc["big", "lines"])
    assert proxies["effective"].notna().all()
    assert pair["estimate"] != pytest.approx(truth.loc["big", "lines"])
    driven = drivers(errors, architectures, resamples=80, weights=weights)
    depth = architectures.set_index("architecture")[["d1", "d2", "d3", "d4"]].sum(axis=1)
    all_rows = errors.index.repeat(weights)
    rho = stats.spearmanr(errors.loc[all_rows, "big"], depth[all_rows]).statistic
    assert driven["estimate"].iloc[0] == pytest.approx(rho)
    assert driven.columns.tolist()[-4:] == ["n", "effective", "p", "p_holm"]


def test_weights_undo_unequal_drawing() -> None:
    """A space in which depth has little variance, sampled evenly over depth."""
    generator = np.random.default_rng(0)
    depth = generator.uniform(-3, 3, 4000)
    chance = np.exp(-2 * depth**2)  # the space: normal with standard deviation 1/2
    x, y = depth + generator.normal(size=(2, 4000))
    errors = frame(np.column_stack([x, y]))
    weights = pd.Series(chance, errors.index)
    table = correlations(errors, "pearson", 400, weights=weights)
    truth = 0.25 / (0.25 + 1)
    assert table["low"][0] < truth < table["high"][0]
    assert table["high"][0] - table["low"][0] < 0.2
    assert correlations(errors, "pearson", 400)["low"][0] > truth + 0.3
    assert 1000 < table["effective"][0] < 2500


@pytest.mark.parametrize("method", SCIPY)
def test_p_values_reject_a_true_null_about_as_often_as_they_say(method: str) -> None:
    generator = np.random.default_rng(0)
    n, trials = 60, 300
    depth = generator.uniform(-2, 2, n)
    weights = np.exp(-1.5 * depth**2)
    errors = frame(np.column_stack([depth, generator.normal(size=(n, trials))]))
    # Only pairs of depth, on which the weights depend, with errors that do not depend on it.
    values = errors.to_numpy()
    pairs = pairwise(values, [(0, trial + 1) for trial in range(trials)])
    p = weighted_p_values(values, pairs, method, weights)  # type: ignore[arg-type]
    assert 0.02 < (p < 0.05).mean() < 0.09
    assert 0.42 < (p < 0.5).mean() < 0.58


def test_what_rests_on_one_architecture_is_no_warning() -> None:
    errors = frame(np.random.default_rng(0).normal(size=(8, 2)))
    twice = errors.assign(**{"set-1": errors["set-0"]})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        heavy = correlations(errors, resamples=100, weights=series(np.r_[1e15, np.ones(7)]))
        same = correlations(twice, resamples=100, weights=series(np.r_[1:9]))
    assert heavy["effective"][0] == pytest.approx(1.0)
    # A perfect correlation proves what the weighted architectures are worth: 6.35 are less than 8.
    assert same["effective"][0] == pytest.approx(36**2 / 204)
    unweighted = correlations(twice, resamples=100)["low"][0]
    assert 0 < same["low"][0] < unweighted < same["estimate"][0] == same["high"][0] == 1.0


def test_kendall_takes_none() -> None:
    errors = frame(np.random.default_rng(0).normal(size=(8, 2)))
    with pytest.raises(UserError, match="kendall takes no weights; legal with them: spearman"):
        correlations(errors, "kendall", 100, weights=series(np.ones(8)))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"net-3": 0.0}, "architecture net-3 has 0.0; legal: finite numbers above 0"),
        ({"net-3": np.nan}, "architecture net-3 has nan"),
        ({"net-3": np.inf}, "architecture net-3 has inf"),
        ({"net-3": -1.0}, "architecture net-3 has -1.0"),
    ],
)
def test_illegal_weights_are_refused(change: dict[str, float], message: str) -> None:
    errors = frame(np.random.default_rng(0).normal(size=(8, 2)))
    weights = series(np.ones(8))
    for name, weight in change.items():
        weights[name] = weight
    with pytest.raises(UserError, match=message):
        correlations(errors, weights=weights)


def test_weights_that_do_not_fit_the_errors_are_refused() -> None:
    errors = frame(np.random.default_rng(0).normal(size=(8, 2)))
    with pytest.raises(UserError, match="weights: 2 architectures of the errors are not in it"):
        correlations(errors, weights=series(np.ones(8)).drop(["net-0", "net-5"]))
    twice = pd.concat([series(np.ones(8)), series(np.ones(8)).iloc[:1]])
    with pytest.raises(UserError, match="is there more than once"):
        correlations(errors, weights=twice)


def errors_of(architectures: pd.DataFrame) -> pd.DataFrame:
    generator = np.random.default_rng(1)
    values = generator.uniform(10, 60, (len(architectures), 2))
    return pd.DataFrame(values, pd.Index(architectures["architecture"]), columns=["one", "two"])


@pytest.mark.parametrize("dtype", ["Int32", "float64", object])
def test_missing_cells_of_any_type_are_missing_stages(dtype: object) -> None:
    architectures = staged_population(20, 1, 3)
    errors = errors_of(architectures)
    columns = architectures.columns.drop("architecture")
    other = architectures.astype(dict.fromkeys(columns, dtype))
    pd.testing.assert_frame_equal(
        parameters_of(errors, other), parameters_of(errors, architectures), check_exact=True
    )


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        (["d1", "d2", "d4"], "no column d3, w1, "),
        (["d1", "w1", "b1", "g1", "d2", "w2", "b2"], r"no column g2; needed: .* \(2 here\)"),
        (["architecture", "flops"], "no column d1, w1, b1, g1"),
        (["d1", "w1", "b1", "g1", "d9"], "column d9: stages are 1 to 8"),
        (["d0", "w0", "b0", "g0"], "stages are 1 to 8"),
    ],
)
def test_columns_that_are_no_run_of_stages_are_refused(columns: list[str], message: str) -> None:
    with pytest.raises(UserError, match=message):
        stages_of(columns)


@pytest.mark.parametrize(
    "cells",
    [
        *(["b2"], ["d1", "w1", "b1", "g1"], ["d2", "w2", "b2", "g2"]),
        [f"{prefix}{stage}" for prefix in "dwbg" for stage in (1, 2, 3)],
    ],
)
def test_gaps_that_are_no_missing_last_stages_are_refused(cells: list[str]) -> None:
    architectures = staged_population(6, 3, 3)
    architectures[cells] = architectures[cells].astype(float)
    architectures.loc[4, cells] = np.nan
    with pytest.raises(UserError, match="architecture 0000000000000004 lacks a parameter"):
        drivers(errors_of(architectures), architectures)
