"""Golden sentences: for each function, cases on both sides of each of its thresholds."""

import math

import pandas as pd
import pytest

from anynet_study.analysis.analyses import building
from anynet_study.analysis.analyses.class_accuracy import hardest
from anynet_study.analysis.analyses.correlations import arrange_sizes, narrower
from anynet_study.analysis.analyses.drivers import driver_flips, stage_flips
from anynet_study.analysis.analyses.images import told_apart
from anynet_study.analysis.analyses.noise import MEASURED, noise_bounds
from anynet_study.analysis.analyses.over_targets import of_further_targets
from anynet_study.analysis.analyses.proxies import (
    best_proxy,
    carry_over,
    chosen,
    found_of_the_best,
    gain,
    price,
    which_proxies,
)
from anynet_study.analysis.analyses.shifts import lost_and_kept
from anynet_study.analysis.analyses.training import other_recipes, shortest

NAN = math.nan
RANKING = "The ranking of the architectures on x"


def frame(*rows: tuple[object, ...], columns: str, method: str = "spearman") -> pd.DataFrame:
    table = pd.DataFrame(rows, columns=columns.split())
    table.attrs["method"] = method
    return table


def averaged(row: dict[str, float]) -> pd.DataFrame:
    """A table that has these averages."""
    table = pd.DataFrame()
    table.attrs["averages"] = [row]
    return table


UNDECIDED = "It is undecided whether the ranking of the architectures on x carries over to t."


@pytest.mark.parametrize(
    ("estimate", "high", "verdict", "expected"),
    [
        (0.9, 0.95, "yes", f"{RANKING} carries over to t."),
        (0.9, 0.95, "undecided", UNDECIDED),
        (-0.3, -0.1, "undecided", UNDECIDED),
        (
            0.1,
            0.2,
            "no",
            f"{RANKING} does not carry over to t: a correlation of 0.30 or more is unlikely there.",
        ),
        (
            -0.4,
            -0.01,
            "no",
            f"{RANKING} is reversed on t: what is better on x is worse there.",
        ),
        (
            NAN,
            NAN,
            "undecided",
            f"{RANKING} cannot be compared with t: too few, or constant, errors.",
        ),
    ],
)
def test_carry_over(estimate: float, high: float, verdict: str, expected: str) -> None:
    columns = "target rho_source rho_source_high carries_over"
    assert carry_over(frame(("t", estimate, high, verdict), columns=columns), "x") == expected


def test_several_targets_are_told_in_one_go() -> None:
    rows = [("a", 0.9, 1, "yes"), ("b", 0.8, 1, "yes"), ("c", -0.4, -0.3, "no")]
    rows += [("d", 0, 0.3, "undecided")]
    table = frame(*rows, columns="target rho_source rho_source_high carries_over")
    assert carry_over(table, "x") == (
        f"{RANKING} carries over to a and b. It is reversed on c: what is better on x is worse "
        "there. It is undecided whether it carries over to d."
    )


@pytest.mark.parametrize(
    ("verdict", "count", "expected"),
    [
        ("yes", 2, "carries over to both targets."),
        ("undecided", 2, "carries over to either of the two targets."),
        ("no", 3, "does not carry over to any of the 3 targets: a correlation of 0.30 or more is"),
    ],
)
def test_all_targets_at_once_leave_nothing_open(verdict: str, count: int, expected: str) -> None:
    rows = [(target, 0.1, 0.2, verdict) for target in "abc"[:count]]
    table = frame(*rows, columns="target rho_source rho_source_high carries_over")
    assert expected in carry_over(table, "x")


@pytest.mark.parametrize(
    ("difference", "low", "high", "sure"),
    [
        (0.3, 0.05, 0.4, "raises"),
        (0.3, 0.04, 0.4, "may or may not raise"),
        (0.04, 0.01, 0.05, "may or may not raise"),
        (0.03, 0.01, 0.049, "does not raise"),
        (-0.3, -0.4, 0.0, "does not raise"),
        (-0.3, -0.4, -0.04, "does not raise"),
        (-0.3, -0.4, -0.05, "lowers"),
    ],
)
def test_gain(difference: float, low: float, high: float, sure: str) -> None:
    average = {"rho_source": 0.25, "rho_member": 0.25 + difference, "difference": difference}
    average |= {"difference_low": low, "difference_high": high}
    ends = building.wording.interval(low, high)
    shown = [building.wording.number(value) for value in (0.25 + difference, difference)]
    assert gain(averaged(average), "x") == [
        "Taking the class subset of x that is closest in class count to the target, instead of x, "
        f"{sure} the average correlation with the targets (from 0.25 to {shown[0]}, a difference "
        f"of {shown[1]} {ends})."
    ]
    nothing = dict.fromkeys(("difference", "difference_low", "difference_high"), 0.0)
    assert gain(averaged(average | nothing), "x")[0].startswith(
        "In its family, x itself is closest in class count"
    )
    none = averaged(average)
    none.attrs["averages"] = []
    assert gain(none, "x") == []


SURE = "For t, use x-2 (ρ = 0.80 [0.50, 0.90])"
UNSETTLED = "it is undecided whether it is the best of its family: x may be as good"


@pytest.mark.parametrize(
    ("best", "shown"), [("undecided", "for none of them"), ("yes", "for t1 and t2")]
)
def test_proxies_of_several_targets_are_told_in_one_sentence(best: str, shown: str) -> None:
    rows = [("t1", "x-2", 0.8, best), ("t1", "x", 0.7, "no"), ("t2", "x-2", 0.6, best)]
    rows += [("t2", "x", 0.5, "no"), ("t3", "x", 0.4, "undecided"), ("t4", "x", NAN, "undecided")]
    table = frame(*rows, columns="target proxy estimate best")
    assert chosen(table) == [
        "The highest correlations in the family: x-2 with t1 and t2; x with t3. This is shown to "
        f"be the best choice {shown}."
    ]
    assert chosen(table[table["target"].eq("t1")]) == []
    assert which_proxies(table[table["proxy"].eq("x")]) == []  # the source says it


@pytest.mark.parametrize(
    ("estimate", "low", "high", "best", "expected"),
    [
        (0.8, 0.5, 0.9, "yes", f"{SURE}; it is the best of its family."),
        (0.8, 0.5, 0.9, "undecided", f"{SURE}; {UNSETTLED}."),
        (0.4, 0.3, 0.49, "yes", "The best proxy for t, x-2, is a weak one (ρ = 0.40 [0.30, 0.49]); "
         "it is the best of its family."),
        (0.4, 0.3, 0.5, "yes", "For t, use x-2 (ρ = 0.40 [0.30, 0.50]); it is the best of its "
         "family."),
        (0.4, 0.29, 0.6, "yes", "No proxy for t is shown to be useful: the correlation of the "
         "best one, x-2, may be below 0.30 (ρ = 0.40 [0.29, 0.60])."),
        (-0.3, -0.5, 0.29, "yes", "No proxy for t is useful: the best, x-2, has ρ "
         "= −0.30 [−0.50, 0.29]."),
        (NAN, NAN, NAN, "undecided", "No proxy can be named for t: too few or constant "
         "errors."),
    ],
)  # fmt: skip
def test_best_proxy(estimate: float, low: float, high: float, best: str, expected: str) -> None:
    rival = "no" if best == "yes" else best
    rows = [("t", "x-2", estimate, low, high, best)]
    rows += [("t", "x", estimate - 0.1, low - 0.1, high - 0.1, rival)]
    columns = "target proxy estimate low high best"
    assert best_proxy(frame(*rows, columns=columns)) == expected
    if estimate == 0.8:
        assert "(r = 0.80" in best_proxy(frame(*rows, columns=columns, method="pearson"))


def test_the_only_member_of_a_family_is_not_its_best() -> None:
    columns = "target proxy estimate low high best"
    row = ("t", "x-2", 0.8, 0.5, 0.9, "undecided")
    assert best_proxy(frame(row, columns=columns)) == f"{SURE}; there is no other to choose from."


def test_price() -> None:
    columns = "target proxy top regret regret_low regret_high chance share share_low share_high n"
    a = ("a", "x", 1, 0.5, 0.1, 0.9, 3.0, 0.17, 0.03, 0.3, 1100)
    b = ("b", "x", 1, 4.0, 2, 5, 2.5, 1.6, 0.8, 2.0, 1100)
    others = [("b", "x-2", 1, 9.0, 0, 9, 9.0, 1, 1, 1, 9), ("b", "x", 5, 9.0, 0, 9, 9, 1, 1, 1, 9)]
    assert price(frame(a, b, *others, columns=columns), "x") == [
        "Choosing the architecture that is best on x is expected to cost most on b, 4.00 [2.00, "
        "5.00] points of error above the best of 1,100 architectures; choosing one at random costs "
        "2.50. The median over the 2 targets is 88% of the cost of a random choice.",
        "On b, it is undecided whether the choice is better than a random one.",
    ]
    table = frame(a, columns=columns)
    assert price(table, "x") == [
        "Choosing the architecture that is best on x is expected to cost on a 0.50 [0.10, 0.90] "
        "points of error above the best of 1,100 architectures; choosing one at random costs 3.00."
    ]
    assert price(table.assign(regret=NAN), "x") == []


@pytest.mark.parametrize(
    ("low", "high", "further"),
    [
        (-0.2, 0.9, ", and with one further target by −0.20 to 0.90."),
        (-1.0, 1.0, "; with one further target, by anything."),
    ],
)
def test_targets_in_general(low: float, high: float, further: str) -> None:
    columns = "errors minus proxy estimate random_low random_high new_low new_high"
    row = (MEASURED, "", "x", 0.4, -0.1, 0.7, low, high)
    assert of_further_targets(frame(row, columns=columns)) == [
        "Taking the targets as a sample of all that there could be, x correlates with a target by "
        f"0.40 [−0.10, 0.70] on average{further}"
    ]
    assert of_further_targets(frame((*row[:4], NAN, NAN, low, high), columns=columns)) == []


def test_how_many_of_the_best_the_source_finds() -> None:
    columns = "target proxy top shared overlap overlap_low overlap_high by_chance"
    a = ("a", "x", 10, 1, 0.1, 0.003, 0.45, 0.1)
    b = ("b", "x", 10, 3, 0.3, 0.07, 0.65, 0.1)
    said = (
        "Of the 10 architectures that are best on a, 1 is among the 10 best on x: a share of 0.10 "
        "[0.003, 0.45], where chance gives 0.10."
    )
    assert found_of_the_best(frame(a, columns=columns), "x") == [said]
    assert found_of_the_best(frame(b, a, columns=columns), "x") == [
        f"{said} That is the least of 2 targets; their median is 2."
    ]
    nothing = ("a", "x", 10, 0, 0.0, 0.0, 0.31, 0.1)
    (said,) = found_of_the_best(frame(nothing, columns=columns), "x")
    assert "best on a, none is among the 10 best on x: a share of 0.00 [0.00, 0.31]" in said


def test_numbers_of_architectures_that_are_estimates_have_two_digits() -> None:
    table = pd.DataFrame({"for_half": [400, None], "for_a_tenth": [783, None]}, dtype="Int64")
    assert arrange_sizes(table).to_numpy().tolist() == [["400", "780"], ["–", "–"]]


def test_narrower() -> None:
    columns = "source target width n for_half for_a_tenth"
    rows = [
        ("x", "a", 0.4, 1100, 4390, 17000),
        ("x", "b", 0.3, 1100, 9, 9),
        ("x", "c", NAN, 9, 9, 9),
    ]
    assert narrower(frame(*rows, columns=columns)) == [
        "The widest interval, of x with a, spans 0.40 with 1,100 architectures. It would be half "
        "as wide with about 4,400 architectures, and 0.1 wide with about 17,000."
    ]
    assert narrower(frame(("x", "c", NAN, 9, 9, 9), columns=columns)) == []
    narrow = frame(("x", "a", 0.06, 289, 1156, 289), columns=columns)
    assert narrower(narrow) == [
        "The widest interval, of x with a, spans 0.06 with 289 architectures: no more "
        "architectures are needed."
    ]


def test_drivers_that_flip() -> None:
    rows = [("a", "cumulative depth", 0.3, 0.05), ("b", "cumulative depth", -0.4, 0.01)]
    rows += [("a", "cumulative width", 0.3, 0.051), ("b", "cumulative width", -0.1, 1.0)]
    assert driver_flips(frame(*rows, columns="dataset parameter estimate p_holm")) == [
        "More cumulative depth goes with lower errors on b, but with higher errors on a.",
        "It is undecided everywhere whether errors rise or fall with cumulative width.",
    ]
    columns = "parameter flips partial_flips"
    stages = frame(("d4", True, False), ("w1", False, True), ("b2", False, False), columns=columns)
    raw, given = stage_flips(stages)
    assert raw.startswith("These help on one dataset and hurt on another: d4 (d depth")
    assert given.startswith(
        "These help on one dataset and hurt on another at equal FLOPs and parameters: w1 (d depth"
    )
    assert stage_flips(stages.assign(flips=False, partial_flips=False)) == []


def test_the_dataset_on_which_noise_limits_most() -> None:
    columns = "dataset icc icc_low ceiling"
    a, b, c = ("a", 0.9, 0.8, 0.95), ("b", 0.5, 0.01, 0.71), ("c", 0.2, 0.0, 0.4)
    assert noise_bounds(frame(a, b, c, columns=columns)) == [
        "Training noise limits what any proxy can reach: most on b, where a single run cannot be "
        "expected to correlate above 0.71 even with a perfect proxy."
    ]
    assert noise_bounds(frame(a, columns=columns))[0].startswith(
        "Training noise limits what any proxy can reach: on a, where"
    )
    assert noise_bounds(frame(c, ("a", NAN, NAN, NAN), columns=columns)) == []


def test_the_shortest_training() -> None:
    same = "the same run"
    columns = "dataset keep against epoch epochs share estimate epoch_sure"
    a, b = ("a", 0.95, same, 2, 10, 0.2, 0.97, 3), ("b", 0.95, same, 9, 10, 0.9, 0.97, 10)
    assert shortest(frame(a, b, columns=columns)) == [
        "After 90% of the training, the ranking is the final one on both datasets (ρ ≥ 0.95 from "
        "there on, within the same runs). It takes longest on b: epoch 9 of 10, or epoch 10 for "
        "the whole interval."
    ]
    late = ("b", 0.95, same, 10, 10, 1.0, 1.0, 10)
    assert shortest(frame(a, late, columns=columns, method="kendall")) == [
        "On b, no earlier epoch is shown to reproduce the final ranking (τ ≥ 0.95)."
    ]
    assert "is the final one (ρ" in shortest(frame(a, columns=columns))[0]
    assert shortest(frame(("a", 0.95, same, 1, 1, 1.0, NAN, 1), columns=columns)) == []
    twice = [("a", 0.95, "another run", *it[3:]) for it in (a, late)]
    assert shortest(frame(*twice[:1], b, columns=columns)) == [
        "After 20% of the training, the ranking predicts that of another run nearly as well as the "
        "final one (95% of its ρ or more from there on). It takes longest on a: epoch 2 of 10, or "
        "epoch 3 for the whole interval.",
        "After 90% of the training, the ranking is the final one (ρ ≥ 0.95 from there on, within "
        "the same runs). It takes longest on b: epoch 9 of 10, or epoch 10 for the whole interval.",
    ]
    assert shortest(frame(twice[1], columns=columns)) == [
        "On a, no earlier epoch is shown to predict the ranking of another run nearly as well as "
        "the final one does (95% of its ρ or more)."
    ]


@pytest.mark.parametrize(("less", "gains"), [("yes", "; it errs less on b"), ("undecided", "")])
def test_other_recipes(less: str, gains: str) -> None:
    columns = "version dataset estimate low high errs_less"
    rows = [("long", "a", 0.8, 0.7, 0.9, "no"), ("long", "b", 0.9, 0.7, 1.0, less)]
    rows += [("odd", "a", NAN, NAN, NAN, "undecided"), ("odd", "b", 0.5, 0.4, 0.6, "no")]
    assert other_recipes(frame(*rows, columns=columns)) == [
        "Under the recipe long, the ranking agrees least with that of the main one on a (ρ = 0.80 "
        f"[0.70, 0.90]){gains}.",
        "Under the recipe odd, the ranking agrees with that of the main one on b (ρ = 0.50 "
        "[0.40, 0.60]).",
    ]


@pytest.mark.parametrize(
    ("drop", "verdict", "change", "holds"),
    [
        (11.0, "yes", "lose 11.00", ", and the ranking holds"),
        (-1.5, "no", "gain 1.50", ", and the ranking does not hold"),
        (2.0, "undecided", "lose 2.00", ", whether the ranking holds is undecided"),
    ],
)
def test_further_test_sets(drop: float, verdict: str, change: str, holds: str) -> None:
    columns = "dataset test_set scale slope slope_low slope_high drop"
    line = ("a", "new", "linear", 1.1, 1.0, 1.2, drop)
    lines = frame(line, ("a", "new", "logit", 9.0, 9, 9, 9.0), columns=columns)
    ranked, unknown = ({"rho": rho, "holds": verdict} for rho in (0.9, NAN))
    said = (
        f"On new, networks trained on a {change} points of accuracy on average; a point more on "
        "their own test set goes with 1.10 [1.00, 1.20] points there"
    )
    assert lost_and_kept(lines.assign(**ranked)) == [f"{said}{holds}."]
    assert lost_and_kept(lines.assign(**unknown)) == [f"{said}."]


def test_many_further_test_sets_are_told_in_one_sentence() -> None:
    columns = "dataset test_set scale slope slope_low slope_high drop"
    drops = {"v2": 11.0, "sketch": 40.5, "r": -1.0}
    lines = frame(*[("a", n, "linear", 1, 1, 1, d) for n, d in drops.items()], columns=columns)
    ranked = {"rho": [0.9, 0.5, 0.8], "holds": ["yes", "undecided", "yes"]}
    said = (
        "On 3 further test sets, networks trained on a lose 40.50 points of accuracy on average at "
        "most (on sketch) and gain 1.00 at least (on r)"
    )
    assert lost_and_kept(lines.assign(**ranked)) == [
        f"{said}; the ranking holds on v2 and r and is undecided on sketch."
    ]
    assert lost_and_kept(lines.assign(rho=NAN, holds="no")) == [f"{said}."]


@pytest.mark.parametrize(("p", "count"), [(0.09, 0), (0.11, 1)])
def test_images_that_tell_the_best_apart(p: float, count: int) -> None:
    rows = [("d", "best", "b", p), ("d", "best", "c", 0.2), ("d", "b", "c", 0.001)]
    said = told_apart(frame(*rows, columns="dataset a b p_holm"), 0.9)
    assert said == count * [
        "On d, the test images do not separate the best architecture from any of the next 2 "
        "(McNemar's test, corrected)."
    ]


def test_many_datasets_are_counted_where_images_do_not_tell_the_best_apart() -> None:
    rows = [(f"d{place}", "best", "b", 0.001 if place == 0 else 0.9) for place in range(8)]
    [said] = told_apart(frame(*rows, columns="dataset a b p_holm"), 0.95)
    assert said.startswith("On 7 of 8 datasets, the test images do not separate")


@pytest.mark.parametrize(("high", "count"), [(49.9, 1), (50.0, 0)])
def test_the_hardest_class(high: float, count: int) -> None:
    rows = [("d", "eel", 30.0, 20.0, high), ("d", "cat", 90.0, 50.0, 95.0), ("e", "?", NAN, 0, 0)]
    rows += [("c", "ant", 60.0, 60.0, 60.0), ("c", "bee", 60.0, 60.0, 60.0)]
    assert hardest(frame(*rows, columns="dataset class mean low high")) == count * [
        "Classes differ most on d: an architecture classifies on average 30% [20, 50] of the "
        "images of the hardest class (eel) correctly, and 90% [50, 95] of those of the easiest "
        "(cat)."
    ]
