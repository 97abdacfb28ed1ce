"""Selection regret against enumeration, and on choices whose price is known."""

from itertools import combinations, permutations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from synthetic_study import ROLES, noisy, population, true_errors

from anynet_study.apr import Roles, selection_regret
from anynet_study.apr.regret import best_of_random, chosen_by_rank, halves
from anynet_study.errors import UserError

counted = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 9)), min_size=3, max_size=6)


@given(rows=counted, k=st.integers(1, 3))
@settings(deadline=None, max_examples=50)
def test_choices_are_those_of_the_materialised_resample(
    rows: list[tuple[int, int]], k: int
) -> None:
    counts, errors = np.array(rows).T
    drawn = np.repeat(errors, counts).astype(float)
    if len(drawn) < k:
        return
    both = np.stack([counts, counts])
    order = np.argsort(errors, kind="stable")
    truth = np.mean([min(chosen) for chosen in combinations(drawn, k)])
    found = best_of_random(both[:, order], errors[order].astype(float), k)
    np.testing.assert_allclose(found, truth)


@given(
    rows=st.lists(st.tuples(st.booleans(), st.integers(0, 2), st.integers(0, 9)), min_size=3),
    k=st.integers(1, 3),
)
@settings(deadline=None, max_examples=50)
def test_choices_are_expected_over_all_orders_of_equal_ones(
    rows: list[tuple[bool, int, int]], k: int
) -> None:
    held, proxy, errors = (np.array(values) for values in zip(*sorted(rows)[:6], strict=True))
    rising = np.argsort(proxy, kind="stable")
    held, proxy, errors = held[rising], proxy[rising], errors[rising].astype(float)
    if held.sum() < k:
        return
    kept = [(proxy[i], errors[i]) for i in np.flatnonzero(held)]
    orders = [order for order in permutations(kept) if list(order) == sorted(order, key=first_of)]
    chosen = [[error for _, error in order[:k]] for order in orders]
    arguments = (np.array([held, held], dtype=int), proxy.astype(float), errors, k)
    assert chosen_by_rank(*arguments, "mean")[1] == pytest.approx(np.mean(chosen))
    truth = np.mean([min(errors) for errors in chosen])
    assert chosen_by_rank(*arguments, "best")[1] == pytest.approx(truth)


def first_of(pair: tuple[int, float]) -> int:
    return pair[0]


def test_equal_errors_are_not_settled_by_name() -> None:
    errors = pd.DataFrame({"s": [1.0, 1, 2, 3], "t": [5.0, 9, 1, 2]}, index=list("abcd"))
    roles = Roles("s", {"s": 10}, {"t": 2})
    renamed = errors.set_axis(list("badc"))
    tables = [selection_regret(table, roles, (1,), resamples=40) for table in (errors, renamed)]
    assert [table["error"].item() for table in tables] == [7.0, 7.0]


def test_halves_are_halves_and_follow_the_seed() -> None:
    held = halves(11, 300, 0, 0)
    assert set(held.sum(axis=1)) == {5}
    assert 0.3 < held.mean(axis=0).min() <= held.mean(axis=0).max() < 0.6
    assert not np.array_equal(held, halves(11, 300, 1, 0))


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
    assert table.loc[("s", 1), ["error", "regret", "random", "gain"]].tolist() == [9, 8, 6, -3]
    assert table.loc[("x", 1), "error"] == 7
    assert table.loc[("s", 2), "error"] == 7
    pairs = [min(chosen) for chosen in combinations([9, 7, 8, 1, 5], 2)]
    assert table.loc[("s", 2), "random"] == pytest.approx(np.mean(pairs))
    mean = selection_regret(errors, roles, (2,), "mean", resamples=40).set_index("proxy")
    assert mean.loc["s", ["error", "random", "gain"]].tolist() == [8, 6, -2]


def test_the_synthetic_study_has_the_regret_it_was_made_with() -> None:
    errors = noisy(true_errors(population(500)), 1)
    table = selection_regret(errors, ROLES, resamples=500).set_index(["target", "proxy", "top"])
    assert table.loc[("pets", "big", 10), "regret"] == 0
    assert table.loc[("pets", "big", 10), "gain_low"] > 3
    # `big` says nothing about `lines`: choosing by it is like choosing at random.
    assert table.loc[("lines", "big", 10), "gain_low"] < 0
    assert (table["regret"] >= 0).all()
    assert (table["regret_low"] <= table["regret"]).all()


def test_what_cannot_be_chosen_is_nan() -> None:
    errors = true_errors(population(6))
    errors["big-2"] = 50.0
    table = selection_regret(errors, ROLES, top=(1, 4, 9), resamples=40)
    table = table.set_index(["target", "proxy", "top"])
    table = table.sort_index()
    assert table.loc[("pets", "big-2"), ["error", "regret", "gain"]].isna().all(axis=None)
    assert np.isfinite(table.loc[("pets", "big", 4), "error"])
    assert np.isnan(table.loc[("pets", "big", 4), "regret_low"])  # a half has three
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
