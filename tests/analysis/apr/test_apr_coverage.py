"""A quick round of the simulations of `benchmarks/coverage.py`: none of its rows is far off."""

import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from scipy import stats

sys.path.insert(0, str(Path(__file__).parents[3]))
coverage = import_module("benchmarks.coverage")
sys.path.pop(0)
STUDIES = 20


def kind(row: Any) -> str:
    """What a row is about, whatever the numbers."""
    return row.what.split(",")[0]


#: The first row of each kind. The table of all is made by hand.
QUICK = {kind(row): row for row in reversed(coverage.ROWS)}.values()


@pytest.mark.slow
@pytest.mark.parametrize("row", QUICK, ids=lambda row: f"{row.what}, {row.population}")
def test_intervals_hold_and_conclusions_are_seldom_wrong(row: Any) -> None:
    share, none = coverage.shares(row, STUDIES)
    found = round((share if row.wrong else share * (1 - none / 100)) / 100 * STUDIES)
    right = STUDIES - found if row.wrong else found
    # So few would be right in one of ten thousand tests, were 90% right: 12 of 20.
    assert stats.binom.cdf(right, STUDIES, 0.9) > 1e-4
