"""The items of the papers (`docs/papers.yaml`), and their commands on miniatures of sweeps."""

import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pandas as pd
import pytest
import yaml
from command import ROOT, in_this_process, laid_out, run_script

#: The module whose test trains the miniature of each sweep, and runs the commands of its items.
TRAINED_IN = {
    **dict.fromkeys(("a2", "a3", "table-a1", "new-test-sets"), "test_ablations.py"),
    **dict.fromkeys(("augmentation", "wise-ft", "more-images"), "test_ablations.py"),
    **dict.fromkeys(("paper3", "paper4"), "engine/test_tuning.py"),
    "data-budget": "test_data_budget.py",
}
#: Sweeps whose miniatures tests train, and ask of these commands only some.
ASKED_IN_PART = {
    "paper": "test_paper_study.py",
    **dict.fromkeys(("a1", "a6"), "test_ablations.py"),
    "models": "test_own_networks.py",
}
#: What does not fit a miniature, of few epochs and low accuracies, and what stands for it there.
SCALED = {"--zoom 30": "--zoom 2", "--above 70": "--above 0"}
#: Columns that answer: each that a table has holds a number.
ANSWERS = ("estimate", "slope", "correlation", "rho_source", "error", "accuracy", "change", "rank")
#: Resamples: what is asked is whether there are numbers.
FEW = ("--resamples", "200")


@dataclass(frozen=True)
class Item:
    """One item of a paper, as the file has it."""

    item: str
    sweep: str = ""
    run: tuple[str, ...] = ()
    tested: str = ""
    how: str = ""
    lacking: str = ""


@cache
def items() -> list[Item]:
    """All items of all papers."""
    papers = yaml.safe_load((ROOT / "docs" / "papers.yaml").read_text(encoding="utf-8"))
    found = [item for paper in papers for item in paper["items"]]
    return [Item(**{**item, "run": tuple(item.get("run", ()))}) for item in found]


def commands_of(sweep: str) -> list[str]:
    """The commands of the items of a sweep, each once."""
    return list(dict.fromkeys(one for item in items() if item.sweep == sweep for one in item.run))


def answer(home: Path, sweep: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run the commands of a sweep's items on its study in `home`; each has to give numbers."""
    laid_out(monkeypatch)
    asked = commands_of(sweep)
    assert asked
    for number, command in enumerate(asked):
        folder = home / f"answers-{number}"
        folder.mkdir()
        for full, small in SCALED.items():
            command = command.replace(full, small)
        name, *options = command.split()
        if name in ("analyze", "plot"):
            further = ["-o", folder] + (["--format", "csv"] if name == "analyze" else [])
            in_this_process(home, name, sweep, *options, *FEW, *further)
        else:
            source = (ROOT / "analysis" / name).read_text(encoding="utf-8")
            further = ["-o", str(folder)] if re.search(r"Output|\bdraw\(", source) else []
            study = str(home / "studies" / sweep)
            typed = [study, *options, *FEW, *further]
            assert run_script(name.removesuffix(".py"), *typed) == 0, command
        tables = list(folder.glob("*.csv"))
        assert bool(tables) == bool(further), f"{command}: it writes no table"
        for path in tables:
            check_numbers(pd.read_csv(path), f"{command}: {path.name}")


def check_numbers(table: pd.DataFrame, where: str) -> None:
    """Fail unless a table has rows, and a number in each column that answers."""
    assert len(table), f"{where}: no row"
    numbers = table.select_dtypes("number")
    assert numbers.notna().any(axis=None), f"{where}: no number"
    for column in set(ANSWERS) & set(table):
        assert table[column].notna().any(), f"{where}: no {column}"
    if "n" in table:
        assert table["n"].max() > 0, f"{where}: of nothing"
