"""Every item of the papers has what gives it, or says what is lacking; and the table says so."""

import re
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest
from command import ROOT, SWEEPS
from items import TRAINED_IN, check_numbers, commands_of, items


def test_each_item_is_run_on_a_miniature_or_tested_or_says_what_is_lacking() -> None:
    for item in items():
        assert item.run or item.tested or item.lacking, item
        assert bool(item.run) == bool(item.sweep), item
        if item.tested:
            assert (ROOT / item.tested).is_file(), item


def test_each_sweep_is_trained_and_asked_by_a_test() -> None:
    sweeps = {path.stem for path in SWEEPS.rglob("*.yaml")}
    assert {item.sweep for item in items() if item.sweep} == set(TRAINED_IN) == sweeps
    for sweep, module in TRAINED_IN.items():
        assert "answer(" in (ROOT / "tests" / module).read_text(encoding="utf-8"), sweep
        for command in commands_of(sweep):
            name = command.split()[0]
            assert name in ("analyze", "plot", "report") or (ROOT / "analysis" / name).is_file(), (
                command
            )


def test_the_figures_of_the_table_of_experiments_are_those_of_the_items() -> None:
    """Every script that `sweeps/README.md` names for a sweep is run on its miniature."""
    rows = (SWEEPS / "README.md").read_text(encoding="utf-8").splitlines()
    for sweep in TRAINED_IN:
        asked = {command.split()[0] for command in commands_of(sweep)}
        for row in rows:
            cells = row.split("|")
            if len(cells) == 7 and re.search(rf"[`/]{sweep}\.yaml`", cells[2]):
                named = {word.strip("`,;") for word in cells[5].split() if ".py" in word}
                if "`figure3.py` to" in cells[5]:
                    named |= {f"figure{number}.py" for number in range(3, 8)}
                assert named <= asked, (sweep, named - asked)


def test_a_table_without_numbers_is_no_answer() -> None:
    check_numbers(pd.DataFrame({"slope": [0.2, 0.5], "n": [4, 4]}), "t", 4)
    for table in (
        pd.DataFrame({"slope": []}),
        pd.DataFrame({"slope": [0.2, float("nan")], "n": [4, 4]}),
        pd.DataFrame({"slope": [0.2, 0.5], "n": [4, 3]}),
        pd.DataFrame({"target": ["a"], "note": ["no value"]}),
    ):
        with pytest.raises(AssertionError):
            check_numbers(table, "t", 4)


@pytest.mark.slow
def test_the_pages_have_what_the_generator_writes() -> None:
    done = subprocess.run(
        [sys.executable, str(Path(".ci") / "site_tables.py"), "--check"], cwd=ROOT, check=False
    )
    assert done.returncode == 0
