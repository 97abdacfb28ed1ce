"""An analysis of one's own joins those of the package, by an option or an installed package."""

import re
import sys
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import get_args

import pandas as pd
import pytest
from small_study import run_records, small_study, write_store
from tiny_study import Type

import anynet_study
from anynet_study.analysis.analyses import FIGURES, TABLES, findings, known_analyses
from anynet_study.analysis.report import write_report
from anynet_study.analysis.study import Figure, Table
from anynet_study.core.errors import UserError

OWN = """
import pandas as pd
from anynet_study.analysis.analysis import Analysis, StudyFigure
from anynet_study.analysis.claims import Claim, Fact, Interval, Kind, sources
from matplotlib.figure import Figure

NEW = Kind(name="new", speaks=sources("images"), words={"yes": "{names} are new"})


def spread(study):
    errors = study.errors
    return pd.DataFrame({"dataset": errors.columns, "spread": (errors.max() - errors.min()).values})


SPREAD = Analysis(
    name="spread",
    title="Best against worst",
    table=spread,
    say=lambda study, table: [Fact("{count} datasets", {"count": len(table)})],
    section="pairs",
    shown="folded",
)
LOST = Analysis(name="lost", title="", table=spread, section="nowhere")
TAKEN = Analysis(name="match", title="", table=spread)
SPACED = Analysis(name="a b/c", title="", table=spread)
OPENED = Analysis(name="opened", title="", table=spread, shown="unfolded")
NEEDING = Analysis(name="needing", title="", table=spread, needs=("populations",))


def figure(name, draw, caption=""):
    return StudyFigure(name=name, title="Spread", caption=caption, draw=draw)


UNTUPLED = Analysis(name="untupled", title="", table=spread, figures=(figure("one", print)))
CAPTIONED = Analysis(
    name="captioned", title="", table=spread, figures=(figure("captioned", print, "of {a, b}"),)
)
DRAWN = Analysis(name="drawn", title="", table=spread, figures=(figure("matrix", print),))


def indexed(study):
    return study.errors.describe().T


def twice(study):
    return pd.DataFrame([[1, 2]], columns=["a", "a"])


def failing(study):
    return study.errors["nowhere"]


def changing(study):
    errors = study.errors
    errors["mine"] = 1.0
    pairs = study.table("correlations")
    pairs["mine"] = 1.0
    return errors.reset_index()


def unset(study, table):
    figure = Figure()
    figure.subplots().set_title("$\\\\nowhere{$")
    return figure


def drawing(study, table):
    figure = Figure()
    figure.subplots().bar(table["dataset"], table["spread"])
    return figure


TABLES = {
    name: Analysis(name=name, title=name, table=table, section="pairs", shown="folded")
    for name, table in {
        "indexed": indexed,
        "twice": twice,
        "failing": failing,
        "changing": changing,
        "numbered": lambda study: pd.DataFrame([[1, 2]]),
        "series": lambda study: study.errors.mean(),
        "argumentless": lambda: None,
        "cells": lambda study: pd.DataFrame(
            {"list": [[1, 2]], "day": [pd.Timestamp("2026-01-02")], "low end": [-float("inf")]}
        ),
    }.items()
}
FIGURES = {
    name: Analysis(name=name, title="", table=spread, section="pairs", figures=(draw,))
    for name, draw in {
        "words": figure("words", lambda study, table: "a figure"),
        "wrong": figure("wrong", lambda study, table: table["nowhere"]),
        "unset": figure("unset", unset),
        "drawing": figure("drawing", drawing),
    }.items()
}
SAYING = {
    name: Analysis(name=name, title=name, table=spread, say=say, section="pairs")
    for name, say in {
        "raising": lambda study, table: [table["nowhere"]],
        "one": lambda study, table: "one text",
        "none": lambda study, table: None,
        "texts": lambda study, table: ["They differ."],
        "claiming": lambda study, table: [Claim(NEW, "x", Interval(0, 1, NEW.speaks))],
    }.items()
}
globals().update(TABLES | FIGURES | SAYING)
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
        "anynet_study.analysis.analyses.own.entry_points",
        lambda group: [point] if group == "anynet_study.analyses" else [],
    )
    assert list(known_analyses())[-1] == "spread"


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("my_analysis:spread", "my_analysis has no Analysis 'spread'; legal: SPREAD, LOST, TAKEN"),
        ("my_analysis:SPACED", "name 'a b/c'; legal: letters, digits, - and _"),
        ("my_analysis:OPENED", "shown 'unfolded'; legal: 'open', 'folded', ''"),
        ("my_analysis:NEEDING", "needs: a study has no property 'populations'"),
        ("my_analysis:UNTUPLED", "figures: needed is a tuple"),
        ("my_analysis:CAPTIONED", "caption of figure captioned: legal in braces are {level}, "),
        ("my_analysis:DRAWN", "there is a figure 'matrix' already"),
        ("my_analysis:LOST", "section 'nowhere'; legal: proxies, "),
        ("my_analysis:TAKEN", "there is an analysis 'match' already"),
        ("nobody:X", "No module named 'nobody'"),
    ],
)
def test_what_is_none_is_refused(folder: Path, text: str, reason: str) -> None:
    with pytest.raises(UserError, match=f"--analysis {text}: .*{reason}"):
        known_analyses([text])


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("failing", r"table: KeyError: 'nowhere' \(my_analysis.py, line \d+\)"),
        ("argumentless", "table: TypeError: .* takes 0 positional arguments but 1 was given"),
        ("series", "table: a Series; needed is a pandas DataFrame"),
        ("numbered", "table: column 0; legal: texts, each once"),
        ("twice", "table: column 'a'; legal: texts, each once"),
        ("indexed", r"table: its index would not be shown; reset_index\(\) makes it columns"),
    ],
)
def test_a_table_that_fails_is_one_line(folder: Path, name: str, reason: str, type_: Type) -> None:
    own = f"my_analysis:{name}"
    done = type_("analyze", "errors.csv", "--analysis", own, "--table", name, "--resamples", 100)
    assert done.code == 2
    assert re.fullmatch(
        f"error: errors.csv: no table {name}: --analysis {own}: {reason}", done.line
    )


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("words", "a str; needed is a matplotlib Figure"),
        ("wrong", r"KeyError: 'nowhere' \(my_analysis.py, line \d+\)"),
        ("unset", r"it cannot be rendered: .*nowhere.*"),
    ],
)
def test_a_figure_that_fails_is_one_line(folder: Path, name: str, reason: str, type_: Type) -> None:
    own = f"my_analysis:{name}"
    done = type_("plot", "errors.csv", "--analysis", own, "--figure", name, "-o", "drawn")
    whole = f"error: errors.csv: no figure {name}: --analysis {own}: figure {name}: {reason}"
    assert (done.code, "Traceback" in done.err) == (2, False)
    assert re.fullmatch(whole, done.err.splitlines()[-1])


def test_sentences_that_fail_say_so(folder: Path) -> None:
    names = ("raising", "one", "none", "texts", "claiming")
    own = [f"my_analysis:{name}" for name in names]
    study = anynet_study.load("errors.csv", analysis=own, resamples=100)
    study.make(names)
    said = {it.topic: it.sentences for it in findings(study)}
    assert said["raising"][0].startswith("No sentences: --analysis my_analysis:raising: say: Key")
    values = {"one": "'one text'", "none": "None", "texts": "['They differ.']"}
    for name, value in values.items():
        wanted = f"my_analysis:{name}: say: a list of Claim and Fact is needed, not {value}"
        assert said[name] == [f"No sentences: --analysis {wanted}."]
    assert said["claiming"] == [
        "No sentences: --analysis my_analysis:claiming: says: no world measures how often 'new' is "
        "wrong."
    ]


def test_an_analysis_does_not_change_what_others_see(folder: Path) -> None:
    study = anynet_study.load("errors.csv", analysis=["my_analysis:changing"], resamples=100)
    assert "mine" in study.table("changing")
    assert list(study.errors) == ["big", "x"]
    assert "mine" not in study.table("correlations")


def test_cells_of_any_kind_are_shown(folder: Path, type_: Type) -> None:
    done = type_("analyze", "errors.csv", "--analysis", "my_analysis:cells", "--table", "cells")
    assert (done.code, done.out.splitlines()[-1].split()) == (
        0,
        ["[1,", "2]", "2026-01-02", "00:00:00", "-∞"],
    )


def test_the_report_has_its_figures_and_says_what_failed(folder: Path) -> None:
    small = small_study()
    write_store(folder / "small", small, run_records(small))
    own = [f"my_analysis:{name}" for name in ("drawing", "words", "failing")]
    study = anynet_study.load(folder / "small/results.h5", analysis=own, resamples=40)
    page = write_report(study, folder / "report").read_text()
    assert (folder / "report/figures/drawing.png").exists()
    for said in (
        "No figure “Spread”: --analysis my_analysis:words: figure words: a str;",
        "No failing: --analysis my_analysis:failing: table: KeyError:",
    ):
        assert said in page


def test_names_are_typed() -> None:
    assert get_args(Table) == TABLES
    assert get_args(Figure) == FIGURES
