"""What a figure shows, read back from its artists."""

from typing import Any

import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.container import ErrorbarContainer
from matplotlib.figure import Figure

Row = tuple[float, float, float, float]


def xy(line: Any) -> list[tuple[float, float]]:
    """The points of a line, in order."""
    return [(float(x), float(y)) for x, y in zip(line.get_xdata(), line.get_ydata(), strict=True)]


def marked(axes: Axes) -> dict[str, set[tuple[float, float]]]:
    """The points of a population by marker: "o" all others, "^" the best, "X" the worst."""
    return {str(line.get_marker()): set(xy(line)) for line in axes.lines if line.get_marker()}


def intervals(container: ErrorbarContainer, across: bool = True) -> list[Row]:
    """The place, estimate, low and high end of every marker with its whiskers."""
    line, _, (bars,) = container.lines
    along = 0 if across else 1
    found = []
    for point, segment in zip(xy(line), bars.get_segments(), strict=True):
        assert segment[0][1 - along] == segment[1][1 - along] == point[1 - along]
        found.append((point[1 - along], point[along], *np.sort(segment[:, along])))
    return found


def near(rows: Any) -> Any:
    """Numbers of a table, equal but for rounding."""
    return [pytest.approx(tuple(row)) for row in rows]


def spans(collection: Any, across: bool) -> list[tuple[float, float, float]]:
    """The place, low and high end of every horizontal (or vertical) line of a collection."""
    along = 0 if across else 1
    return [(s[0][1 - along], *np.sort(s[:, along])) for s in collection.get_segments()]


def band(collection: Any) -> set[tuple[float, float]]:
    """The corners of a filled band."""
    return {(float(x), float(y)) for x, y in collection.get_paths()[0].vertices}


def names(figure: Figure) -> list[str]:
    """What the legend names."""
    return [text.get_text() for text in figure.legends[0].get_texts()]


def ticks(axis: Any) -> list[str]:
    """The labels of an axis' ticks."""
    return [label.get_text() for label in axis.get_ticklabels()]


def written(axes: Axes) -> dict[tuple[float, float], str]:
    """The texts inside a panel by their place."""
    return {
        (round(text.get_position()[0], 2), round(text.get_position()[1], 2)): text.get_text()
        for text in axes.texts
    }
