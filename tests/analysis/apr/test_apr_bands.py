"""Two bands of architectures: their correlations, and how often the difference is held."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import spearmanr

from anynet_study import apr
from anynet_study.core.errors import DoesNotApplyError


def population(draw: np.random.Generator, r: float, count: int = 60) -> pd.DataFrame:
    """Errors on a source and two targets that correlate with it by r."""
    source = draw.normal(size=(count, 1))
    own = r * source + np.sqrt(1 - r**2) * draw.normal(size=(count, 2))
    return pd.DataFrame(40 + 3 * np.hstack([source, own]), columns=["s", "a", "b"])


def bands(draw: np.random.Generator, lower: float, upper: float) -> tuple[pd.DataFrame, ...]:
    one, other = population(draw, lower), population(draw, upper)
    return one, other.set_axis([f"u{number}" for number in range(len(other))])


def test_each_band_has_its_correlation() -> None:
    lower, upper = bands(np.random.default_rng(0), 0.8, 0.2)
    table = apr.compare_bands(lower, upper, "s", ["a", "b"], resamples=500).set_index("target")
    for name, row in table.iterrows():
        rho = [spearmanr(band["s"], band[name]).statistic for band in (lower, upper)]
        assert [row["lower"], row["upper"]] == pytest.approx(rho)
        assert row["difference"] == pytest.approx(rho[1] - rho[0])
        assert row["difference_low"] < row["difference"] < row["difference_high"] < 0
    assert table.attrs["family"] == "2 targets"


def test_constant_errors_have_a_note_and_shared_architectures_are_refused() -> None:
    lower, upper = bands(np.random.default_rng(0), 0.8, 0.2)
    table = apr.compare_bands(lower.assign(b=50.0), upper, "s", ["a", "b"], resamples=500)
    assert list(table["note"]) == ["", "too few, or constant, errors in a band"]
    assert list(table["difference"].isna()) == [False, True]
    with pytest.raises(DoesNotApplyError, match="0 is in both"):
        apr.compare_bands(lower, pd.concat([lower[:1], upper]), "s", ["a"])


@pytest.mark.slow
def test_intervals_of_differences_hold_together() -> None:
    draw, held = np.random.default_rng(1), []
    rho = [6 / np.pi * np.arcsin(r / 2) for r in (0.7, 0.4)]
    for _ in range(200):
        table = apr.compare_bands(*bands(draw, 0.7, 0.4), "s", ["a", "b"], resamples=400)
        true = rho[1] - rho[0]
        held.append(((table["difference_low"] <= true) & (true <= table["difference_high"])).all())
    assert np.mean(held) > 0.92
