"""What analyses claim, and in which words: cases on both sides of each threshold."""

import math
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest

from anynet_study.analysis import apr
from anynet_study.analysis.analyses.correlations import arrange_sizes
from anynet_study.analysis.analyses.drivers import driven, flipping
from anynet_study.analysis.analyses.images import told_apart
from anynet_study.analysis.analyses.noise import MEASURED, noise_bounds
from anynet_study.analysis.analyses.over_targets import of_further_targets
from anynet_study.analysis.analyses.proxies import carried_over, gain, which_proxies
from anynet_study.analysis.analyses.shifts import found_on_shifts
from anynet_study.analysis.analyses.training import changed, kept
from anynet_study.analysis.analysis import Options
from anynet_study.analysis.claims import Claim, Fact, sentences

NAN = math.nan
RANKING = "The ranking of the architectures on x"


def words(said: Sequence[Claim | Fact]) -> list[str]:
    return sentences(said, {it.kind for it in said if isinstance(it, Claim)})


def frame(*rows: tuple[object, ...], columns: str, method: str = "spearman") -> pd.DataFrame:
    table = pd.DataFrame(rows, columns=columns.split())
    table.attrs["method"] = method
    return table


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [
        (0.3, 0.95, f"{RANKING} carries over to t."),
        (0.29, 0.95, f"It is undecided whether {RANKING.lower()} carries over to t."),
        (
            -0.2,
            0.29,
            f"{RANKING} does not carry over to t: without the noise of training, a correlation of "
            "0.30 or more is unlikely there.",
        ),
        (-0.7, -0.3, f"{RANKING} is reversed on t: what is better on x is worse there."),
        (NAN, NAN, f"{RANKING} cannot be compared with t: too few, or constant, errors."),
    ],
)
def test_carrying_over(low: float, high: float, expected: str) -> None:
    table = frame(("t", low, high), columns="target carries_low carries_high")
    assert words(carried_over(table, "x")) == [expected]


def test_several_targets_are_told_in_one_go() -> None:
    rows = [("a", 0.4, 1), ("b", 0.5, 1), ("c", -0.6, -0.4), ("d", 0, 0.3)]
    table = frame(*rows, columns="target carries_low carries_high")
    assert words(carried_over(table, "x")) == [
        f"{RANKING} carries over to a and b. It is reversed on c: what is better on x is worse "
        "there. It is undecided whether it carries over to d."
    ]
    assert words(carried_over(table.iloc[:2], "x")) == [f"{RANKING} carries over to both targets."]


@pytest.mark.parametrize(
    ("low", "high", "sure"),
    [
        (0.05, 0.4, "raises"),
        (0.04, 0.4, "may or may not raise"),
        (0.01, 0.049, "does not raise"),
        (-0.4, -0.04, "does not raise"),
        (-0.4, -0.05, "lowers"),
    ],
)
def test_gain(low: float, high: float, sure: str) -> None:
    table = pd.DataFrame()
    row = {"difference": (low + high) / 2, "difference_low": low, "difference_high": high}
    table.attrs["averages"] = [row]
    [said] = words(gain(table, "x"))
    assert said.startswith(
        "Taking the class subset of x that is closest in class count to the target, instead of x, "
        f"{sure} the average correlation of single runs with these targets (a difference of "
    )
    table.attrs["averages"] = [dict.fromkeys(row, 0.0)]
    assert words(gain(table, "x"))[0].startswith("In its family, x itself is closest in class")
    table.attrs["averages"] = []
    assert words(gain(table, "x")) == []


def test_proxies_that_can_be_the_best_and_are_useful() -> None:
    rows = [("t1", "x-2", 0.8, 0.5, 0.9, "yes"), ("t1", "x", 0.7, 0.4, 0.8, "no")]
    rows += [("t2", "x-2", 0.6, 0.29, 0.7, "undecided"), ("t2", "x", 0.5, 0.1, 0.6, "undecided")]
    rows += [("t3", "x-2", NAN, NAN, NAN, "undecided"), ("t3", "x", NAN, NAN, NAN, "undecided")]
    table = frame(*rows, columns="target proxy estimate low high best", method="pearson")
    assert words(which_proxies(table)) == [
        "For t1, x-2 is the best proxy of the family, of single runs.",
        "For t2, both members of the family may be the best proxy of the family.",
        "No proxy for t2 is shown to be useful. No proxy can be named for t3: too few or constant "
        "errors.",
        "For t1, x-2 is a useful proxy, r = 0.80 [0.50, 0.90].",
    ]
    assert which_proxies(table[table["proxy"].eq("x")]) == []  # the source says it


def test_targets_in_general() -> None:
    columns = "errors minus proxy estimate random_low random_high"
    row = (MEASURED, "", "x", 0.4, -0.1, 0.7)
    assert words(of_further_targets(frame(row, columns=columns))) == [
        "Taking the targets as a sample of all that there could be, single runs on x correlate "
        "with a target by 0.40 [−0.10, 0.70] on average."
    ]
    none = frame((*row[:4], NAN, NAN), columns=columns)
    assert words(of_further_targets(none)) == []


def test_numbers_of_architectures_that_are_estimates_have_two_digits() -> None:
    table = pd.DataFrame({"for_half": [400, None], "for_a_tenth": [783, None]}, dtype="Int64")
    assert arrange_sizes(table).to_numpy().tolist() == [["400", "780"], ["–", "–"]]


def test_drivers_that_flip() -> None:
    rows = [("a", "cumulative depth", 0.3, 0.05), ("b", "cumulative depth", -0.4, 0.01)]
    rows += [("a", "cumulative width", 0.3, 0.051), ("b", "cumulative width", -0.1, 1.0)]
    assert words(driven(frame(*rows, columns="dataset parameter estimate p_holm"))) == [
        "More cumulative depth goes with lower errors on b. It goes with higher errors on a.",
        "It is undecided whether errors rise or fall with cumulative width on either of the two "
        "datasets.",
    ]
    columns = "parameter estimate p_holm partial partial_p_holm"
    flips = [("d4", 0.3, 0.05, 0.1, 0.5), ("d4", -0.2, 0.02, 0.1, 0.5)]
    same = [("w1", 0.3, 0.01, 0.4, 0.01), ("w1", 0.3, 0.01, -0.4, 0.01)]
    unsure = [("b2", 0.3, 0.051, 0.1, 0.5), ("b2", -0.2, 0.02, 0.1, NAN)]
    raw, given = words(flipping(frame(*flips, *same, *unsure, columns=columns)))
    assert raw.startswith("D4 (d depth, w width")
    assert raw.endswith("hurt on another.")
    assert given.startswith("W1 (d depth")
    assert given.endswith("hurt on another at equal FLOPs and parameters.")


def test_bounds_of_noise_are_upper_ends_that_hold_together() -> None:
    draw = np.random.default_rng(0)
    quality = draw.normal(size=60)
    runs = [
        pd.DataFrame(
            {
                "architecture": range(60),
                "dataset": name,
                "replicate": number,
                "error": 40 + quality + noise * draw.normal(size=60),
            }
        )
        for name, noise in (("a", 0.2), ("b", 0.9), ("c", 30.0))
        for number in range(2)
    ]
    study: Any = SimpleNamespace(
        known=lambda name: pd.concat(runs), weights=None, options=Options()
    )
    alone = apr.noise_ceiling(pd.concat(runs)).set_index("dataset")
    claims = noise_bounds(study, alone.reset_index())
    assert [claim.name for claim in claims if isinstance(claim, Claim)] == ["b", "a"]  # not c
    first = claims[0]
    assert isinstance(first, Claim)
    assert first.evidence.high > np.sqrt(alone.loc["b", "icc_high"]) > alone.loc["b", "ceiling"]
    assert words(claims)[0].startswith(
        "On b, training noise keeps a single run from correlating above 0."
    )


def test_the_shortest_training() -> None:
    columns = "dataset keep against epoch epochs estimate epoch_sure low_sure"
    a = ("a", 0.95, "the same run", 2, 10, 0.97, 3, 0.951)
    b = ("b", 0.95, "the same run", 9, 10, 0.97, 10, 0.93)
    assert words(kept(frame(a, b, columns=columns))) == [
        "On a, after 30% of the training (epoch 3 of 10) the ranking is shown to agree with the "
        "final one of the same runs (a correlation of 0.95 or more).",
        "On b, no earlier epoch is shown to agree with the final one of the same runs (a "
        "correlation of 0.95 or more).",
    ]
    other = ("a", 0.95, "another run", *a[3:])
    assert "tell nearly as much of another run" in words(kept(frame(other, columns=columns)))[0]
    assert kept(frame(("a", 0.95, "the same run", 1, 1, NAN, 1, NAN), columns=columns)) == []


def test_other_recipes() -> None:
    columns = "recipe dataset estimate alike_low alike_high improved_low improved_high"
    rows = [("long", "a", 0.8, 0.7, 1.0, 0.4, 0.6), ("long", "b", 0.5, 0.2, 1.0, 0.5, 0.9)]
    rows += [("odd", "a", NAN, NAN, NAN, NAN, NAN), ("odd", "b", -0.5, -1.0, -0.4, 0.1, 0.49)]
    assert words(changed(frame(*rows, columns=columns), "recipe")) == [
        "The ranking under the main recipe carries over to the recipe long on a. It is undecided "
        "whether it carries over to the recipe long on b.",
        "On b, more than half of such architectures err less under the recipe long.",
        "The ranking under the main recipe is reversed under the recipe odd on b.",
        "On b, fewer than half of such architectures err less under the recipe odd.",
    ]


def test_further_test_sets() -> None:
    columns = "dataset test_set scale change change_low change_high holds_low holds_high"
    rows = [("a", "new", "linear", -8.0, -9.0, -7.0, 0.5, 1.0)]
    rows += [("a", "new", "logit", 9.0, 9.0, 9.0, 0.0, 0.1)]
    rows += [("a", "old", "linear", 0.5, -0.5, 1.5, 0.1, 0.9)]
    rows += [("a", "blurred", "linear", -5.0, -6.0, -4.0, 0.9, 1.0)]
    study: Any = SimpleNamespace(
        kind_of=lambda dataset, name: "transform" if name == "blurred" else "shift"
    )
    assert words(found_on_shifts(study, frame(*rows, columns=columns))) == [
        "The ranking of networks trained on a carries over to new. It is undecided whether it "
        "carries over to old.",
        "On new, networks trained on a are less accurate: by −8.00 [−9.00, −7.00] points on "
        "average.",
        "On old, networks trained on a may be more or less accurate (0.50 [−0.50, 1.50] points on "
        "average).",
    ]
    unknown = frame(("a", "new", "linear", -8.0, NAN, NAN, NAN, NAN), columns=columns)
    assert words(found_on_shifts(study, unknown)) == []  # how many images is not known


@pytest.mark.parametrize(("p", "count"), [(0.09, 0), (0.11, 1)])
def test_images_that_tell_the_best_apart(p: float, count: int) -> None:
    rows = [("d", "best", "b", p), ("d", "best", "c", 0.2), ("d", "b", "c", 0.001)]
    said = words(told_apart(frame(*rows, columns="dataset a b p_holm"), 0.9))
    assert said == count * [
        "On d, the test images do not separate the best architecture from any of those that come "
        "next (McNemar's test, corrected)."
    ]
