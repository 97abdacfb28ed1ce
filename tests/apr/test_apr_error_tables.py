"""Bad tables: one clear line that says what, where and what is legal, in every statistic."""

import inspect
from collections.abc import Callable

import numpy as np
import pandas as pd
import pytest
from synthetic_study import ROLES, noisy, population, true_errors

from anynet_study import apr
from anynet_study.apr import check_errors, in_percent
from anynet_study.errors import UserError

COUNT = 24

ARCHITECTURES = population(COUNT).assign(
    flops=range(COUNT), parameters=[7 * i % COUNT for i in range(COUNT)]
)

Statistic = Callable[[pd.DataFrame], pd.DataFrame]

STATISTICS: dict[str, Statistic] = {
    "correlations": lambda errors: apr.correlations(errors, resamples=40),
    "match_family": lambda errors: apr.match_family(errors, ROLES, resamples=40),
    "best_proxies": lambda errors: apr.best_proxies(errors, ROLES, resamples=40),
    "proxy_costs": lambda errors: apr.proxy_costs(
        errors, ROLES, {"big": 2, "big-2": 1}, resamples=40
    ),
    "selection_regret": lambda errors: apr.selection_regret(errors, ROLES, resamples=40),
    "drivers": lambda errors: apr.drivers(errors, ARCHITECTURES, resamples=40),
    "stage_drivers": lambda errors: apr.stage_drivers(errors, ARCHITECTURES, resamples=40),
    "importance": lambda errors: apr.importance(errors, ARCHITECTURES, trees=30, repeats=1),
    "configurations": lambda errors: apr.configurations(errors, ARCHITECTURES),
    "agreement": lambda errors: apr.agreement(errors, errors, resamples=40),
    "class_or_size": lambda errors: apr.class_or_size(
        errors, "big", "big-2", "pets", ["lines"], resamples=40
    ),
    "interval_widths": lambda errors: apr.interval_widths(
        errors, "big", "lines", (5,), 2, resamples=40
    ),
    "exclusions": apr.exclusions,
}


@pytest.fixture
def small() -> pd.DataFrame:
    values = np.linspace(2, 90, 12).reshape(4, 3)
    return pd.DataFrame(values, index=list("abcd"), columns=["one", "two", "three"])


def test_good_tables_pass_as_float(small: pd.DataFrame) -> None:
    table = check_errors(small.astype({"one": int}).astype({"two": str}))
    assert (table.dtypes == np.float64).all()
    assert table.index.name == "architecture"


def test_missing_cells_are_kept(small: pd.DataFrame) -> None:
    small = small.astype(object)
    small.loc["a", "one"] = None
    assert check_errors(small).isna().sum().sum() == 1


def test_no_dataset_is_refused(small: pd.DataFrame) -> None:
    with pytest.raises(UserError, match="no dataset column"):
        check_errors(small[[]])


def test_fractions_are_refused_unless_declared(small: pd.DataFrame) -> None:
    with pytest.raises(UserError, match="look like fractions, not percent; say which: --fraction"):
        in_percent(small / 100)
    mixed = small.assign(two=small["two"] / 100)
    with pytest.raises(UserError, match="no value of two exceeds 1, while others do"):
        in_percent(mixed)
    pd.testing.assert_frame_equal(in_percent(mixed, fraction=False), mixed)
    pd.testing.assert_frame_equal(in_percent(small / 100, fraction=True), small)
    pd.testing.assert_frame_equal(in_percent(small), small)


def test_accuracies_are_turned_over(small: pd.DataFrame) -> None:
    pd.testing.assert_frame_equal(in_percent(small, accuracy=True), 100 - small)
    both = in_percent(small / 100, accuracy=True, fraction=True)
    pd.testing.assert_frame_equal(both, 100 - small)


def test_values_that_are_no_percentage_are_refused(small: pd.DataFrame) -> None:
    with pytest.raises(UserError, match="180 is outside 0 to 100"):
        in_percent(small * 2)
    with pytest.raises(UserError, match="-2 is outside 0 to 100"):
        in_percent(small.replace(2.0, -2.0))
    with pytest.raises(UserError, match="90 is outside 0 to 1"):
        in_percent(small, fraction=True)


INTERVALS = [
    name
    for name in apr.__all__
    if name.islower()
    and "level" in (options := inspect.signature(getattr(apr, name)).parameters)
    and options["level"].default == 0.95
]


@pytest.fixture
def errors() -> pd.DataFrame:
    return noisy(true_errors(ARCHITECTURES), 1)


@pytest.mark.parametrize("statistic", STATISTICS.values(), ids=STATISTICS)
def test_what_is_no_table_of_errors_is_refused_in_one_line(
    statistic: Statistic, errors: pd.DataFrame
) -> None:
    cell, where = errors.iloc[3, 1], r"\(dataset big-2, architecture 0+3\)"
    bad = {
        "architecture net is there more than once": errors.set_axis(["net"] * COUNT),
        "dataset big is there more than once": errors.set_axis(["big", "big", "b", "c"], axis=1),
        f"'n/a' is not a number {where}": errors.astype(object).replace(cell, "n/a"),
        f"infinite error {where}": errors.replace(cell, np.inf),
    }
    for problem, table in bad.items():
        with pytest.raises(UserError, match=problem) as raised:
            statistic(table)
        assert "\n" not in str(raised.value)


@pytest.mark.parametrize("name", INTERVALS)
def test_impossible_intervals_are_refused(name: str) -> None:
    """Level, resamples and seed are looked at before anything else."""
    bad = {"level": 1.0, "resamples": 3, "seed": -1}
    options = inspect.signature(getattr(apr, name)).parameters
    needed = [None for option in options.values() if option.default is inspect.Parameter.empty]
    for option in set(bad) & set(options):
        with pytest.raises(UserError, match=option):
            getattr(apr, name)(*needed, **{option: bad[option]})


@pytest.mark.parametrize(
    "name", [name for name in STATISTICS if name not in ("exclusions", "importance")]
)
def test_nan_only_where_an_exclusion_says_why(name: str, errors: pd.DataFrame) -> None:
    """`lines` is constant, then missing, then of 3 architectures: only its rows may be NaN."""
    few = errors["lines"].where(np.arange(COUNT) < 3)
    for column in (errors["lines"] * 0 + 7.0, errors["lines"] * np.nan, few):
        table = errors.assign(lines=column)
        reasons = apr.exclusions(table)
        assert set(reasons["dataset"]) == {"lines"}
        if name == "interval_widths" and table["lines"].count() < 4:
            # It is about these two datasets alone.
            with pytest.raises(UserError, match="architectures have both errors"):
                STATISTICS[name](table)
            continue
        found = STATISTICS[name](table)
        named = found.astype(str).eq("lines").any(axis=1)
        sound = found[~named].drop(columns=["classes", "member_classes"], errors="ignore")
        if name not in ("class_or_size", "interval_widths"):  # all of it is about `lines`
            assert sound.notna().all(axis=None)
        assert not np.isinf(found.select_dtypes("number")).any(axis=None)
