"""Tables of errors: what is read, and what is refused."""

import numpy as np
import pandas as pd
import pytest

from anynet_study.analysis.apr import check_errors
from anynet_study.core.errors import UserError


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
