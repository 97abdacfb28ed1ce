"""One look for every figure: journal column widths, colours for colour-blind readers too.

Colours are those of Okabe and Ito; what they mean is the same in every figure, and groups that
matter differ in marker as well as in colour.
"""

import functools
from collections.abc import Callable, Sequence
from typing import Any, ParamSpec, TypeVar

import matplotlib.style
from matplotlib.axes import Axes
from matplotlib.figure import Figure

P = ParamSpec("P")
R = TypeVar("R")

ONE_COLUMN = 3.5
"""Width of one journal column, inches."""
TWO_COLUMNS = 7.2
"""Width of two journal columns, inches."""
PAGE = 8.7
"""Height of a journal page less its caption, inches."""

BLACK = "#000000"
ORANGE = "#E69F00"
SKY = "#56B4E9"
GREEN = "#009E73"
BLUE = "#0072B2"
VERMILLION = "#D55E00"
PURPLE = "#CC79A7"
GREY = "#7F8790"

POPULATION = BLUE
TOP = ORANGE
WORST = VERMILLION
DIVERGING = "RdBu_r"
"""Colour map of correlations: blue is -1, white 0, red +1."""
SERIES = ((BLUE, "o"), (GREEN, "s"), (PURPLE, "D"), (SKY, "^"), (BLACK, "v"), (GREY, "P"))
"""Colour and marker of the members of a family, in order."""

SMALLEST_TEXT = 5.0
"""Points; journals print nothing smaller."""

STYLE: dict[str, Any] = {
    "font.family": "DejaVu Sans",
    "font.size": 7.5,
    "axes.titlesize": 7.5,
    "axes.labelsize": 7.5,
    "xtick.labelsize": 6.5,
    "ytick.labelsize": 6.5,
    "legend.fontsize": 7,
    "legend.frameon": False,
    "axes.linewidth": 0.6,
    "xtick.major.width": 0.6,
    "ytick.major.width": 0.6,
    "xtick.major.size": 2.5,
    "ytick.major.size": 2.5,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.titlepad": 4,
    "axes.labelpad": 2,
    "lines.linewidth": 1.0,
    "savefig.dpi": 200,
    "pdf.fonttype": 42,
    "svg.fonttype": "path",
    "svg.hashsalt": "anynet-study",
    # Dataset names are text, also when they hold a dollar sign.
    "text.parse_math": False,
}


def styled(function: Callable[P, R]) -> Callable[P, R]:
    """Run `function` in the project's style, whatever the user's own matplotlib settings are."""

    @functools.wraps(function)
    def wrapper(*args: P.args, **kwargs: P.kwargs) -> R:
        with matplotlib.style.context(["default", STYLE]):
            return function(*args, **kwargs)

    return wrapper


def panels(
    count: int, columns: int, height: float = 1.75, sharey: bool = False
) -> tuple[Figure, list[Axes]]:
    """Make a figure of `count` equal panels in rows of at most `columns`.

    A single panel fills one journal column, more of them up to two. `height` is a row's, in inches,
    and less where the rows would not fit on a page.
    """
    rows = max(1, -(-count // columns))
    columns = max(1, -(-count // rows))
    width = ONE_COLUMN if columns == 1 else TWO_COLUMNS * columns / max(columns, 3)
    height = max(height, 2.4) if count == 1 else min(height, PAGE / rows)
    figure = Figure(figsize=(width, rows * height + 0.25), layout="constrained")
    axes = list(figure.subplots(rows, columns, squeeze=False, sharey=sharey).flat)
    for surplus in axes[count:]:
        surplus.remove()
    return figure, axes[:count]


def first_in_row(axes: Axes) -> bool:
    """Whether this panel is at the left edge, where shared labels go."""
    place = axes.get_subplotspec()
    return place is not None and bool(place.is_first_col())


def legend_columns(figure: Figure, labels: Sequence[str]) -> int:
    """How many entries of a legend fit side by side across the figure."""
    entry = 0.45 + 0.062 * max((len(label) for label in labels), default=0)
    return int(min(max(figure.get_figwidth() // entry, 1), max(len(labels), 1)))
