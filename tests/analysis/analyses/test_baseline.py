"""Effective robustness beyond the line of a user's baseline."""

import numpy as np
import pandas as pd
import pytest

import anynet_study
from anynet_study import apr
from anynet_study.core.errors import UserError


@pytest.fixture
def errors() -> pd.DataFrame:
    """Six plain models on a line, and three that are 10 points more robust."""
    names = [f"plain-{i}" for i in range(6)] + [f"robust-{i}" for i in range(3)]
    own = np.array([30.0, 26, 22, 18, 14, 10, 28, 20, 12])
    beyond = np.array([0.0] * 6 + [10.0] * 3)
    noise = np.array([0.3, -0.2, 0.1, -0.3, 0.2, -0.1, 0.0, 0.1, -0.1])
    return pd.DataFrame({"val": own, "v2": own + 15 - beyond + noise}, index=names)


def test_the_line_is_that_of_the_baseline(errors: pd.DataFrame) -> None:
    study = anynet_study.load(errors, "val", shifts=["v2"], baseline=("plain-*",))
    table = study.table("effective-robustness")
    alone = apr.effective_robustness(
        (100 - errors).rename(columns={"val": "test"}), "test", baseline=list(errors.index[:6])
    )
    mine = table[table["shift"].eq("v2")]
    expected = alone[alone["shift"].eq("v2")]
    np.testing.assert_allclose(mine["effective"], expected["effective"])
    robust = mine[mine["architecture"].str.startswith("robust")]["effective"]
    assert robust.between(8, 12).all()
    assert "The line is that of the architectures like plain-*." in table.attrs["remarks"]


def test_a_pattern_of_nothing_is_refused(errors: pd.DataFrame) -> None:
    study = anynet_study.load(errors, "val", shifts=["v2"], baseline=("vgg*",))
    with pytest.raises(UserError, match=r"--baseline: no architecture is like vgg\*"):
        study.table("effective-robustness")
