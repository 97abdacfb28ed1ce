"""What the tool of `.ci/` that plants faults plants, and where it does not."""

import ast
import runpy
from typing import Any

import pytest
from command import ROOT

SOURCE = '''\
"""1 + 1, and not 2."""

def ends(mean: float | None, half: float = 0.5, *, both: bool = True) -> list[int | None]:
    if not both and "é" != mean > 1:
        raise ValueError(f"{mean + 1}" + " is not < 2")
    mean += half
    return [(
        mean
        - half
    ), -mean, "a" + mean]
'''
#: Worked out by hand: each line, what stood there, and what does after.
EXPECTED = [
    (3, "0.5", "1.5"),
    (3, "True", "False"),
    (4, "not both", "both"),
    (4, "not both and 'é' != mean > 1", "(not both or 'é' != mean > 1)"),
    (4, "'é' != mean > 1", "('é' != mean >= 1)"),
    (4, "'é' != mean > 1", "('é' == mean > 1)"),
    (4, "1", "2"),
    (6, "mean += half", "mean -= half"),
    (8, "mean - half", "(mean + half)"),
    (10, "-mean", "mean"),
]


@pytest.fixture(scope="module")
def tool() -> dict[str, Any]:
    return runpy.run_path(str(ROOT / ".ci" / "plant_faults.py"))


def test_each_operator_comparison_constant_and_negation_is_planted_once(
    tool: dict[str, Any],
) -> None:
    """None in annotations, texts, and messages of errors."""
    found = tool["faults"](SOURCE)
    assert sorted((it.line, it.was, it.became) for it in found) == sorted(EXPECTED)


def test_a_planted_module_differs_in_that_place_alone(tool: dict[str, Any]) -> None:
    plain, found = ast.unparse(ast.parse(SOURCE)), tool["faults"](SOURCE)
    planted = [ast.unparse(ast.parse(fault.planted(SOURCE))) for fault in found]
    assert len({plain, *planted}) == len(found) + 1
    for text in planted:
        lines = zip(plain.splitlines(), text.splitlines(), strict=True)
        assert sum(before != after for before, after in lines) == 1


def test_the_nearest_tests_are_those_of_the_name_then_those_of_the_word(
    tool: dict[str, Any],
) -> None:
    near = tool["nearest_tests"]
    drivers = near(ROOT / "anynet_study/analysis/apr/drivers.py")
    assert drivers == (["tests/analysis/apr/test_apr_drivers.py"], "tests/analysis/apr")
    word = near(ROOT / "anynet_study/store/run_errors.py")
    assert word == (["tests/store/test_store_results.py"], "tests/store")
