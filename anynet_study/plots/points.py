"""Drawing a population of architectures as points, its best and worst marked."""

from collections.abc import Iterable
from typing import Any

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from anynet_study.plots.style import POPULATION, TOP, WORST

MANY_POINTS = 2_000
"""Beyond this many points in a figure they are drawn as an image: vector files stay small."""
SMALL = 0.6
"""Markers shrunk to less than this have no edge."""

LOOKS: dict[str, dict[str, Any]] = {
    "": {"color": POPULATION, "marker": "o", "alpha": 0.45, "markeredgewidth": 0},
    "top": {"color": TOP, "marker": "^", "markeredgecolor": "black", "markeredgewidth": 0.35},
    "worst": {"color": WORST, "marker": "X", "markeredgecolor": "black", "markeredgewidth": 0.35},
}


def point_size(count: int) -> float:
    """Diameter in points that keeps `count` architectures apart in a panel."""
    return 4.0 if count < 60 else 3.0 if count < 250 else 2.2


def draw_points(
    axes: Axes,
    x: pd.Series,
    y: pd.Series,
    marks: pd.Series,
    shrink: float = 1.0,
    many: bool = False,
) -> None:
    """Draw the points of one panel, the marked ones last and larger."""
    size = point_size(len(x)) * shrink
    for mark, look in LOOKS.items():
        chosen = (marks == mark).to_numpy()
        diameter = size if mark == "" else size * 1.3 + 0.7 * shrink
        # On small markers an edge would hide the colour.
        edge = look["markeredgewidth"] if shrink > SMALL else 0
        axes.plot(
            x[chosen],
            y[chosen],
            linestyle="none",
            markersize=diameter,
            rasterized=many,
            **{**look, "markeredgewidth": edge},
        )


def legend_of_marks(figure: Figure, marks: pd.Series, panels: int, of: str = "y axis") -> None:
    """Explain the markers below the panels; `of` says on which dataset best and worst are."""
    counts = {mark: round(int((marks == mark).sum()) / max(panels, 1)) for mark in LOOKS}
    names = {
        "": "architecture",
        "top": f"lowest {counts['top']} errors on the {of}",
        "worst": f"highest {counts['worst']}",
    }
    shown = [mark for mark in LOOKS if mark == "" or counts[mark]]
    figure.legend(
        handles=[_handle(mark) for mark in shown],
        labels=[names[mark] for mark in shown],
        loc="outside lower center",
        ncols=len(shown),
        handletextpad=0.2,
        columnspacing=1.2,
    )


def _handle(mark: str) -> Line2D:
    return Line2D([], [], linestyle="none", markersize=4.5, **{**LOOKS[mark], "alpha": 1})


def room_for_points(axes: Iterable[Axes]) -> None:
    """Leave a margin, and few enough ticks that their labels do not touch."""
    for axis in axes:
        axis.margins(0.07)
        axis.locator_params(nbins=5, min_n_ticks=3)
