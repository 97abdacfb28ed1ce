"""The rule of verdicts: no surer than the data, and not impressed by what does not matter."""

import numpy as np
import pandas as pd
import pytest

from anynet_study.analysis.apr import Roles, best_proxies, match_family
from anynet_study.analysis.apr.verdicts import is_best, is_preserved, verdict


def correlated(n: int, rho: float, seed: int = 0) -> np.ndarray:
    """(n, 2) normal values whose sample correlation is `rho`."""
    x, y = np.random.default_rng(seed).normal(size=(2, n))
    x = (x - x.mean()) / x.std()
    y -= y.mean() + (y @ x) / n * x
    return np.column_stack([x, rho * x + np.sqrt(1 - rho**2) * y / y.std()]) * 5 + 40


@pytest.mark.parametrize(
    ("low", "high", "said"),
    [
        (0.3, 0.9, "yes"),
        (0.29, 0.9, "undecided"),
        (0.01, 0.29, "no"),  # surely there, and too small to matter
        (-0.9, -0.7, "no"),
        (0.2, 0.3, "undecided"),
        (np.nan, np.nan, "undecided"),
    ],
)
def test_the_whole_interval_decides(low: float, high: float, said: str) -> None:
    assert verdict(low, high, 0.3)[0] == said


def asked_of(rho: float, others: int, seed: int = 4) -> pd.DataFrame:
    """Errors of 100 on s and t, which correlate, and on other datasets that say nothing of them."""
    table = pd.DataFrame(correlated(100, rho, seed), columns=["s", "t"])
    drawn = np.random.default_rng(seed).normal(size=(100, others)) + 40
    return table.assign(**{f"x{i}": column for i, column in enumerate(drawn.T)})


def test_a_verdict_does_not_hang_on_datasets_that_were_not_asked() -> None:
    roles = Roles("s", {"s": 10}, {"t": 2})
    rows = [match_family(asked_of(0.5, others), roles, resamples=500) for others in (0, 8)]
    assert [table["carries_over"].iloc[0] for table in rows] == ["yes", "yes"]
    assert [table.attrs["family"] for table in rows] == ["", ""]


def test_a_verdict_is_corrected_for_the_targets_that_were() -> None:
    table = asked_of(0.49, 20)
    alone = match_family(table, Roles("s", {"s": 10}, {"t": 2}), resamples=2000)
    targets = {name: 2 for name in table if name != "s"}
    together = match_family(table, Roles("s", {"s": 10}, targets), resamples=2000)
    assert (alone["carries_over"].iloc[0], together["carries_over"].iloc[0]) == ("yes", "undecided")
    assert together["rho_source_low"].iloc[0] >= 0.3  # of one correlation, not of 21


@pytest.mark.parametrize(
    ("same_low", "turned", "said"),
    [
        (0.5, (0.0, 0.1), "yes"),
        (0.49, (0.0, 0.1), "undecided"),
        (0.5, (0.0, 0.11), "undecided"),
        (0.5, (0.11, 0.2), "no"),
        (0.0, (0.0, 1.0), "undecided"),
    ],
)
def test_preserving(same_low: float, turned: tuple[float, float], said: str) -> None:
    assert is_preserved(same_low, *turned)[0] == said


def test_the_best() -> None:
    assert list(is_best([True, False, False])) == ["yes", "no", "no"]
    assert list(is_best([True, True, False])) == ["undecided", "undecided", "no"]
    assert list(is_best([True])) == ["undecided"]  # better than nothing else


def test_a_family_of_one_has_no_best() -> None:
    table = pd.DataFrame(correlated(60, 0.9), columns=["s", "t"])
    row = best_proxies(table, Roles("s", {"s": 10}, {"t": 2}), resamples=200).iloc[0]
    assert row["best"] == "undecided"
