"""Bands and spaces that do not have as many networks as are wanted: a clear refusal, soon."""

import re
from typing import Any

import pytest
from sampling_cases import PAPER_BAND, TINY

from anynet_study.core.errors import UserError
from anynet_study.design_space import DesignSpace
from anynet_study.design_space.sampling import wilson_interval

MILLION = 1 << 20


def refusal(space: Any, **arguments: Any) -> str:
    with pytest.raises(UserError) as refused:
        DesignSpace.from_spec(space).sample(**arguments)
    message = str(refused.value)
    assert "\n" not in message
    return message


def examined(message: str) -> int:
    """How many candidates were looked at in vain."""
    found = re.search(r"of ([\d,]+) candidates", message)
    assert found
    return int(found[1].replace(",", ""))


def test_an_empty_band_says_what_is_reachable() -> None:
    message = refusal("anynetx", count=500, flops=(1e3, 2e3))
    assert "found 0 of 500 different architectures with 1000 to 2000 FLOPs" in message
    assert "are in the band (acceptance 0 to 1.8e-06)" in message
    assert "at resolution 224 and 1000 classes this space reaches 6.06e+07 to" in message
    assert examined(message) == 2 * MILLION


@pytest.mark.slow
def test_a_space_that_constraints_leave_few_candidates_of_is_probed_all_the_same() -> None:
    """One candidate in 160 is in the space: 65,536 would be 400 draws, up to 3e9 FLOPs."""
    message = refusal("anynetxe", count=10, flops=(1e13, 2e13))
    reach = re.search(r"reaches \S+ to (\S+) FLOPs \(98% of ([\d,]+) draws: ", message)
    assert reach
    assert float(reach[1]) > 6e9
    assert int(reach[2].replace(",", "")) > 16_000
    assert "(acceptance 0 to " in message


def test_a_nearly_empty_band_is_noticed_soon_and_says_how_empty() -> None:
    """About one candidate in a hundred thousand: 20,000 networks would take 2 10^9 candidates."""
    message = refusal("anynetx", count=20_000, flops=PAPER_BAND, parameters=(6.2e6, 6.3e6))
    assert examined(message) <= 4 * MILLION
    found = re.search(r"found (\d+) of 20,000 .* \(acceptance (\S+) to (\S+)\)", message)
    assert found
    assert int(found[1]) > 0
    assert 0 < float(found[2]) < float(found[3]) < 1e-4


def test_a_rare_band_is_searched_as_long_as_there_is_hope() -> None:
    population = DesignSpace.anynetx().sample(3, flops=PAPER_BAND, parameters=(6e6, 7e6))
    assert population.sampling["acceptance"] < 1e-3
    assert len(population) == 3


def test_of_bands_that_exclude_each_other_each_is_named_with_what_the_others_leave() -> None:
    message = refusal("anynetx", count=500, flops=PAPER_BAND, parameters=(30e6, 40e6))
    assert "with 3.6e+08 to 4e+08 FLOPs and 3e+07 to 4e+07 parameters" in message
    both = re.search(
        r"reaches (\S+) to (\S+) FLOPs \(.*\) inside the other bands; "
        r"(\S+) to (\S+) parameters \(.*\) inside the other bands$",
        message,
    )
    assert both
    lowest_flops, _, _, most_parameters = map(float, both.groups())
    assert lowest_flops > 400e6
    assert most_parameters < 30e6


@pytest.mark.slow
@pytest.mark.parametrize(
    ("space", "count"),
    [
        (TINY.to_spec(), 16),
        ({"strides": [1], "depths": [1, 2], "widths": [8, 8], "group_widths": [8]}, 6),
        ({"block": "vanilla", "strides": [1, 1], "depths": [1, 1], "widths": [8, 16]}, 4),
        ({"block": "basic", "strides": [2, 2], "widths": [8, 16], "depths": [1, 2],
          "non_decreasing": ["depths", "widths"]}, 9),
    ],
)  # fmt: skip
def test_a_space_gives_all_its_networks_but_no_more(space: Any, count: int) -> None:
    population = DesignSpace.from_spec(space).sample(count)
    assert len(set(population.ids)) == count
    message = refusal(space, count=count + 1)
    assert f"found {count} of {count + 1} different architectures: " in message
    assert message.endswith("it has no more")
    assert examined(message) <= 4 * MILLION


@pytest.mark.parametrize(
    "space",
    [
        {"depths": [[9, 9], [1, 8], [1, 8], [1, 8]], "non_decreasing": ["depths"]},
        {"base": "regnetx", "depth": [4, 4], "slope": [0.1, 0.2]},
    ],
)
def test_constraints_that_nothing_obeys_are_told_as_such(space: Any) -> None:
    message = refusal(space, count=500)
    assert "found no architecture: not one of 2,097,152 candidates obeys the constraints" in message


@pytest.mark.parametrize(
    ("successes", "trials", "low", "high"),
    [(0, 0, 0, 1), (0, 10, 0, 0.2775), (10, 10, 0.7225, 1), (5, 10, 0.2366, 0.7634)],
)
def test_intervals_of_a_proportion(successes: int, trials: int, low: float, high: float) -> None:
    assert wilson_interval(successes, trials) == pytest.approx((low, high), abs=5e-5)
