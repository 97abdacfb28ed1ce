"""Tables as CSV that spreadsheets do not execute, and that are read as they were."""

from io import StringIO

import pandas as pd
import pytest

from anynet_study.core.sheets import csv_text, text_of


@pytest.mark.parametrize("evil", ["=1+1", "+x", "-y", "@z", "=cmd|' /C calc'!A0"])
def test_no_cell_and_no_column_is_a_formula(evil: str) -> None:
    text = csv_text(pd.DataFrame({evil: [evil, "plain"], "error": [-1.5, 2.0]}))
    read = pd.read_csv(StringIO(text))
    assert list(read.columns) == [f"'{evil}", "error"]
    assert list(read[f"'{evil}"]) == [f"'{evil}", "plain"]
    assert list(read["error"]) == [-1.5, 2.0]
    assert text_of(f"'{evil}") == evil
