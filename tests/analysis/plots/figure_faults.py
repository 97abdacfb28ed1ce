"""What is wrong with how a figure looks, by the boxes of its artists."""

from collections.abc import Iterator

import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.legend import Legend
from matplotlib.lines import Line2D
from matplotlib.patches import Rectangle
from matplotlib.text import Text
from matplotlib.transforms import Bbox

from anynet_study.analysis.plots.style import styled

#: As figures are saved: of fewer dots, letters are narrower.
DPI = 200
#: Pixels by which boxes may overlap: they have room around their letters.
SLACK = 3
#: Share of an axis by which a point may lie beyond its end: half a marker.
EDGE = 0.01


@styled
def faults(figure: Figure) -> list[str]:
    """Texts that overlap or are cut, points outside their axes, looks that repeat, raw markup."""
    figure.set_dpi(DPI)
    FigureCanvasAgg(figure)
    figure.draw_without_rendering()
    found = [*_cut(figure), *_markup(figure)]
    for axes in figure.axes:
        found += [*_overlapping(_of_panel(axes)), *_outside(axes)]
    labels = [(a.title, a.xaxis.label, a.yaxis.label) for a in figure.axes if a.axison]
    found += _overlapping([text for of in labels for text in of if _shown(text)])
    legends = [legend for legend in figure.findobj(Legend) if legend.get_visible()]
    for legend in legends:
        found += [*_repeated(legend), *_covered(figure, legend)]
    return list(dict.fromkeys(found))


def _shown(text: Text) -> bool:
    return bool(text.get_text().strip()) and text.get_visible() and text.get_alpha() != 0


def _box(text: Text) -> Bbox:
    box = text.get_window_extent()
    return Bbox.from_extents(box.x0 + SLACK, box.y0 + SLACK, box.x1 - SLACK, box.y1 - SLACK)


def _cut(figure: Figure) -> Iterator[str]:
    width, height = figure.bbox.width, figure.bbox.height
    for text in _texts(figure):
        box = _box(text)
        if box.x0 < -1 or box.y0 < -1 or box.x1 > width + 1 or box.y1 > height + 1:
            yield f"cut: {text.get_text()!r}"


def _texts(figure: Figure) -> list[Text]:
    texts = [text for axes in figure.axes for text in _of_panel(axes)]
    texts += [t for legend in figure.legends for t in legend.get_texts() if _shown(t)]
    return texts


def _of_panel(axes: Axes) -> list[Text]:
    """The texts of a panel that are drawn: of ticks those within its ends."""
    if not axes.get_visible() or not axes.axison:
        return [text for text in axes.texts if _shown(text)]
    found = [axes.title, axes.xaxis.label, axes.yaxis.label, *axes.texts]
    for axis in (axes.xaxis, axes.yaxis):
        low, high = sorted(axis.get_view_interval())
        room = 1e-9 * (high - low)
        for tick in (*axis.get_major_ticks(), *axis.get_minor_ticks()):
            within = low - room <= tick.get_loc() <= high + room
            found += [t for t in (tick.label1, tick.label2) if within and t.get_visible()]
    return [text for text in found if _shown(text)]


def _overlapping(texts: list[Text]) -> Iterator[str]:
    # Texts at an angle have boxes far larger than they are.
    level = [text for text in texts if text.get_rotation() % 90 == 0]
    boxes = np.array([_box(text).extents for text in level]).reshape(-1, 4)
    low, high = boxes[:, None, :2], boxes[:, None, 2:]
    meet = ((low < high.transpose(1, 0, 2)) & (low.transpose(1, 0, 2) < high)).all(axis=2)
    for one, other in np.argwhere(np.triu(meet, 1)):
        yield f"overlap: {level[one].get_text()!r} and {level[other].get_text()!r}"


def _outside(axes: Axes) -> Iterator[str]:
    for line in axes.lines:
        if line.get_transform() != axes.transData or line.get_marker() in ("None", "", None):
            continue
        for values, axis in ((line.get_xdata(), axes.xaxis), (line.get_ydata(), axes.yaxis)):
            places = axis.get_transform().transform(np.asarray(values, dtype=float))
            low, high = np.sort(axis.get_transform().transform(np.array(axis.get_view_interval())))
            room = EDGE * (high - low)
            if (places < low - room).any() or (places > high + room).any():
                yield f"points outside the axes of {axes.get_title()!r}"


def _repeated(legend: Legend) -> Iterator[str]:
    looks: dict[tuple[str, ...], str] = {}
    for handle, text in zip(legend.legend_handles, legend.get_texts(), strict=True):
        if not isinstance(handle, Line2D):
            continue
        line = handle._unscaled_dash_pattern, handle.get_linewidth()
        drawn = handle.get_linestyle() not in ("None", "none", "")
        marker = handle.get_marker(), handle.get_markerfacecolor()
        look = tuple(map(str, (handle.get_color(), line if drawn else "no line", *marker)))
        if look in looks:
            yield f"one look: {looks[look]!r} and {text.get_text()!r}"
        looks[look] = text.get_text()


def _covered(figure: Figure, legend: Legend) -> Iterator[str]:
    """Legends of the figure over its panels."""
    if legend in figure.legends:
        around = legend.get_window_extent()
        for axes in figure.axes:
            box = axes.get_tightbbox()
            if box is not None and box.overlaps(around):
                yield f"a legend over {axes.get_title()!r}"


def _markup(figure: Figure) -> Iterator[str]:
    for text in _texts(figure):
        if "\\mathdefault" in text.get_text():
            yield f"markup: {text.get_text()!r}"


def drawn_numbers(figure: Figure) -> np.ndarray:
    """All numbers of a figure, sorted: of lines, points, bars, areas, matrices and texts."""
    found: list[np.ndarray] = []
    for axes in figure.axes:
        for line in axes.lines:
            found += [np.asarray(line.get_xdata()), np.asarray(line.get_ydata())]
        for patch in axes.patches:
            found.append(patch.get_path().vertices)
            if isinstance(patch, Rectangle):
                ends = patch.get_x() + patch.get_width(), patch.get_y() + patch.get_height()
                found.append(np.array([patch.get_x(), patch.get_y(), *ends]))
        for collection in axes.collections:
            found.append(np.asarray(collection.get_offsets()))
            found += [path.vertices for path in collection.get_paths()]
            if collection.get_array() is not None:
                found.append(np.ma.filled(np.ma.asarray(collection.get_array(), float), np.nan))
    numbers = np.concatenate([np.asarray(part, float).ravel() for part in found])
    return np.sort(numbers[np.isfinite(numbers)])


def undrawn(figure: Figure, values: np.ndarray) -> np.ndarray:
    """Those of the values that no artist of a figure has."""
    numbers = drawn_numbers(figure)
    known = values[np.isfinite(values)]
    place = np.searchsorted(numbers, known).clip(1, len(numbers) - 1)
    near = np.minimum(abs(numbers[place] - known), abs(numbers[place - 1] - known))
    return known[near > 1e-6 * np.maximum(1, abs(known))]
