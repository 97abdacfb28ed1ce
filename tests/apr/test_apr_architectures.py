"""Drivers, configurations and extremes: what they say of the architectures."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from anynet_study.apr import configurations, cumulative, drivers, mark_extremes
from anynet_study.errors import UserError

STAGE_COLUMNS = [f"{prefix}{stage}" for prefix in "dwbg" for stage in (1, 2, 3, 4)]


@pytest.fixture
def population() -> pd.DataFrame:
    generator = np.random.default_rng(0)
    parameters = pd.DataFrame(generator.integers(1, 17, size=(60, 16)), columns=STAGE_COLUMNS)
    parameters.insert(0, "architecture", [f"net-{i:02}" for i in range(60)])
    return parameters


@pytest.fixture
def errors(population: pd.DataFrame) -> pd.DataFrame:
    """`deep` errs with depth, `narrow` errs less with width; rows in another order."""
    sums = cumulative(population.set_index("architecture"))
    noise = np.random.default_rng(1).normal(size=(60, 2))
    table = pd.DataFrame(
        {
            "deep": sums["cumulative depth"] + noise[:, 0],
            "narrow": 90 - sums["cumulative width"] + 20 * noise[:, 1],
        }
    )
    return table.sample(frac=1, random_state=0)


def test_drivers_of_the_errors_are_recovered(
    errors: pd.DataFrame, population: pd.DataFrame
) -> None:
    table = drivers(errors, population, resamples=500)
    assert list(table["parameter"]) == ["cumulative depth", "cumulative width"] * 2
    found = table.set_index(["dataset", "parameter"])
    assert found.loc[("deep", "cumulative depth"), "low"] > 0.95
    assert found.loc[("narrow", "cumulative width"), "high"] < -0.1
    depth = population.set_index("architecture").loc[errors.index, ["d1", "d2", "d3", "d4"]]
    truth = stats.spearmanr(errors["narrow"], depth.sum(axis=1))
    row = found.loc[("narrow", "cumulative depth")]
    np.testing.assert_allclose([row["estimate"], row["p"]], truth)


def test_drivers_without_variation_are_nan(errors: pd.DataFrame, population: pd.DataFrame) -> None:
    population[["d1", "d2", "d3", "d4"]] = 2
    table = drivers(errors, population, resamples=40).set_index("parameter")
    assert table.loc["cumulative depth", "estimate"].isna().all()
    assert table.loc["cumulative width", "estimate"].notna().all()


def test_populations_that_do_not_fit_are_refused(
    errors: pd.DataFrame, population: pd.DataFrame
) -> None:
    with pytest.raises(UserError, match="no column w4"):
        drivers(errors, population.drop(columns="w4"))
    with pytest.raises(UserError, match="2 architectures of the errors are not in it"):
        drivers(errors, population.iloc[2:])
    with pytest.raises(UserError, match="architecture net-00 is there more than once"):
        drivers(errors, pd.concat([population, population.iloc[:1]]))


def test_configurations_are_those_of_the_best(
    errors: pd.DataFrame, population: pd.DataFrame
) -> None:
    table = configurations(errors, population, top=15)
    assert len(table) == 2 * 4 * 4
    best = errors["deep"].sort_values().index[:15]
    values = population.set_index("architecture").loc[best, "b3"]
    query = "dataset == 'deep' and parameter == 'bottleneck ratio' and stage == 3"
    row = table.query(query).iloc[0]
    assert (row["best"], row["n"]) == (values.iloc[0], 15)
    np.testing.assert_allclose([row["mean"], row["std"]], [values.mean(), np.std(values, ddof=1)])


def test_configurations_of_fewer_than_asked_say_so(
    errors: pd.DataFrame, population: pd.DataFrame
) -> None:
    errors["narrow"] = np.nan
    errors.iloc[29:, 0] = np.nan
    table = configurations(errors, population)
    assert set(table["dataset"]) == {"deep"}
    assert set(table["n"]) == {7}  # a quarter of 29
    with pytest.raises(UserError, match="top: 0"):
        configurations(errors, population, top=0)


def test_extremes_are_marked_in_table_order(errors: pd.DataFrame) -> None:
    marks = mark_extremes(errors, "deep")
    assert list(marks.index) == list(errors.index)
    ranks = errors["deep"].rank()
    assert set(ranks[marks == "top"]) == set(range(1, 11))
    assert set(ranks[marks == "worst"]) == set(range(51, 61))


def test_extremes_never_meet_and_gaps_are_unmarked(errors: pd.DataFrame) -> None:
    few = errors.iloc[:16].copy()
    few.iloc[0, 0] = np.nan
    marks = mark_extremes(few, "deep")
    assert marks.value_counts().to_dict() == {"": 10, "top": 3, "worst": 3}
    assert marks.iloc[0] == ""


def test_ties_are_broken_by_architecture_not_by_row_order(errors: pd.DataFrame) -> None:
    errors["deep"] = 10.0
    marks = mark_extremes(errors, "deep")
    assert set(marks.index[marks == "top"]) == {f"net-{i:02}" for i in range(10)}


def test_an_unknown_dataset_is_refused(errors: pd.DataFrame) -> None:
    with pytest.raises(UserError, match="no column cats; the datasets are deep, narrow"):
        mark_extremes(errors, "cats")
