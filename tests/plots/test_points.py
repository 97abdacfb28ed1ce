"""The tables behind the figures, against brute force."""

import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from small_study import small_study

from anynet_study.plots import driver_data, scatter_data, upper_limit


def test_points_are_the_architectures_with_both_errors() -> None:
    errors = small_study(30).errors
    errors.iloc[0, 0] = errors.iloc[1, 1] = np.nan
    data = scatter_data(errors, [("base", "base-5"), ("base", "target-0")], count=3)
    first = data[data["y"] == "base-5"].set_index("architecture")
    assert len(first) == 28
    assert len(data[data["y"] == "target-0"]) == 29
    both = errors[["base", "base-5"]].dropna()
    pd.testing.assert_series_equal(first["y_error"], both["base-5"], check_names=False)
    ranks = both["base-5"].rank(method="first")
    assert set(first.index[first["mark"] == "top"]) == set(ranks.index[ranks <= 3])
    assert set(first.index[first["mark"] == "worst"]) == set(ranks.index[ranks > 25])


@pytest.mark.parametrize(("architectures", "marked"), [(3, 0), (8, 2), (39, 9), (60, 10)])
def test_at_most_a_quarter_is_marked(architectures: int, marked: int) -> None:
    marks = scatter_data(small_study(architectures).errors, [("base", "base-2")])["mark"]
    assert (marks == "top").sum() == (marks == "worst").sum() == marked


def test_driver_points_join_errors_and_architectures() -> None:
    study = small_study(20)
    population = study.parameters.sample(frac=1, random_state=0)
    data = driver_data(study.errors, population, "cumulative width")
    one = data[data["dataset"] == "target-0"].iloc[5]
    row = population[population["architecture"] == one["architecture"]].iloc[0]
    assert one["value"] == row["w1"] + row["w2"] + row["w3"] + row["w4"]
    assert one["error"] == study.errors.loc[one["architecture"], "target-0"]


@given(st.lists(st.floats(min_value=0, max_value=100), max_size=40))
def test_the_scale_leaves_out_a_tenth_at_most(errors: list[float]) -> None:
    values = pd.Series(errors, dtype=float)
    limit = upper_limit(values)
    assert (values > limit).sum() <= 0.1 * len(values)
    if math.isfinite(limit):
        assert (values > limit).any()
        assert limit in errors


def test_diverged_runs_are_off_the_scale() -> None:
    errors = pd.Series([*np.linspace(10, 20, 30), 90.0])
    assert upper_limit(errors) == 20
    assert upper_limit(errors[:-1]) == math.inf
    assert upper_limit(pd.Series([np.nan])) == math.inf
