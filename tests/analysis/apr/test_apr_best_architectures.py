"""Configurations, extremes and bins: what they say of the best architectures."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from synthetic_study import staged_population

from anynet_study import apr
from anynet_study.analysis.apr import configurations, cumulative, mark_extremes
from anynet_study.core.errors import UserError

STAGE_COLUMNS = [f"{prefix}{stage}" for prefix in "dwbg" for stage in (1, 2, 3, 4)]

FEW = 300


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
    with pytest.raises(UserError, match="no column cats; there are deep, narrow"):
        mark_extremes(errors, "cats")


def errors_of(architectures: pd.DataFrame) -> pd.DataFrame:
    generator = np.random.default_rng(1)
    values = generator.uniform(10, 60, (len(architectures), 2))
    return pd.DataFrame(values, pd.Index(architectures["architecture"]), columns=["one", "two"])


def test_configurations_average_over_those_that_have_the_stage() -> None:
    architectures = staged_population(40, 2, 5)
    errors = errors_of(architectures)
    table = configurations(errors, architectures, top=9)
    assert len(table) == 2 * 4 * 5
    best = errors["two"].sort_values().index[:9]
    for stage in range(1, 6):
        values = architectures.set_index("architecture").loc[best, f"w{stage}"]
        query = f"dataset == 'two' and parameter == 'width' and stage == {stage}"
        row = table.query(query).iloc[0]
        known = [float(value) for value in values if pd.notna(value)]
        assert row["n"] == len(known)
        np.testing.assert_array_equal(row["best"], float(values.iloc[0]))
        truth = [np.mean(known), np.std(known, ddof=1)]
        np.testing.assert_allclose([row["mean"], row["std"]], truth)


def test_a_stage_that_none_of_the_best_has_is_a_row_of_nothing() -> None:
    architectures = staged_population(40, 2, 5)
    errors = errors_of(architectures)
    shallow = architectures.set_index("architecture")["d5"].isna()
    errors.loc[shallow, "one"] -= 100
    last = configurations(errors, architectures, top=3).query("dataset == 'one' and stage == 5")
    assert (last["n"] == 0).all()
    assert last[["best", "mean", "std"]].isna().all(axis=None)


def test_the_best_of_each_bin() -> None:
    generator = np.random.default_rng(0)
    scores = pd.Series(generator.normal(70, 5, 60), index=[f"m{i}" for i in range(60)])
    size = pd.Series(np.tile([10e6, 50e6, 200e6], 20), index=scores.index)
    size.iloc[0] = np.nan
    table = apr.best_of_bins(scores, size, [50e6, 100e6], resamples=FEW)
    assert table["bin"].tolist() == ["below 50M", "50M to 100M", "100M or more"]
    few = apr.best_of_bins(scores, size / 1e3, [18_708.667, 38_732.667], resamples=FEW)
    assert few["bin"].tolist() == ["below 18.71k", "18.71k to 38.73k", "38.73k or more"]
    assert table["architectures"].tolist() == [19, 20, 20]
    assert table.attrs["left_out"] == 1
    for row, value in zip(table.itertuples(), [10e6, 50e6, 200e6], strict=True):
        best = scores[size == value].nlargest(10)
        assert (row.mean, row.best) == pytest.approx((best.mean(), best.max()))
        assert row.low <= row.mean <= row.high
    thirds = apr.best_of_bins(scores, scores.rank(), 3, top=4, resamples=FEW)
    assert thirds["architectures"].tolist() == [20, 20, 20]
    assert thirds["mean"].is_monotonic_increasing


def test_bins_of_families_and_empty_ones() -> None:
    scores = pd.Series([50.0, 60, 70, 80, 90, 55], index=list("abcdef"))
    family = pd.Series(["cnn", "vit", "cnn", "cnn", "cnn", None], index=scores.index)
    table = apr.best_of_bins(scores, family, top=2, resamples=FEW)
    assert table["bin"].tolist() == ["cnn", "vit"]
    assert table["mean"].tolist() == [85.0, 60.0]
    assert table["note"].tolist() == ["", "fewer than 4 architectures: no interval"]
    empty = apr.best_of_bins(scores, scores, [10.0, 100.0], resamples=FEW)
    assert empty["note"].tolist() == ["no architecture", "", "no architecture"]


@pytest.mark.slow
def test_intervals_of_the_best_cover() -> None:
    generator = np.random.default_rng(3)
    truth = -stats.norm.expect(lambda x: x, ub=stats.norm.ppf(0.25)) / 0.25
    held = 0
    for sample in range(150):
        scores = pd.Series(generator.normal(size=40))
        row = apr.best_of_bins(scores, scores * 0 + 1, [], resamples=FEW, seed=sample).iloc[0]
        held += row["low"] <= truth <= row["high"]
    assert 0.92 <= held / 150 <= 0.98
