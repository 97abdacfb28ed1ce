"""Selection regret against enumeration, and on choices whose price is known."""

from itertools import combinations

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
    assert chosen_by_rank(both, errors, k, "mean")[1] == pytest.approx(drawn[:k].mean())
    assert chosen_by_rank(both, errors, k, "best")[1] == drawn[:k].min()
    order = np.argsort(errors, kind="stable")
    truth = np.mean([min(chosen) for chosen in combinations(drawn, k)])
    found = best_of_random(both[:, order], errors[order].astype(float), k)
    np.testing.assert_allclose(found, truth)


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
    with pytest.raises(UserError, match="'all'; legal: best, mean"):
        selection_regret(errors, ROLES, keep="all")  # type: ignore[arg-type]
    with pytest.raises(UserError, match="at least 1"):
        selection_regret(errors, ROLES, top=(0,))
