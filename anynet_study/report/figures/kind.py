"""What a figure of a study is; and what it draws on, or why that is not there."""

from collections.abc import Callable
from dataclasses import dataclass

import pandas as pd
from matplotlib.figure import Figure

from anynet_study.errors import UserError
from anynet_study.report.analysis import Analysis

#: Datasets, or panels, that a figure of a page has room for.
MOST_IN_MATRIX = 20
MOST_IN_HEATMAP = 60
MOST_PANELS = 48
MARKED = (
    "ρ: Spearman's, with its 95% bootstrap interval. Orange triangles: the ten lowest errors on "
    "the {of}; red crosses: the ten highest (a quarter of the architectures at most). Errors far "
    "above all others, as of diverged runs, are off the scale and drawn at the edge."
)


@dataclass(frozen=True)
class FigureKind:
    """One kind of figure: `draw` raises UserError with the reason where it does not apply."""

    caption: str
    draw: Callable[[Analysis], Figure]
    #: What is drawn, as a table.
    data: Callable[[Analysis], pd.DataFrame]
    #: The analyses that it draws on.
    needs: tuple[str, ...] = ()


def drawable(analysis: Analysis, name: str, column: str = "estimate") -> pd.DataFrame:
    """The table of an analysis; UserError where it was left out or has no number in a column."""
    table = analysis[name]
    if column in table and table[column].isna().all():
        what = "correlation" if column == "estimate" else column
        raise UserError(f"every {what} is undefined: too few, or constant, errors")
    return table


def errors_in(analysis: Analysis) -> pd.DataFrame:
    """The errors of the datasets that have any; a panel each."""
    errors = analysis.tables.errors.dropna(axis="columns", how="all")
    if errors.empty:
        raise UserError("no run has an error")
    check_room(errors.shape[1], MOST_PANELS)
    return errors


def check_room(count: int, most: int, what: str = "datasets") -> None:
    """Raise UserError for more panels, rows or columns than a figure has room for."""
    if count > most:
        raise UserError(f"{count} {what} are more than the {most} that fit a figure")
