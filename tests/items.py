"""The items of the papers (`docs/papers.yaml`), and their commands on miniatures of sweeps."""

import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pandas as pd
import pytest
import yaml
from command import ROOT, in_this_process, laid_out, run_script

from anynet_study import ResultStore

#: The module whose test trains the miniature of each sweep, and runs the commands of its items.
TRAINED_IN = {
    "paper": "test_paper_study.py",
    **dict.fromkeys(("a1", "a2", "a3", "a6", "table-a1", "new-test-sets"), "test_ablations.py"),
    **dict.fromkeys(("augmentation", "wise-ft", "more-images"), "test_ablations.py"),
    **dict.fromkeys(("quickstart", "own-space", "transfer", "cross-domain"), "test_ablations.py"),
    **dict.fromkeys(("classes-images-steps", "long-targets"), "test_ablations.py"),
    **dict.fromkeys(("paper3", "paper4"), "engine/test_tuning.py"),
    "data-budget": "test_data_budget.py",
    "models": "test_own_networks.py",
    "cifar10-mini": "test_cifar10_mini.py",
}
#: What does not fit a miniature, of few epochs and low accuracies, and what stands for it there.
SCALED = {"--zoom 30": "--zoom 2", "--above 70": "--above 0"}
#: Columns that answer: each that a table has holds a number.
ANSWERS = ("estimate", "slope", "correlation", "rho_source", "error", "accuracy", "change", "rank")
#: Of these, correlations: constant errors, of which a miniature has some, have none.
CORRELATIONS = ("estimate", "correlation", "rho_source")
#: What is of the best architectures alone.
OF_THE_BEST = ("figure_a7.py",)
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


def answer(home: Path, sweep: str, monkeypatch: pytest.MonkeyPatch, planned: int = 0) -> None:
    """Run the commands of a sweep's items on its study in `home`; each has to give numbers.

    They are of so many architectures as are `planned`, by default all of the study.
    """
    laid_out(monkeypatch)
    asked = commands_of(sweep)
    assert asked
    planned = planned or len(ResultStore(home / "studies" / sweep / "results.h5").errors())
    for number, command in enumerate(asked):
        folder = home / f"answers-{number}"
        folder.mkdir()
        for full, small in SCALED.items():
            command = command.replace(full, small)
        name, *options = command.split()
        if name == "report":
            in_this_process(home, name, sweep, *FEW, "-o", folder)
            page = (folder / "report.html").read_text(encoding="utf-8")
            assert not re.search(r">\s*(nan|NaN|no value.*)\s*<", page), command
            continue
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
            check_numbers(pd.read_csv(path), f"{command}: {path.name}", planned)


def check_numbers(table: pd.DataFrame, where: str, planned: int) -> None:
    """Fail unless each row of a table answers, of as many architectures as are planned."""
    assert len(table), f"{where}: no row"
    numbers = table.select_dtypes("number")
    assert numbers.notna().any(axis=None), f"{where}: no number"
    answers = [name for name in ANSWERS if name in table]
    assert not answers or table[answers].notna().any(axis=None), f"{where}: no answer"
    notes = table.get("note", pd.Series(index=table.index, dtype=object))
    # Others say why they have none, such as of too few test images.
    untold = table[notes.isna() | (notes == "")]
    assert not answers or untold[answers].notna().any(axis=1).all(), f"{where}: no answer"
    for column in answers:
        lacking = untold[untold[column].isna()]
        most = len(table) / 4 if column in CORRELATIONS else 0
        assert len(lacking) <= most, f"{where}: no {column} in\n{lacking.to_string()}"
    if "n" in table and not where.startswith(OF_THE_BEST):
        assert set(table["n"]) == {planned}, f"{where}: of {sorted(set(table['n']))}, not {planned}"
