"""What the report says in words, from tables made by hand."""

import math

import pandas as pd
import pytest

from anynet_study.report import words


def match(rows: list[tuple[str, float, float, float]]) -> pd.DataFrame:
    return pd.DataFrame(rows, columns=["target", "rho_source", "rho_source_low", "rho_source_high"])


def test_carrying_over_is_decided_by_the_interval() -> None:
    rows = [
        ("insects", 0.9, 0.8, 0.95),
        ("powerline", -0.4, -0.5, -0.3),
        ("cifar10", 0.1, -0.1, 0.3),
        ("broken", math.nan, math.nan, math.nan),
        ("average", 0.2, 0.1, 0.3),
    ]
    said = words.carry_over(match(rows), "imagenet")
    assert said.startswith("The ranking of the architectures on imagenet carries over to insects.")
    assert "It is reversed on powerline: what is better on imagenet is worse there." in said
    assert "Whether it carries over to cifar10 is undecided" in said
    assert "It cannot be compared with broken" in said
    assert "average" not in said


@pytest.mark.parametrize(
    ("estimate", "low", "high", "probability", "expected"),
    [
        (0.8, 0.7, 0.9, 0.99, "use x-2 (ρ = 0.80 [0.70, 0.90]); it is clearly the best"),
        (0.8, 0.7, 0.9, 0.85, "it is probably the best"),
        (0.8, 0.7, 0.9, 0.6, "is not settled (in 60% of resamples, x in 40%)"),
        (0.3, 0.2, 0.4, 0.99, "the best proxy, x-2, is a weak one"),
        (0.2, -0.1, 0.4, 0.99, "no member is a proven proxy"),
        (-0.3, -0.5, -0.1, 0.99, "no member is a useful proxy"),
        (0.8, 0.7, 0.9, 1.0, "in more than 99.9% of resamples"),
    ],
)
def test_the_proxy_to_use_and_how_sure(
    estimate: float, low: float, high: float, probability: float, expected: str
) -> None:
    rows = pd.DataFrame(
        {
            "target": "t",
            "proxy": ["x-2", "x"],
            "estimate": [estimate, estimate - 0.1],
            "low": [low, low - 0.1],
            "high": [high, high - 0.1],
            "probability_best": [probability, 1 - probability],
        }
    )
    assert expected in words.best_proxy(rows)
    undefined = rows.assign(estimate=math.nan)
    assert "no proxy can be named" in words.best_proxy(undefined)


@pytest.mark.parametrize(
    ("difference", "low", "high", "expected"),
    [(0.3, 0.2, 0.4, "raises"), (-0.3, -0.4, -0.2, "lowers"), (0.1, -0.1, 0.2, "does not clearly")],
)
def test_gain_of_matching_class_counts(
    difference: float, low: float, high: float, expected: str
) -> None:
    row = {"rho_source": 0.2, "rho_member": 0.2 + difference, "difference": difference}
    ends = {"difference_low": low, "difference_high": high}
    (said,) = words.gain(pd.DataFrame([{"target": "average", **row, **ends}]), "x")
    assert expected in said


def test_drivers_that_flip_are_named() -> None:
    table = pd.DataFrame(
        {
            "dataset": ["a", "b", "a", "b"],
            "parameter": ["cumulative depth"] * 2 + ["cumulative width"] * 2,
            "low": [0.1, -0.4, -0.1, -0.1],
            "high": [0.3, -0.2, 0.1, 0.1],
        }
    )
    depth, rest = words.driver_flips(table)
    assert (
        depth == "More cumulative depth goes with lower errors on b, but with higher errors on a."
    )
    assert rest == "On no dataset do the errors clearly rise or fall with cumulative width."


def test_noise_that_hides_the_architectures_is_said() -> None:
    table = pd.DataFrame(
        {
            "dataset": ["a", "b", "c"],
            "icc": [0.9, 0.5, -0.1],
            "icc_low": [0.8, 0.3, -0.5],
            "ceiling": [0.95, 0.71, 0.0],
        }
    )
    bound, hidden = words.noise(table)
    assert "most on b" in bound
    assert "beyond 0.71" in bound
    assert hidden.startswith("On c the replicates do not show")
    assert words.noise(table.assign(icc=math.nan)) == []


def test_lists_for_people() -> None:
    assert words.listed(["a"]) == "a"
    assert words.listed(["a", "b", "c"]) == "a, b and c"
    assert words.some(list("abcdefg"), 9) == "7 of 9 datasets"
    assert words.some(["a", "b"], 2) == "all 2 datasets"
