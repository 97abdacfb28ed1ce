"""Bad tables: one clear line that says what, where and what is legal, in every statistic."""

from collections.abc import Callable

import numpy as np
import pandas as pd
import pytest
from synthetic_study import ROLES, population

from anynet_study import apr
from anynet_study.apr import check_errors
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
