"""What the tool of `.ci/` that plants faults plants, and where it does not."""

import ast
import importlib
import runpy
import sys
from pathlib import Path
from typing import Any

import pytest
from command import ROOT

SOURCE = """\
FEWEST = 2

class Table:
    width: int = 3

    def ends(self, mean: float | None, half: float = 0.5, *, both: bool = True) -> list[int | None]:
        if not both and "é" != mean > 1:
            raise ValueError(f"{mean + 1}" + " is not < 2")
        mean += half
        return [mean - half, -mean, "a" + mean]
"""
#: Worked out by hand: each line, what stands there, and what is planted.
EXPECTED = [
    "1: 2 -> 3",
    "6: 0.5 -> 1.5",
    "6: True -> False",
    "7: not both and 'é' != mean > 1 -> not both or 'é' != mean > 1",
    "7: not both -> both",
    "7: 'é' != mean > 1 -> 'é' == mean > 1",
    "7: 'é' != mean > 1 -> 'é' != mean >= 1",
    "7: 1 -> 2",
    "9: mean += half -> mean -= half",
    "10: mean - half -> mean + half",
    "10: -mean -> mean",
]


@pytest.fixture(scope="module")
def tool() -> dict[str, Any]:
    return runpy.run_path(str(ROOT / ".ci" / "plant_faults.py"))


def test_each_operator_comparison_constant_and_negation_is_planted_once(
    tool: dict[str, Any],
) -> None:
    """None in annotations, fields, texts, and messages of errors."""
    assert sorted(map(str, tool["faults"](ast.parse(SOURCE)))) == sorted(EXPECTED)


def test_a_planted_module_differs_in_that_place_alone(tool: dict[str, Any]) -> None:
    plain, seen = ast.unparse(ast.parse(SOURCE)), set()
    for number in range(len(EXPECTED)):
        tree = ast.parse(SOURCE)
        list(tool["faults"](tree))[number].plant(tree)
        seen.add(text := ast.unparse(tree))
        lines = zip(plain.splitlines(), text.splitlines(), strict=True)
        assert sum(before != after for before, after in lines) == 1
    assert len(seen) == len(EXPECTED)


def test_functions_and_constants_that_others_imported_are_of_the_planted_module(
    tool: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "steps.py").write_text(
        "FEWEST = 2\n\ndef more(count, by=FEWEST):\n    return count + by\n"
    )
    (tmp_path / "users.py").write_text("from steps import FEWEST, more\n")
    monkeypatch.syspath_prepend(tmp_path)
    users, steps = importlib.import_module("users"), importlib.import_module("steps")
    try:
        tree = ast.parse((tmp_path / "steps.py").read_text())
        functions = tool["functions_of"](steps.__file__)
        tool["take_over"](tree, steps, functions)
        assert (users.FEWEST, users.more(10), users.more(10, 4)) == (2, 12, 14)
        for fault in list(tool["faults"](tree)):
            fault.plant(tree)
        tool["take_over"](tree, steps, functions)
        assert (users.FEWEST, users.more(10), users.more(10, 4)) == (3, 7, 6)
    finally:
        del sys.modules["users"], sys.modules["steps"]


def test_the_nearest_tests_are_those_of_the_name_then_those_of_the_word(
    tool: dict[str, Any],
) -> None:
    def near(module: str) -> list[str]:
        found = tool["nearest_tests"](ROOT / "anynet_study" / module)
        return [str(Path(file).relative_to(ROOT / "tests")) for file in found]

    assert near("analysis/apr/drivers.py") == ["analysis/apr/test_apr_drivers.py"]
    assert near("store/run_errors.py") == ["store/test_store_results.py"]
