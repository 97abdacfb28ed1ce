"""The cost front of proxies by brute force, widths of intervals in smaller studies."""

import numpy as np
import pandas as pd
import pytest
from synthetic_study import ROLES, noisy, population, true_errors

from anynet_study.apr import Roles, best_proxies, interval_widths, proxy_costs
from anynet_study.apr.proxies import _on_front
from anynet_study.errors import UserError


@pytest.fixture(scope="module")
def errors() -> pd.DataFrame:
    return noisy(true_errors(population(200)), 1)


def test_the_front_is_that_of_brute_force() -> None:
    generator = np.random.default_rng(0)
    estimates = generator.integers(0, 4, (5, 200)) / 4
    estimates[0, :20] = np.nan
    cost = np.array([1.0, 2.0, 2.0, 3.0, 9.0])
    front = _on_front(estimates, cost)
    for draw in range(200):
        for own in range(5):
            beaten = any(
                cost[other] <= cost[own] and estimates[other, draw] > estimates[own, draw]
                for other in range(5)
            )
            known = np.isfinite(estimates[own, draw])
            assert front[own, draw] == (known and not beaten)


def test_a_dear_proxy_that_is_no_better_is_off_the_front(errors: pd.DataFrame) -> None:
    costs = {"big": 100.0, "big-2": 3.0}
    table = proxy_costs(errors, ROLES, costs, resamples=500)
    assert list(table["proxy"]) == ["big-2", "big"] * 2
    found = table.set_index(["target", "proxy"])
    assert found.loc[("pets", "big"), ["on_front", "probability_on_front"]].tolist() == [True, 1]
    assert found.loc[("lines", "big"), ["on_front", "probability_on_front"]].tolist() == [False, 0]
    same = best_proxies(errors, ROLES, resamples=500).set_index(["target", "proxy"])
    columns = ["estimate", "low", "high", "n"]
    pd.testing.assert_frame_equal(found[columns], same.loc[found.index, columns])


def test_undefined_proxies_are_on_no_front(errors: pd.DataFrame) -> None:
    roles = Roles("big", {"big": 9, "flat": 2}, {"pets": 9})
    table = proxy_costs(errors.assign(flat=1.0), roles, {"big": 2, "flat": 1}, resamples=40)
    flat = table.set_index("proxy").loc["flat"]
    assert not flat["on_front"]
    assert np.isnan(flat["probability_on_front"])
    with pytest.raises(UserError, match="costs: none for big-2"):
        proxy_costs(errors, ROLES, {"big": 1.0})
    with pytest.raises(UserError, match="at least 0"):
        proxy_costs(errors, ROLES, {"big": 1.0, "big-2": -1.0})


def test_smaller_studies_have_wider_intervals_as_fisher_says(errors: pd.DataFrame) -> None:
    table = interval_widths(errors, "big", "pets", (25, 100, 500), 12, resamples=300)
    assert table["n"].tolist() == [25, 100, 200]
    assert table["subsamples"].tolist() == [12, 12, 1]
    assert (np.diff(table["width"]) < 0).all()
    assert (table["width_low"] <= table["width"]).all()
    np.testing.assert_allclose(table["width"], table["fisher"], rtol=0.35)
    with pytest.raises(UserError, match="no column cats"):
        interval_widths(errors, "big", "cats")
    with pytest.raises(UserError, match="sizes: at least 4"):
        interval_widths(errors, "big", "pets", (3,))
    with pytest.raises(UserError, match="0 architectures have both errors"):
        interval_widths(errors.assign(cats=np.nan), "big", "cats")
