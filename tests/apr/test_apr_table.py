"""Bad tables: one line that says what, where and what is legal."""

import numpy as np
import pandas as pd
import pytest

from anynet_study.apr import check_errors, in_percent
from anynet_study.errors import UserError


@pytest.fixture
def errors() -> pd.DataFrame:
    values = np.linspace(2, 90, 12).reshape(4, 3)
    return pd.DataFrame(values, index=list("abcd"), columns=["one", "two", "three"])


def test_good_tables_pass_as_float(errors: pd.DataFrame) -> None:
    table = check_errors(errors.astype({"one": int}).astype({"two": str}))
    assert (table.dtypes == np.float64).all()
    assert table.index.name == "architecture"


def test_repeats_are_refused(errors: pd.DataFrame) -> None:
    with pytest.raises(UserError, match="architecture b is there more than once"):
        check_errors(errors.set_axis(list("abbd")))
    with pytest.raises(UserError, match="dataset one is there more than once"):
        check_errors(errors.set_axis(["one", "one", "two"], axis=1))


def test_cells_that_are_no_errors_are_refused(errors: pd.DataFrame) -> None:
    words = errors.astype(object)
    words.loc["c", "two"] = "n/a?"
    with pytest.raises(UserError, match=r"'n/a\?' is not a number \(dataset two, architecture c\)"):
        check_errors(words)
    errors.loc["d", "three"] = np.inf
    with pytest.raises(UserError, match=r"infinite error \(dataset three, architecture d\)"):
        check_errors(errors)


def test_missing_cells_are_kept(errors: pd.DataFrame) -> None:
    errors = errors.astype(object)
    errors.loc["a", "one"] = None
    assert check_errors(errors).isna().sum().sum() == 1


def test_no_dataset_is_refused(errors: pd.DataFrame) -> None:
    with pytest.raises(UserError, match="no dataset column"):
        check_errors(errors[[]])


def test_fractions_are_refused_unless_declared(errors: pd.DataFrame) -> None:
    with pytest.raises(UserError, match="look like fractions, not percent; pass --fraction"):
        in_percent(errors / 100)
    pd.testing.assert_frame_equal(in_percent(errors / 100, fraction=True), errors)
    pd.testing.assert_frame_equal(in_percent(errors), errors)


def test_accuracies_are_turned_over(errors: pd.DataFrame) -> None:
    pd.testing.assert_frame_equal(in_percent(errors, accuracy=True), 100 - errors)
    both = in_percent(errors / 100, accuracy=True, fraction=True)
    pd.testing.assert_frame_equal(both, 100 - errors)


def test_values_that_are_no_percentage_are_refused(errors: pd.DataFrame) -> None:
    with pytest.raises(UserError, match="180 is outside 0 to 100"):
        in_percent(errors * 2)
    with pytest.raises(UserError, match="-2 is outside 0 to 100"):
        in_percent(errors.replace(2.0, -2.0))
    with pytest.raises(UserError, match="90 is outside 0 to 1"):
        in_percent(errors, fraction=True)
