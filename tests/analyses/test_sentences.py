"""What the report says in words, from tables made by hand."""

import math

import pandas as pd
import pytest

from anynet_study.analyses import building, correlations, drivers, noise, proxies, shifts, training


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
    said = proxies.carry_over(match(rows), "imagenet")
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
    assert expected in proxies.best_proxy(rows)
    undefined = rows.assign(estimate=math.nan)
    assert "no proxy can be named" in proxies.best_proxy(undefined)


@pytest.mark.parametrize(
    ("difference", "low", "high", "expected"),
    [(0.3, 0.2, 0.4, "raises"), (-0.3, -0.4, -0.2, "lowers"), (0.1, -0.1, 0.2, "does not clearly")],
)
def test_gain_of_matching_class_counts(
    difference: float, low: float, high: float, expected: str
) -> None:
    row = {"rho_source": 0.2, "rho_member": 0.2 + difference, "difference": difference}
    ends = {"difference_low": low, "difference_high": high}
    (said,) = proxies.gain(pd.DataFrame([{"target": "average", **row, **ends}]), "x")
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
    depth, rest = drivers.driver_flips(table)
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
    bound, hidden = noise.noise_bounds(table)
    assert "most on b" in bound
    assert "beyond 0.71" in bound
    assert hidden.startswith("On c the replicates do not show")
    assert noise.noise_bounds(table.assign(icc=math.nan)) == []


def test_the_price_of_choosing_by_the_source() -> None:
    table = pd.DataFrame(
        {
            "target": ["a", "b", "c", "c"],
            "proxy": ["x", "x", "x", "x-2"],
            "top": 1,
            "regret": [0.5, 4.0, 1.0, 9.0],
            "regret_low": [0.1, 2.0, 0.0, 0.0],
            "regret_high": [0.9, 5.0, 2.0, 9.0],
            "random": [33.0, 32.0, 35.0, 35.0],
            "oracle": [30.0, 29.0, 30.0, 30.0],
            "gain": [2.5, -1.0, 4.0, -4.0],
        }
    )
    cost, useless = proxies.price(table, "x")
    assert "best on x costs most on b, 4.00 [2.00, 5.00] points" in cost
    assert "taking one at random costs 3.00. The median over the 3 targets is 1.00" in cost
    assert useless == "On b that is no better than taking one at random."
    assert proxies.price(table.assign(regret=math.nan), "x") == []


def test_how_many_architectures_more() -> None:
    row = {"source": "x", "target": "a", "width": 0.4, "n": 100, "for_half": 390}
    rows = [row | {"for_a_tenth": 1500}, row | {"target": "b", "width": math.nan}]
    (said,) = correlations.narrower(pd.DataFrame(rows))
    assert "x with a, spans 0.40 with 100 architectures: about 390 would halve it" in said


def test_parameters_that_flip_are_named() -> None:
    rows = {"parameter": ["d4", "d4", "w1"], "flips": [True, True, False], "partial_flips": False}
    (said,) = drivers.stage_flips(pd.DataFrame(rows))
    assert said.startswith("What helps on one dataset and hurts on another: d4 (d depth")


def test_the_shortest_training_that_is_enough() -> None:
    rows = {"dataset": ["a", "b"], "keep": 0.95, "epoch": [2, 5], "epochs": 10}
    rows |= {"share": [0.2, 0.5], "estimate": 0.97, "epoch_sure": [3, 8]}
    (said,) = training.shortest(pd.DataFrame(rows))
    assert said.startswith("After 50% of the training the ranking is that of its end on all 2")
    assert "on b, where it takes longest, epoch 5 of 10; surely from epoch 8" in said
    (said,) = training.shortest(pd.DataFrame(rows | {"epoch": [2, 10], "share": [0.2, 1.0]}))
    assert said.startswith("On b no shorter training ranks")


def test_further_test_sets_lose_points_and_keep_the_ranking() -> None:
    line = {"dataset": "a", "test_set": "new", "scale": "linear", "slope": 1.1}
    lines = pd.DataFrame([line | {"slope_low": 1.0, "slope_high": 1.2, "drop": 11.0}])
    found = {"dataset": "a", "evaluation": "new", "estimate": 0.9, "low": 0.8, "high": 0.95}
    (said,) = shifts.lost_and_kept(lines, pd.DataFrame([found]))
    assert said.startswith("On new, networks trained on a lose 11.00 points of accuracy on average")
    assert "goes with 1.10 [1.00, 1.20] points there, and the ranking holds (ρ = 0.90" in said
    (said,) = shifts.lost_and_kept(lines, pd.DataFrame([found | {"low": -0.1}]))
    assert "the ranking may not hold" in said


def test_lists_for_people() -> None:
    assert building.listed(["a"]) == "a"
    assert building.listed(["a", "b", "c"]) == "a, b and c"
    assert building.some(list("abcdefg"), 9) == "7 of 9 datasets"
    assert building.some(["a", "b"], 2) == "all 2 datasets"
