"""Drawing a population of architectures as points, its best and worst marked."""

import math
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
MARGIN = 0.07
"""Free space around the points, as a share of their range."""

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
    points: pd.DataFrame,
    right: float = math.inf,
    up: float = math.inf,
    shrink: float = 1.0,
    many: bool = False,
) -> None:
    """Draw the points of one panel, the marked ones last and larger.

    `points` has columns right, up and mark. Points beyond the limits `right` and `up` are drawn at
    the edge of the panel. `shrink` scales the markers; `many` draws them as an image.
    """
    size = point_size(len(points)) * shrink
    right_edge, up_edge = _edge(points["right"], right), _edge(points["up"], up)
    for mark, look in LOOKS.items():
        chosen = points[points["mark"] == mark]
        if chosen.empty:  # an empty line would count as a point at the figure's lower left corner
            continue
        axes.plot(
            chosen["right"].clip(upper=right_edge),
            chosen["up"].clip(upper=up_edge),
            linestyle="none",
            markersize=size if mark == "" else size * 1.3 + 0.7 * shrink,
            rasterized=many,
            clip_on=False,
            # On small markers an edge would hide the colour.
            **{**look, "markeredgewidth": look["markeredgewidth"] if shrink > SMALL else 0},
        )
    axes.margins(MARGIN)
    axes.locator_params(nbins=5, min_n_ticks=3)
    if math.isfinite(right_edge):
        axes.set_xlim(right=right_edge)
    if math.isfinite(up_edge):
        axes.set_ylim(top=up_edge)


def _edge(values: pd.Series, limit: float) -> float:
    """Where the axis ends: a margin beyond `limit`; infinity where nothing lies beyond."""
    if not (values > limit).any():
        return math.inf
    return limit + MARGIN * max(limit - float(values.min()), 1e-9)


def note_beyond(axes: Axes, points: pd.DataFrame, right: float, up: float) -> None:
    """Say in the panel how many points lie beyond an axis and are drawn at its end."""
    beyond = int(((points["right"] > right) | (points["up"] > up)).sum())
    if beyond:
        place: dict[str, Any] = {"ha": "right", "va": "top", "transform": axes.transAxes}
        place["bbox"] = {"facecolor": "white", "alpha": 0.85, "linewidth": 0, "pad": 1}
        axes.text(0.97, 0.95, f"{beyond} off scale", fontsize=6, **place)


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
