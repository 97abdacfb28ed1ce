"""A population of architectures as points: the tables of what is drawn, and the drawing.

Every table has one row per point and a column `mark`: "top" or "worst" for the best and worst
architectures (a quarter at most), else "". A few diverged runs do not stretch an axis until nothing
else can be seen: they are drawn at its end, and a note counts them.
"""

import math
from collections.abc import Iterable, Sequence
from typing import Any

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from anynet_study.analysis.apr import cumulative, mark_extremes
from anynet_study.analysis.plots.style import POPULATION, TOP, WORST, Panels, note_in_corner

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


def scatter_data(
    errors: pd.DataFrame, pairs: Sequence[tuple[str, str]], count: int = 10
) -> pd.DataFrame:
    """Points of the error scatterplots (paper 1, Figures 3 to 5).

    Returns one row per pair (x, y) of datasets and architecture that has both errors, with columns
    x, y, architecture, x_error, y_error (percent) and mark, for the `count` best and worst on y.
    """
    parts = (
        _marked(errors[x], errors[y], errors[y], count, ("x_error", "y_error")).assign(x=x, y=y)
        for x, y in pairs
    )
    return _stacked(parts, ["x", "y", "architecture", "x_error", "y_error", "mark"])


def driver_data(
    errors: pd.DataFrame, population: pd.DataFrame, parameter: str, count: int = 10
) -> pd.DataFrame:
    """Points of the driver figures (paper 1, Figure 7).

    `parameter` is "cumulative depth" or "cumulative width". Returns columns dataset, architecture,
    error (percent), value, and mark for the `count` best and worst on the dataset.
    """
    values = cumulative(population.set_index("architecture"))[parameter].reindex(errors.index)
    parts = (
        _marked(errors[name], values, errors[name], count, ("error", "value")).assign(dataset=name)
        for name in errors.columns
    )
    return _stacked(parts, ["dataset", "architecture", "error", "value", "mark"])


def agreement_data(
    before: pd.DataFrame, after: pd.DataFrame, datasets: Sequence[str], count: int = 10
) -> pd.DataFrame:
    """Points of `agreement_grid`: the errors (%) of the architectures that have both.

    Returns columns dataset, architecture, before, after, and mark for the `count` best and worst
    after.
    """
    parts = (
        _marked(before[name], after[name], after[name], count, ("before", "after")).assign(
            dataset=name
        )
        for name in datasets
    )
    return _stacked(parts, ["dataset", "architecture", "before", "after", "mark"])


def _marked(
    x: pd.Series, y: pd.Series, errors: pd.Series, count: int, names: tuple[str, str]
) -> pd.DataFrame:
    """Architectures that have both numbers, marked by their rank among these `errors`."""
    both = pd.DataFrame({names[0]: x, names[1]: y}).dropna()
    marks = mark_extremes(errors.reindex(both.index).to_frame("errors"), "errors", count)
    return both.assign(mark=marks).rename_axis("architecture").reset_index()


def _stacked(parts: Iterable[pd.DataFrame], columns: list[str]) -> pd.DataFrame:
    frames = list(parts)
    return (
        pd.concat(frames, ignore_index=True)[columns] if frames else pd.DataFrame(columns=columns)
    )


def point_size(count: int) -> float:
    """Diameter in points that keeps `count` architectures apart in a panel."""
    return 4.0 if count < 60 else 3.0 if count < 250 else 2.2


def draw_points(
    axes: Axes,
    points: pd.DataFrame,
    x: str,
    y: str,
    limits: tuple[float, float] = (math.inf, math.inf),
    shrink: float = 1.0,
    many: bool = False,
) -> None:
    """Draw columns x and y of `points` in one panel, the marked ones last and larger.

    Points beyond the `limits` of x and y are drawn at the edge of the panel. `shrink` scales the
    markers; `many` draws them as an image.
    """
    size = point_size(len(points)) * shrink
    right_edge, up_edge = _edge(points[x], limits[0]), _edge(points[y], limits[1])
    for mark, look in LOOKS.items():
        chosen = points[points["mark"] == mark]
        if chosen.empty:  # an empty line would count as a point at the figure's lower left corner
            continue
        axes.plot(
            chosen[x].clip(upper=right_edge),
            chosen[y].clip(upper=up_edge),
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
    """Return where the axis ends: a margin beyond `limit`; infinity where nothing lies beyond."""
    if not (values > limit).any():
        return math.inf
    return limit + MARGIN * max(limit - float(values.min()), 1e-9)


def note_beyond(
    axes: Axes, points: pd.DataFrame, x: str, y: str, limits: tuple[float, float]
) -> None:
    """Say in the panel how many points lie beyond an axis and are drawn at its end.

    In that of the right corners in which fewer points lie.
    """
    beyond = int(((points[x] > limits[0]) | (points[y] > limits[1])).sum())
    if beyond:
        (left, right), (bottom, top) = axes.get_xlim(), axes.get_ylim()
        # About the room that the note takes.
        height = ((points[y] - bottom) / (top - bottom))[points[x] > left + 0.7 * (right - left)]
        lower = int((height < 0.14).sum()) < int((height > 0.84).sum())
        note_in_corner(axes, f"{beyond} off scale", lower)


def legend_of_marks(
    drawn: Panels, marks: pd.Series, count: int, of: str = "y axis", lines: Sequence[Line2D] = ()
) -> None:
    """Explain the markers of `count` panels, and lines by their labels.

    `of` says on which dataset best and worst are.
    """
    counts = {mark: round(int((marks == mark).sum()) / max(count, 1)) for mark in LOOKS}
    low, high = counts["top"], counts["worst"]
    names = {
        "": "architecture",
        "top": f"lowest {low} errors on the {of}" if low > 1 else f"lowest error on the {of}",
        "worst": f"highest {high}" if high > 1 else "highest error",
    }
    shown = [mark for mark in LOOKS if mark == "" or counts[mark]]
    handles = [
        Line2D([], [], linestyle="none", markersize=4.5, **{**LOOKS[mark], "alpha": 1})
        for mark in shown
    ]
    labels = [names[mark] for mark in shown] + [str(line.get_label()) for line in lines]
    drawn.legend([*handles, *lines], labels, handletextpad=0.2 if not lines else 0.6)
