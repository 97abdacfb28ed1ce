"""Selection regret: choices against enumeration, expectations against simulated studies."""

from itertools import combinations, permutations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from synthetic_study import ROLES, population, true_errors

from anynet_study.analysis.apr import Roles, selection_regret
from anynet_study.analysis.apr.regret import best_of_random, chosen_by_rank
from anynet_study.core.errors import UserError


@given(errors=st.lists(st.integers(0, 9), min_size=3, max_size=9), k=st.integers(1, 3))
@settings(deadline=None, max_examples=50)
def test_random_choices_are_those_of_all_subsets(errors: list[int], k: int) -> None:
    truth = np.mean([min(chosen) for chosen in combinations(errors, k)])
    assert best_of_random(np.sort(errors).astype(float), k) == pytest.approx(truth)


@given(
    rows=st.lists(st.tuples(st.integers(0, 2), st.integers(0, 9)), min_size=3, max_size=6),
    k=st.integers(1, 3),
)
@settings(deadline=None, max_examples=50)
def test_choices_are_expected_over_all_orders_of_equal_ones(
    rows: list[tuple[int, int]], k: int
) -> None:
    proxy, errors = (np.array(values, dtype=float) for values in zip(*rows, strict=True))
    orders = [order for order in permutations(rows) if list(order) == sorted(order, key=first_of)]
    chosen = [[error for _, error in order[:k]] for order in orders]
    assert chosen_by_rank(proxy, errors, k, "mean") == pytest.approx(np.mean(chosen))
    truth = np.mean([min(errors) for errors in chosen])
    assert chosen_by_rank(proxy, errors, k, "best") == pytest.approx(truth)


def first_of(pair: tuple[int, float]) -> int:
    return pair[0]


def test_equal_errors_are_not_settled_by_name() -> None:
    errors = pd.DataFrame({"s": [1.0, 1, 2, 3], "t": [5.0, 9, 1, 2]}, index=list("abcd"))
    roles = Roles("s", {"s": 10}, {"t": 2})
    renamed = errors.set_axis(list("badc"))
    tables = [selection_regret(table, roles, (1,), resamples=40) for table in (errors, renamed)]
    assert [table["error"].item() for table in tables] == [7.0, 7.0]


def test_regret_by_hand() -> None:
    errors = pd.DataFrame(
        {"s": [1.0, 2, 3, 4, 5, 6], "x": [2.0, 1, 3, 4, 5, np.nan], "t": [9.0, 7, 8, 1, 5, 0]},
        index=list("fedcba"),
    )
    roles = Roles("s", {"s": 10, "x": 5}, {"t": 2})
    table = selection_regret(errors, roles, top=(1, 2), resamples=40).set_index(["proxy", "top"])
    # The last architecture has no error on x: it counts for no proxy.
    assert set(table["n"]) == {5}
    assert set(table["oracle"]) == {1.0}
    assert table.loc[("s", 1), ["error", "random"]].tolist() == [9, 6]
    assert table.loc[("x", 1), "error"] == 7
    assert table.loc[("s", 2), "error"] == 7
    pairs = [min(chosen) for chosen in combinations([9, 7, 8, 1, 5], 2)]
    assert table.loc[("s", 2), "random"] == pytest.approx(np.mean(pairs))
    mean = selection_regret(errors, roles, (2,), "mean", resamples=40).set_index("proxy")
    assert mean.loc["s", ["error", "random"]].tolist() == [8, 6]


def normal_errors(n: int, r: float, draw: np.random.Generator) -> pd.DataFrame:
    columns = draw.multivariate_normal([30, 20], [[1, r], [r, 1]], n)
    return pd.DataFrame(columns, columns=["s", "t"])


S_AND_T = Roles("s", {"s": 10}, {"t": 2})


def test_a_perfect_proxy_costs_nothing_under_noise() -> None:
    """It knows every true error; the target's runs have an ICC of 0.7."""
    draw, n = np.random.default_rng(1), 300
    true = draw.normal(30, 1, n)
    runs = true[:, None] + np.sqrt(3 / 7) * draw.normal(size=(n, 2))
    parts = [("s", 0, true), ("t", 0, runs[:, 0]), ("t", 1, runs[:, 1])]
    long = pd.concat(
        pd.DataFrame(
            {"architecture": range(n), "dataset": name, "replicate": replicate, "error": values}
        )
        for name, replicate, values in parts
    )
    errors = pd.DataFrame({"s": true, "t": runs[:, 0]})
    measured = selection_regret(errors, S_AND_T, (1,), resamples=200).iloc[0]
    freed = selection_regret(errors, S_AND_T, (1,), resamples=200, replicates=long).iloc[0]
    assert measured["regret_low"] > 0.3  # the luckiest run is no fair judge
    assert freed["regret_low"] == 0
    assert freed["regret"] < 0.15
    assert freed["chance"] == pytest.approx(2.8, abs=0.4)  # of 300 errors with a deviation of 1
    assert np.isnan(measured["reliability"])
    assert freed["reliability"] == pytest.approx(0.68, abs=0.1)


def test_diverged_runs_and_units() -> None:
    """Runs that fail are far above; they make the least to be paid for a bad choice no larger."""
    errors = normal_errors(200, 0.5, np.random.default_rng(2))
    row = selection_regret(errors, S_AND_T, (1,), resamples=200).iloc[0]
    worst = errors["t"].nlargest(4).index
    failed = errors.assign(t=errors["t"].where(~errors.index.isin(worst), errors["t"] + 50))
    columns = ["regret", "regret_low", "regret_high", "chance", "share"]
    found = selection_regret(failed, S_AND_T, (1,), resamples=200).iloc[0]
    assert found[columns].tolist() == pytest.approx(row[columns].tolist())
    doubled = selection_regret(errors.assign(t=2 * errors["t"]), S_AND_T, (1,), resamples=200)
    expected = row[columns] * [2, 2, 2, 2, 1]
    assert doubled.iloc[0][columns].tolist() == pytest.approx(expected.tolist())


def test_what_cannot_be_chosen_is_nan() -> None:
    errors = true_errors(population(6))
    errors["big-2"] = 50.0
    table = selection_regret(errors, ROLES, top=(1, 4, 9), resamples=40)
    table = table.set_index(["target", "proxy", "top"])
    table = table.sort_index()
    assert table.loc[("pets", "big-2"), ["error", "regret", "share"]].isna().all(axis=None)
    assert np.isfinite(table.loc[("pets", "big", 4), "error"])
    assert np.isnan(table.loc[("pets", "big", 4), "regret_low"])  # of six architectures
    assert np.isnan(table.loc[("pets", "big", 9), "error"])
    errors.loc[errors.index[2:], "lines"] = np.nan
    table = selection_regret(errors, ROLES, resamples=40).set_index("target")
    assert (table.loc["lines", "n"] == 0).all()
    assert table.loc["lines", "oracle"].isna().all()


def test_bad_options_are_refused() -> None:
    errors = true_errors(population(6))
    with pytest.raises(UserError, match="'all'; choose from best, mean"):
        selection_regret(errors, ROLES, keep="all")  # type: ignore[arg-type]
    with pytest.raises(UserError, match="at least 1"):
        selection_regret(errors, ROLES, top=(0,))
