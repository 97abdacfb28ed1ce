"""One look for every figure: journal column widths, colours for colour-blind readers, legends.

Colours are those of Okabe and Ito; what they mean is the same in every figure, and groups that
matter differ in marker as well as in colour. `panels` makes the figure that a function draws in,
or takes the axes that its caller gave it.
"""

import functools
import io
import re
import textwrap
from collections.abc import Callable, Iterable, Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, ParamSpec, TypeVar

import matplotlib.style
import numpy as np
import pandas as pd
from matplotlib import font_manager
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure
from matplotlib.ticker import EngFormatter, FixedFormatter, FuncFormatter, LogLocator, NullFormatter

from anynet_study.core.errors import DoesNotApplyError

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
DIVERGING = LinearSegmentedColormap.from_list("signs", [VERMILLION, "#ffffff", BLUE])
"""Colours of correlations, here and in the report: orange is -1, white 0, blue +1."""
SERIES = ((BLUE, "o"), (GREEN, "s"), (PURPLE, "D"), (SKY, "^"), (BLACK, "v"), (GREY, "P"))
"""Colour and marker of the members of a family, in order."""

SMALLEST_TEXT = 5.0
"""Points; journals print nothing smaller."""
ROUNDING = 0.05
"""Share of a panel's width that may be lacking for one more in a row."""
NARROWEST = 1.6
"""Inches of a panel whose titles and labels still fit, in two lines or three."""
TIED = re.compile(r" = |\[[^]]*\]| \(%\)")
"""What stays in one line with its spaces: "n = 24", "[0.1, 0.2]", "cifar10 (%)"."""
NO_BREAK = "\u00a0"
LETTER, BESIDE, AROUND, BETWEEN, SHORTEST_LINE = 0.055, 0.5, 0.15, 0.3, 12
"""Inches of a letter of a title, beside a panel, around one whose rows have names, between two
rows; the least letters of a line."""
CHARACTER, HANDLE = 0.062, 0.45
"""Inches that a character of a legend takes, and a handle with the space around it."""

FONT_SIZE = 7.5
"""Of labels and titles, points."""
OWN_STYLE: ContextVar[str] = ContextVar("OWN_STYLE", default="")
"""A user's own style, over this one, in which figures are drawn; see `measure.Look`."""
OWN_WIDTH: ContextVar[float | None] = ContextVar("OWN_WIDTH", default=None)
"""The width in inches that a user wants; None: each figure's own."""

STYLE: dict[str, Any] = {
    "font.family": "DejaVu Sans",
    "font.size": FONT_SIZE,
    "axes.titlesize": FONT_SIZE,
    "axes.labelsize": FONT_SIZE,
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


def own_width(width: float) -> float:
    """The width in inches that the user wants, or else this one."""
    return OWN_WIDTH.get() or width


class ShownFigure(Figure):
    """A figure that notebooks display by itself, without a magic command.

    It is as wide as the user wants (`OWN_WIDTH`). A wider one is higher alike; a narrower one is as
    high as before, since letters stay as they are.
    """

    def __init__(self, figsize: tuple[float, float], **look: Any) -> None:
        width = own_width(figsize[0])
        super().__init__(figsize=(width, figsize[1] * max(width / figsize[0], 1)), **look)

    def _repr_png_(self) -> bytes:
        picture = io.BytesIO()
        self.savefig(picture, format="png", dpi=100)
        return picture.getvalue()


#: Fonts with the glyphs of Chinese, Japanese and Korean, of which one is installed as a rule.
FURTHER_FONTS = (
    *("Noto Sans CJK SC", "Noto Sans CJK JP", "Noto Sans SC", "Noto Sans JP", "Noto Sans KR"),
    *("Source Han Sans SC", "Source Han Sans JP", "WenQuanYi Zen Hei", "WenQuanYi Micro Hei"),
    *("Droid Sans Fallback", "IPAGothic", "IPAexGothic", "NanumGothic", "PingFang SC"),
    *("Hiragino Sans", "Microsoft YaHei", "SimHei", "Yu Gothic", "Malgun Gothic"),
    *("Arial Unicode MS",),
)


@functools.cache
def font_families() -> list[str]:
    """The font of all figures, and those that are installed of the others, for glyphs it lacks."""
    installed = {font.name for font in font_manager.fontManager.ttflist}
    return [STYLE["font.family"], *(name for name in FURTHER_FONTS if name in installed)]


def styled(function: Callable[P, R]) -> Callable[P, R]:
    """Run `function` in the project's style, whatever the user's own matplotlib settings are."""

    @functools.wraps(function)
    def wrapper(*args: P.args, **kwargs: P.kwargs) -> R:
        own, fonts = OWN_STYLE.get(), {"font.family": font_families()}
        styles = ["default", STYLE, fonts, *([own] if own else [])]
        with matplotlib.style.context(styles):
            made = function(*args, **kwargs)
            if isinstance(made, ShownFigure):
                _fold_titles(made)
            return made

    return wrapper


def _names_beside(axes: Axes) -> float:
    """Inches that names on the y axis take; numbers take little."""
    if not isinstance(axes.yaxis.get_major_formatter(), FixedFormatter | FuncFormatter):
        return 0
    sizes = (len(it.get_text()) * float(it.get_fontsize()) for it in axes.get_yticklabels())
    return CHARACTER / FONT_SIZE * max(sizes, default=0)


def _fold_titles(figure: Figure) -> None:
    """Break titles and labels that are longer than their panel, between words."""
    for axes in figure.axes:
        place = axes.get_subplotspec()
        if place is None or figure.get_layout_engine() is None:
            continue
        rows, columns = place.get_gridspec().get_geometry()
        names = _names_beside(axes)
        beside = names + AROUND if names else BESIDE
        across = figure.get_figwidth() * len(place.colspan) / columns - beside
        along = figure.get_figheight() * len(place.rowspan) / rows - BETWEEN
        rooms = {axes.title: across, axes.xaxis.label: across, axes.yaxis.label: along}
        for text, room in rooms.items():
            width = int(room / LETTER * FONT_SIZE / float(text.get_fontsize()))
            lines = text.get_text().split("\n")
            text.set_text("\n".join(_folded(line, max(width, SHORTEST_LINE)) for line in lines))


def _folded(line: str, width: int) -> str:
    """Lines of at most `width` letters where words allow; what is tied stays where it fits."""
    tied = TIED.sub(lambda part: part[0].replace(" ", NO_BREAK), line)
    for said in (tied, line):
        found = textwrap.wrap(said, width, break_long_words=False, break_on_hyphens=False)
        if all(len(one) <= width for one in found):
            break
    return "\n".join(found).replace(NO_BREAK, " ")


@dataclass(frozen=True)
class Panels:
    """The panels that a function draws in, and the figure that they are part of."""

    figure: Figure
    axes: list[Axes]
    #: Whether the figure was made for them; otherwise they are the caller's.
    own: bool

    @property
    def first(self) -> Axes:
        """The only panel of a figure of one, or the one at the top left."""
        return self.axes[0]

    def label_left(self, text: str) -> None:
        """Label the y axes of the panels at the left edge."""
        for panel in self.axes:
            if first_in_row(panel):
                panel.set_ylabel(text)

    def legend(
        self, handles: Sequence[Any], labels: Sequence[str], most: int = 3, **look: Any
    ) -> None:
        """Explain the artists below the figure, or inside the first panel of the caller's axes.

        The entries are in as many columns as fit side by side, at most `most`.
        """
        if self.own:
            columns = legend_columns(labels, self.figure.get_figwidth(), most)
            place = {"loc": "outside lower center", "ncols": columns, "columnspacing": 1.2}
            self.figure.legend(handles, labels, **(place | look))
        else:
            self.first.legend(handles, labels, fontsize=6, **look)


def panels(
    count: int,
    height: float,
    axes: Sequence[Axes] | None = None,
    columns: int = 3,
    sharey: bool = False,
    least: float = 1.45,
) -> Panels:
    """Make a figure of `count` equal panels in rows of at most `columns`, or use `axes`.

    A single panel fills one journal column, more of them up to two; where the user wants another
    width, rows have as many panels as have room for titles in one line, or, where the figure would
    be taller than a page, in several. `height` is a row's, in inches, and less where the rows would
    not fit on a page; but not less than `least`, in which numbers and labels have room: of very
    many rows the figure is taller than a page.

    Raises:
        ValueError: `axes` are fewer than the panels.
    """
    if axes is not None:
        return _given(list(np.ravel(np.asarray(axes, dtype=object))), count)
    whole = own_width(TWO_COLUMNS)
    fitting = max(1, int(whole * max(columns, 3) / TWO_COLUMNS + ROUNDING))
    if height * count > PAGE * fitting:
        fitting = max(fitting, int(whole / NARROWEST + ROUNDING))
    rows = -(-max(1, count) // min(columns, fitting))
    columns = max(1, -(-count // rows))
    width = ONE_COLUMN if columns == 1 else TWO_COLUMNS * columns / max(columns, 3)
    height = max(height, 2.4) if count == 1 else min(height, max(PAGE / rows, least))
    figure = ShownFigure(figsize=(width, rows * height + 0.25), layout="constrained")
    made = list(figure.subplots(rows, columns, squeeze=False, sharey=sharey).flat)
    for surplus in made[count:]:
        surplus.remove()
    return Panels(figure, made[:count], own=True)


def one_panel(width: float, height: float, ax: Axes | None = None) -> Panels:
    """Make a figure of one panel, `width` x `height` inches, or use `ax`."""
    if ax is not None:
        return _given([ax], 1)
    figure = ShownFigure(figsize=(width, min(height, PAGE)), layout="constrained")
    return Panels(figure, [figure.subplots()], own=True)


def _given(axes: list[Axes], count: int) -> Panels:
    if len(axes) < max(count, 1):
        raise ValueError(f"axes: {len(axes)} are given; the figure has {count} panels")
    figure = axes[0].get_figure(root=True)
    assert isinstance(figure, Figure)
    return Panels(figure, axes[:count], own=False)


def legend_columns(labels: Sequence[str], width: float, most: int = 3) -> int:
    """Return how many columns of these labels fit side by side in `width` inches: 1 to `most`."""
    for columns in range(min(most, len(labels)), 1, -1):
        parts = np.array_split([len(label) for label in labels], columns)
        if sum(HANDLE + CHARACTER * part.max() for part in parts) <= width:
            return columns
    return 1


def first_in_row(axes: Axes) -> bool:
    """Tell whether this panel is at the left edge, where shared labels go."""
    place = axes.get_subplotspec()
    return place is None or bool(place.is_first_col())


def series_looks(
    names: Iterable[str], what: str = "series", hollow: bool = True
) -> dict[str, dict[str, Any]]:
    """The colour and marker of each member of a family, in order: filled, then `hollow` ones.

    Raises UserError for more members, `what` they are called, than there are looks.
    """
    shown = list(names)
    looks: list[dict[str, Any]] = [{"color": colour, "marker": marker} for colour, marker in SERIES]
    if hollow:
        looks += [{**look, "markerfacecolor": "white"} for look in looks]
    if len(shown) > len(looks):
        raise DoesNotApplyError(
            f"{len(shown)} {what} are more than the {len(looks)} that fit a figure"
        )
    return dict(zip(shown, looks, strict=False))


def log_axis(axes: Axes) -> None:
    """Make the x axis logarithmic, with as many readable numbers as fit: 1k, 20k, 500M."""
    axes.set_xscale("log")
    low, high = axes.get_xlim()
    subs = [1, 2, 5] if high < 100 * low else [1]
    axes.xaxis.set_major_locator(LogLocator(subs=subs, numticks=6))
    axes.xaxis.set_major_formatter(EngFormatter(sep=""))
    axes.xaxis.set_minor_formatter(NullFormatter())


def draw_intervals(
    axes: Axes,
    table: pd.DataFrame,
    column: str,
    places: Any,
    across: bool = True,
    **look: Any,
) -> None:
    """Draw a column of estimates as markers at `places`, with whiskers where it has an interval.

    The interval of a column x is in x_low and x_high, or else in low and high. Estimates lie along
    the x axis, or, where `across` is False, along the y axis. NaN is not drawn.
    """
    values = table[column].to_numpy(dtype=float)
    before = f"{column}_" if f"{column}_low" in table else ""
    ends = table.reindex(columns=[f"{before}low", f"{before}high"]).to_numpy(dtype=float)
    whiskers = np.abs(ends.T - values)
    drawn: dict[str, Any] = {
        "linestyle": "none",
        "linewidth": 0.8,
        "elinewidth": 0.9,
        "markersize": 4,
    } | look
    if across:
        axes.errorbar(values, places, xerr=whiskers, **drawn)
    else:
        axes.errorbar(places, values, yerr=whiskers, **drawn)


def note_in_corner(axes: Axes, text: str, lower: bool = False) -> None:
    """Write a small note into the upper (or lower) right corner of a panel."""
    place: dict[str, Any] = {"ha": "right", "va": "bottom" if lower else "top"}
    place["bbox"] = {"facecolor": "white", "alpha": 0.85, "linewidth": 0, "pad": 1}
    axes.text(0.97, 0.03 if lower else 0.95, text, transform=axes.transAxes, fontsize=6, **place)
