"""Sentences on both sides of each threshold: word for word what a reader is told."""

import pandas as pd
import pytest

from anynet_study.analyses import noise, proxies, shifts


def proxy(low: float, high: float, probability: float) -> str:
    """What is said of the better of two proxies."""
    rows = {"target": "t", "proxy": ["x", "y"], "estimate": [0.4, 0.2], "low": [low, -0.1]}
    rows |= {"high": [high, 0.3], "probability_best": [probability, 1 - probability]}
    return proxies.best_proxy(pd.DataFrame(rows))


@pytest.mark.parametrize(
    ("low", "high", "probability", "said"),
    [
        (
            *(0.1, 0.5, 0.95),
            "For t use x (ρ = 0.40 [0.10, 0.50]); it is clearly the best of its family "
            "(in 95% of resamples).",
        ),
        (
            *(0.1, 0.5, 0.949),
            "For t use x (ρ = 0.40 [0.10, 0.50]); it is probably the best of its family "
            "(in 95% of resamples).",
        ),
        (
            *(0.1, 0.5, 0.8),
            "For t use x (ρ = 0.40 [0.10, 0.50]); it is probably the best of its family "
            "(in 80% of resamples).",
        ),
        (
            *(0.1, 0.5, 0.79),
            "For t use x (ρ = 0.40 [0.10, 0.50]); that it is the best of its family is not settled "
            "(in 79% of resamples, y in 21%).",
        ),
        (
            *(0.1, 0.499, 0.95),
            "For t the best proxy, x, is a weak one (ρ = 0.40 [0.10, 0.50]); it is clearly the "
            "best of its family (in 95% of resamples).",
        ),
        (
            *(0.0, 0.5, 0.95),
            "For t no member is a proven proxy: the best, x, has ρ = 0.40 [0.00, 0.50], which "
            "includes 0.",
        ),
        (
            *(-0.3, -0.001, 0.95),
            "For t no member is a useful proxy: the best, x, has ρ = 0.40 [−0.30, 0.00].",
        ),
    ],
)
def test_the_best_proxy(low: float, high: float, probability: float, said: str) -> None:
    assert proxy(low, high, probability) == said


@pytest.mark.parametrize(
    ("low", "high", "said"),
    [
        (0.001, 0.5, "The ranking of the architectures on s carries over to t."),
        (
            *(0.0, 0.5),
            "Whether the ranking of the architectures on s carries over to t is undecided "
            "(the interval includes 0).",
        ),
        (
            *(-0.5, 0.0),
            "Whether the ranking of the architectures on s carries over to t is undecided "
            "(the interval includes 0).",
        ),
        (
            *(-0.5, -0.001),
            "The ranking of the architectures on s is reversed on t: what is better on s is worse "
            "there.",
        ),
    ],
)
def test_carrying_over(low: float, high: float, said: str) -> None:
    row = {"target": ["t"], "rho_source": 0.1, "rho_source_low": low, "rho_source_high": high}
    assert proxies.carry_over(pd.DataFrame(row), "s") == said


@pytest.mark.parametrize(
    ("low", "high", "verb"),
    [
        (0.001, 0.3, "raises"),
        (0.0, 0.3, "does not clearly change"),
        (-0.3, 0.0, "does not clearly change"),
        (-0.3, -0.001, "lowers"),
    ],
)
def test_the_gain_of_matching(low: float, high: float, verb: str) -> None:
    row = {"target": ["average"], "rho_source": 0.2, "rho_member": 0.3, "difference": 0.1}
    (said,) = proxies.gain(
        pd.DataFrame(row | {"difference_low": low, "difference_high": high}), "s"
    )
    assert said.startswith(
        "Taking the class subset of s that is closest in class count to the target, instead of s, "
        f"{verb} the average correlation with the targets (from 0.20 to 0.30, a difference of 0.10"
    )


@pytest.mark.parametrize(("gain", "useless"), [(0.0, True), (0.001, False)])
def test_a_proxy_no_better_than_chance(gain: float, useless: bool) -> None:
    row = {"target": ["t"], "proxy": "s", "top": 1, "regret": 2.0, "regret_low": 1.0}
    row |= {"regret_high": 3.0, "random": 33.0, "oracle": 30.0, "gain": gain}
    cost, *rest = proxies.price(pd.DataFrame(row), "s")
    assert cost == (
        "Taking the one architecture that is best on s costs on t 2.00 [1.00, 3.00] points of "
        "error more than the best one there; taking one at random costs 3.00."
    )
    assert rest == ["On t that is no better than taking one at random."] * useless


@pytest.mark.parametrize(("low", "clear"), [(0.0, False), (0.001, True)])
def test_noise_that_hides_architectures(low: float, clear: bool) -> None:
    row = {"dataset": ["a"], "icc": 0.5, "icc_low": low, "ceiling": 0.71}
    (said,) = noise.noise_bounds(pd.DataFrame(row))
    assert said.startswith("Training noise bounds" if clear else "On a the replicates do not show")


@pytest.mark.parametrize(("drop", "change"), [(0.01, "lose 0.01"), (-0.01, "gain 0.01")])
@pytest.mark.parametrize(("low", "holds"), [(0.001, "holds"), (0.0, "may not hold")])
def test_further_test_sets(drop: float, change: str, low: float, holds: str) -> None:
    line = {"dataset": ["a"], "test_set": "new", "scale": "linear", "drop": drop, "slope": 1.1}
    line |= {"slope_low": 0.9, "slope_high": 1.3}
    found = {"dataset": ["a"], "evaluation": "new", "estimate": 0.5, "low": low, "high": 0.9}
    (said,) = shifts.lost_and_kept(pd.DataFrame(line), pd.DataFrame(found))
    assert said.startswith(f"On new, networks trained on a {change} points of accuracy on average")
    assert f"goes with 1.10 [0.90, 1.30] points there, and the ranking {holds} (ρ = 0.50" in said
