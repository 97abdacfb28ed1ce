"""The report of a table of errors that somebody else has: the same page, without a store."""

import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from command import in_this_process

import anynet_study
from anynet_study import UserError


@pytest.fixture
def board(tmp_path: Path) -> Path:
    """The accuracies of 40 models on three datasets."""
    rows = np.arange(40.0)
    table = pd.DataFrame({"big": 80 - rows, "a": 75 - rows - rows % 3, "b": 78 - rows - rows % 5})
    table.index = pd.Index([f"model-{number}" for number in range(40)], name="model")
    table.assign(params=rows + 1).to_csv(tmp_path / "board.csv")
    return tmp_path / "board.csv"


def test_a_table_has_a_report(board: Path) -> None:
    made = in_this_process(
        board.parent, "report", "board.csv", "--accuracy", "--source", "big", "--resamples", 100
    )
    page = board.parent / "board-report" / "report.html"
    assert made.stdout.strip() == "board-report/report.html"
    text = re.sub("<[^>]+>", " ", page.read_text(encoding="utf-8"))
    assert "40 architectures, 3 datasets," in text
    assert "120 results, imported" in " ".join(text.split())
    assert "The ranking of the architectures on big carries over to both targets" in text
    tables = {path.stem for path in (page.parent / "tables").iterdir()}
    assert {"errors", "correlations", "match", "datasets"} <= tables


def test_python_says_the_source_by_its_name(board: Path) -> None:
    frame = pd.read_csv(board, index_col="model")[["big", "a", "b"]]
    study = anynet_study.load(frame, source="big", accuracy=True, resamples=100, quiet=True)
    assert set(study.roles.targets) == {"a", "b"}
    assert study.conclusions[0].startswith("The ranking of the architectures on big carries over")
    assert len(study.conclusions) <= 5
    page = study.report(board.parent / "there")
    assert page == board.parent / "there" / "report.html"
    with pytest.raises(UserError, match="source and roles are both given"):
        anynet_study.load(frame, "a", source="big", accuracy=True)
