"""An analysis of one's own joins those of the package, by an option or an installed package."""

import sys
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import get_args

import pandas as pd
import pytest
from tiny_study import Type

import anynet_study
from anynet_study.analyses import FIGURES, TABLES, findings, known_analyses
from anynet_study.errors import UserError
from anynet_study.study import Figure, Table

OWN = """
import pandas as pd
from anynet_study.analysis import Analysis


def spread(study):
    errors = study.errors
    return pd.DataFrame({"dataset": errors.columns, "spread": (errors.max() - errors.min()).values})


SPREAD = Analysis(
    name="spread",
    title="Best against worst",
    table=spread,
    say=lambda study, table: [f"They differ by {table['spread'].max():.0f} points."],
    section="pairs",
    shown="folded",
)
LOST = Analysis(name="lost", title="", table=spread, section="nowhere")
TAKEN = Analysis(name="match", title="", table=spread)
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.delitem(sys.modules, "my_analysis", raising=False)
    (tmp_path / "my_analysis.py").write_text(OWN)
    errors = pd.DataFrame(
        {"model": list("abcde"), "big": [30, 31, 33, 34, 36], "x": [1, 2, 3, 4, 6]}
    )
    errors.to_csv("errors.csv", index=False)
    return tmp_path


def test_the_command_and_python_know_it(folder: Path, type_: Type) -> None:
    done = type_("analyze", "errors.csv", "--analysis", "my_analysis:SPREAD", "--table", "spread")
    assert (done.code, "Best against worst" in done.out) == (0, True), done.err
    study = anynet_study.load("errors.csv", analysis=["my_analysis:SPREAD"], resamples=100)
    assert list(study.table("spread")["spread"]) == [6, 5]
    assert [(it.topic, it.section) for it in findings(study)] == [("Best against worst", "pairs")]
    assert "spread" not in anynet_study.load("errors.csv").known_tables


def test_an_installed_package_adds_one(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    point = EntryPoint("spread", "my_analysis:SPREAD", "anynet_study.analyses")
    monkeypatch.setattr(
        "anynet_study.analyses.registry.entry_points",
        lambda group: [point] if group == "anynet_study.analyses" else [],
    )
    assert list(known_analyses())[-1] == "spread"


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("my_analysis:spread", "my_analysis has no Analysis 'spread'; legal: SPREAD, LOST, TAKEN"),
        ("my_analysis:LOST", "section 'nowhere'; legal: proxies, "),
        ("my_analysis:TAKEN", "there is an analysis 'match' already"),
        ("nobody:X", "No module named 'nobody'"),
    ],
)
def test_what_is_none_is_refused(folder: Path, text: str, reason: str) -> None:
    with pytest.raises(UserError, match=f"--analysis {text}: .*{reason}"):
        known_analyses([text])


def test_names_are_typed() -> None:
    assert get_args(Table) == TABLES
    assert get_args(Figure) == FIGURES
