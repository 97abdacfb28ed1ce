"""The rule of verdicts: no surer than the data, and not impressed by what does not matter."""

import numpy as np
import pandas as pd
import pytest

from anynet_study.apr import Roles, best_proxies, correlations, match_family
from anynet_study.apr.verdicts import carries_over, is_best, is_preserved, is_raised


def correlated(n: int, rho: float, seed: int = 0) -> np.ndarray:
    """(n, 2) normal values whose sample correlation is `rho`."""
    x, y = np.random.default_rng(seed).normal(size=(2, n))
    x = (x - x.mean()) / x.std()
    y -= y.mean() + (y @ x) / n * x
    return np.column_stack([x, rho * x + np.sqrt(1 - rho**2) * y / y.std()]) * 5 + 40


@pytest.mark.parametrize(
    ("rho", "n", "p", "verdict"),
    [
        (0.7, 200, 0.001, "yes"),
        (0.6, 16, 0.067, "undecided"),  # however well it looks: many were asked
        (0.25, 10_000, 0.001, "no"),  # surely there, and too small to matter
        (0.2, 40, 0.4, "undecided"),
        (-0.8, 40, 0.001, "no"),
        (0.9, 3, 0.3, "undecided"),
        (np.nan, 40, np.nan, "undecided"),
    ],
)
def test_carrying_over(rho: float, n: int, p: float, verdict: str) -> None:
    assert carries_over(rho, n, p)[0] == verdict


def test_a_low_correlation_of_noisy_errors_is_undecided() -> None:
    assert carries_over(0.1, 200, 0.3)[0] == "no"
    assert carries_over(0.1, 200, 0.3, ceiling=0.5)[0] == "undecided"
    assert carries_over(0.1, 200, 0.3, ceiling=0.0)[0] == "undecided"


def test_no_is_corrected_for_how_many_were_asked() -> None:
    one = carries_over(0.1, 80, 0.4)
    many = carries_over([0.1] * 20, [80] * 20, [0.4] * 20)
    assert (one[0], set(many)) == ("no", {"undecided"})


def test_the_verdict_of_a_target_rests_on_the_p_value_of_the_table_of_all_pairs() -> None:
    table = pd.DataFrame(correlated(16, 0.62), columns=["s", "t"])
    rest = np.random.default_rng(1).normal(size=(16, 4)) + 40
    table[list("abcd")] = rest
    roles = Roles("s", {"s": 10}, {"t": 2})
    row = match_family(table, roles, "pearson", 200).iloc[0]
    pairs = correlations(table, "pearson", 200)
    pair = pairs[(pairs["source"] == "s") & (pairs["target"] == "t")].iloc[0]
    assert row["rho_source_low"] > 0
    assert pair["p_holm"] > 0.05
    assert row["carries_over"] == "undecided"
    alone = match_family(table[["s", "t"]], roles, "pearson", 200).iloc[0]
    assert alone["carries_over"] == "yes"


@pytest.mark.parametrize(
    ("pairs", "same", "swapped", "verdict"),
    [(120, 1, 0, "undecided"), (120, 60, 0, "yes"), (120, 100, 1, "no"), (0, 0, 0, "undecided")],
)
def test_preserving(pairs: int, same: int, swapped: int, verdict: str) -> None:
    assert is_preserved(pairs, same, swapped)[0] == verdict


def test_the_best() -> None:
    assert list(is_best([0.96, 0.03, 0.01])) == ["yes", "no", "no"]
    assert list(is_best([0.96, 0.03, 0.01], asked=5)) == ["undecided", "undecided", "no"]
    assert list(is_best([1.0])) == ["undecided"]  # better than nothing else
    assert list(is_best([1.0, np.nan])) == ["undecided", "undecided"]


def test_a_family_of_one_has_no_best() -> None:
    table = pd.DataFrame(correlated(60, 0.9), columns=["s", "t"])
    row = best_proxies(table, Roles("s", {"s": 10}, {"t": 2}), resamples=200).iloc[0]
    assert (row["probability_best"], row["best"]) == (1.0, "undecided")


def test_raising() -> None:
    assert is_raised(0.2, 0.1, 0.3)[0] == "yes"
    assert is_raised(0.02, 0.01, 0.03)[0] == "no"
    assert is_raised(-0.2, -0.3, -0.1)[0] == "no"
    assert is_raised(0.04, 0.01, 0.08)[0] == "undecided"
    assert is_raised(np.nan, np.nan, np.nan)[0] == "undecided"
