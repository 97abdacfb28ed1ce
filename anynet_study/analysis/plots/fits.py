"""Accuracies on one test set against another, with fitted lines and their regions.

Recht et al. 2019 (paper 2, Figures 1 and 2), Fang et al. 2023 (paper 3, Figure 1), Salaudeen and
Hardt 2024 (paper 4, Figure 8), Feuer et al. 2023 (paper 5).
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from anynet_study.analysis.apr import LinearFit, binomial_interval, linear_fit, spline_fit
from anynet_study.analysis.apr.fits import Scale
from anynet_study.analysis.apr.transfer import normalised
from anynet_study.analysis.plots import style, wording
from anynet_study.analysis.plots.points import LOOKS, MARGIN, point_size
from anynet_study.core.errors import DoesNotApplyError

#: Beyond so many points their error bars hide them.
MANY_BARS = 80
LINE: dict[str, Any] = {"linewidth": 1.2, "zorder": 3}
BASELINE_LOOKS: dict[str, dict[str, Any]] = {
    "baseline architecture": {"color": style.BLUE, "marker": "o", "markeredgewidth": 0},
    "other": {"color": style.ORANGE, "marker": "^", "markeredgewidth": 0},
}
EQUAL: dict[str, Any] = {"color": style.GREY, "linestyle": ":", "linewidth": 0.8}


def fit_data(
    accuracies: pd.DataFrame,
    x: str,
    ys: Sequence[str],
    images: Mapping[str, int] | None = None,
    level: float = 0.95,
) -> pd.DataFrame:
    """Points of `fit_grid`: DataFrame[x, y, architecture, x_accuracy, y_accuracy], in percent.

    With `images`, test set -> number of images, also x_low, x_high, y_low, y_high (Clopper-Pearson)
    of the test sets that it has.
    """
    frames = []
    for y in ys:
        both = accuracies[[x, y]].dropna()
        frame = pd.DataFrame({"x": x, "y": y, "architecture": both.index})
        for axis, name in (("x", x), ("y", y)):
            frame[f"{axis}_accuracy"] = both[name].to_numpy(dtype=float)
            if images is not None and name in images:
                low, high = binomial_interval(100 - both[name], images[name], level)
                frame[f"{axis}_low"], frame[f"{axis}_high"] = 100 - high, 100 - low
        frames.append(frame)
    return pd.concat(frames, ignore_index=True)


@style.styled
def fit_grid(
    accuracies: pd.DataFrame,
    x: str,
    ys: Sequence[str],
    fits: Mapping[str, LinearFit] | None = None,
    images: Mapping[str, int] | None = None,
    axes: Sequence[Axes] | None = None,
) -> Figure:
    """Plot accuracies on each of `ys` against those on x, with a fitted line and its region.

    `accuracies` in percent. `fits` maps each of `ys` to its `apr.linear_fit` (made here where
    absent); a line fitted in logits or probits is drawn back in percent. With `images` (see
    `fit_data`) points have Clopper-Pearson error bars. The dotted diagonal is equal accuracy.
    """
    fits = {y: linear_fit(accuracies[x], accuracies[y]) for y in ys} if fits is None else fits
    level = next(iter(fits.values())).level
    data = fit_data(accuracies, x, ys, images, level)
    drawn = style.panels(len(ys), 2.1, axes)
    equal = []
    for panel, y in zip(drawn.axes, ys, strict=True):
        points = data[data["y"] == y]
        _draw_bars(panel, points)
        _draw_points(panel, points["x_accuracy"], points["y_accuracy"])
        _draw_line(panel, fits[y].region(), style.ORANGE)
        equal.append(_draw_equal(panel))
        panel.set_title(_title(fits[y]))
        panel.set_xlabel(_score_label(x))
        panel.set_ylabel(_score_label(y))
    handles: list[Any] = [
        Line2D([], [], linestyle="none", markersize=4, **{**LOOKS[""], "alpha": 1}),
        (
            Line2D([], [], color=style.ORANGE, **LINE),
            Patch(color=style.ORANGE, alpha=0.25, linewidth=0),
        ),
        Line2D([], [], **EQUAL),
    ]
    barred = "x_low" in data and len(points) <= MANY_BARS
    share = wording.percent(level)
    interval = f", {share} Clopper-Pearson interval" if barred else ""
    labels = [f"architecture{interval}", f"fit, {share} region", "equal"]
    shown = len(handles) if any(equal) else 2
    drawn.legend(handles[:shown], labels[:shown])
    return drawn.figure


@style.styled
def transfer_grid(
    scores: pd.DataFrame,
    source: str,
    targets: Sequence[str] | None = None,
    above: float | None = None,
    ranges: Mapping[str, tuple[float, float]] | None = None,
    spline: bool = False,
    scale: Scale = "linear",
    images: Mapping[str, int] | None = None,
    axes: Sequence[Axes] | None = None,
) -> Figure:
    """Plot each target's scores against the source's, with lines of all and of better models.

    The arguments are those of `apr.transfer_fits`; all scores are drawn from 0 (worst) to 100
    (best). `above` adds the line through the models above that score on the source, `spline` the
    smoothing spline of all. Accuracies have Clopper-Pearson error bars (95%) where `images`, which
    maps datasets to numbers of test images, has their number. A panel whose points allow no line
    says so.
    """
    table = normalised(scores, source, targets, ranges)
    names = list(table.columns.drop(source))
    groups = {"all": (style.GREEN, table[source].notna())}
    if above is not None:
        groups[f"above {above:g}"] = (style.ORANGE, scores[source] > above)
    drawn = style.panels(len(names), 2.1, axes)
    for panel, target in zip(drawn.axes, names, strict=True):
        both = table[[source, target]].dropna()
        _draw_bars(panel, fit_data(table, source, [target], images or {}))
        _draw_points(panel, both[source], both[target])
        titles = []
        for name, (colour, chosen) in groups.items():
            part = both[chosen.reindex(both.index)]
            try:
                fit = linear_fit(part[source], part[target], scale)
            except DoesNotApplyError as error:
                titles.append(f"{name}: no line, {str(error).removeprefix('fit: ')[:38]}")
                continue
            _draw_line(panel, fit.region(), colour)
            slope = wording.estimate(fit.slope, fit.slope_low, fit.slope_high)
            titles.append(f"{name}: slope {slope}, n = {fit.n}")
        if spline:
            _draw_spline(panel, both, source, target)
        panel.set_title("\n".join(titles), fontsize=6.5)
        panel.set_xlabel(_score_label(source, ranges))
        panel.set_ylabel(_score_label(target, ranges))
    lines = {
        f"{'all models' if name == 'all' else f'models {name}'}, 95% region": colour
        for name, (colour, _) in groups.items()
    }
    lines |= {"smoothing spline": style.PURPLE} if spline else {}
    handles = [Line2D([], [], color=colour, linewidth=1.4) for colour in lines.values()]
    if images and len(table) <= MANY_BARS:
        handles.append(Line2D([], [], color=LOOKS[""]["color"], linewidth=0.6))
        lines["95% Clopper-Pearson interval"] = ""
    drawn.legend(handles, [*lines])
    return drawn.figure


def _score_label(dataset: str, ranges: Mapping[str, tuple[float, float]] | None = None) -> str:
    """Label an axis of accuracies, or of scores with a range of their own."""
    name = wording.shorten(dataset, 22)
    return f"score on {name} (0 to 100)" if dataset in (ranges or {}) else f"accuracy on {name} (%)"


@style.styled
def covariate_grid(
    scores: pd.DataFrame,
    covariate: pd.Series,
    groups: Mapping[str, pd.Series],
    ranges: Mapping[str, tuple[float, float]] | None = None,
    axes: Sequence[Axes] | None = None,
) -> Figure:
    """Plot scores against a covariate on a logarithmic axis, with a line of each group.

    The arguments are those of `apr.covariate_fits`; `covariate` has a name. Scores are drawn from 0
    (worst) to 100 (best). Titles have the slopes, in points for a tenfold covariate; a group that
    allows no line has none, and the title says so.
    """
    first, *others = scores.columns
    table = normalised(scores, first, others, ranges) if others else scores
    colours = dict(zip(groups, (style.GREEN, style.ORANGE, style.PURPLE), strict=False))
    drawn = style.panels(len(table.columns), 2.1, axes)
    for panel, target in zip(drawn.axes, table.columns, strict=True):
        both = pd.DataFrame({"x": covariate.reindex(table.index), "y": table[target]}).dropna()
        _draw_points(panel, both["x"], both["y"])
        titles = []
        for name, chosen in groups.items():
            part = both[chosen.reindex(both.index, fill_value=False)]
            try:
                fit = linear_fit(np.log10(part["x"].astype(float)), part["y"], "linear")
            except DoesNotApplyError:
                titles.append(f"{name}: no line")
                continue
            region = fit.region()
            _draw_line(panel, region.assign(x=10 ** region["x"]), colours[name])
            slope = wording.estimate(fit.slope, fit.slope_low, fit.slope_high)
            titles.append(f"{name}: {slope}, n = {fit.n}")
        style.log_axis(panel)
        panel.set_title("\n".join(titles), fontsize=6.5)
        panel.set_xlabel(wording.shorten(covariate.name, 26))
        panel.set_ylabel(_score_label(target, ranges))
    lines = [Line2D([], [], color=colours[name], linewidth=1.4) for name in groups]
    labels = [f"{name} models" if name == "all" else f"models {name}" for name in groups]
    drawn.legend(lines, labels, title=f"slopes: points for tenfold {covariate.name}")
    return drawn.figure


@style.styled
def gap_line_chart(
    table: pd.DataFrame, fit: LinearFit, column: str, ax: Axes | None = None
) -> Figure:
    """Plot what is lost on a new test set against what a column says of the models, with a line.

    `table` is a result of `apr.gaps` with that column of numbers, such as the year; `fit` the line
    of the gap on it.
    """
    drawn = style.one_panel(style.ONE_COLUMN * 1.1, 2.6, ax)
    axes = drawn.first
    look = {"color": style.BLUE, "marker": "o", "markersize": 3}
    style.draw_intervals(axes, table, "gap", table[column], across=False, **look)
    _draw_line(axes, fit.region(), style.ORANGE)
    axes.axhline(0, color="0.4", linewidth=0.6)
    slope = wording.estimate(fit.slope, fit.slope_low, fit.slope_high)
    axes.set_title(f"points for one {column} more: {slope}\nn = {fit.n}", fontsize=6.5)
    axes.set(xlabel=wording.shorten(column, 26), ylabel="loss of accuracy (points)")
    return drawn.figure


@style.styled
def effective_robustness_grid(
    table: pd.DataFrame,
    base: str = "base",
    axes: Sequence[Axes] | None = None,
) -> Figure:
    """Plot accuracy on each shift against the base accuracy, with the baseline models' trend.

    `table` is a result of `apr.effective_robustness`, to which the rows of its averages may be
    added as those of the shift "average"; `base` names that test set in the labels. How far a point
    lies above the line is its effective robustness. Where the table has a column `group` (texts),
    each has a colour and a line of its own, in logits, if its architectures allow one.
    Architectures that were left out (without an expected accuracy) are not drawn; the title says
    how many there are.
    """
    # A note alone does not leave one out: it may say that nothing is sure of it.
    known = table.dropna(subset=["accuracy", "expected"])
    if known.empty:
        raise DoesNotApplyError(f"no architecture has a place on the line: {table['note'].iloc[0]}")
    shifts = list(dict.fromkeys(table["shift"]))
    if grouped := "group" in known:
        looks = style.series_looks(dict.fromkeys(known["group"]), "groups")
    else:
        looks = dict(BASELINE_LOOKS)
        if known["baseline"].all():
            del looks["other"]
        known = known.assign(group=np.where(known["baseline"], *BASELINE_LOOKS))
    drawn = style.panels(len(shifts), 2.0, axes)
    equal = []
    for panel, shift in zip(drawn.axes, shifts, strict=True):
        rows = known[known["shift"] == shift].sort_values("base")
        for group, look in reversed(looks.items()):
            chosen = rows[rows["group"] == group]
            size: dict[str, Any] = {"markersize": point_size(len(rows)), "linestyle": "none"}
            panel.plot(chosen["base"], chosen["accuracy"], alpha=0.6, **(size | look))
            if grouped:
                _draw_group(panel, chosen, look["color"])
        panel.plot(rows["base"], rows["expected"], color=style.BLACK, linewidth=1)
        equal.append(_draw_equal(panel))
        left_out = int((table["shift"] == shift).sum()) - len(rows)
        panel.set_title(f"n = {len(rows)}" + (f" ({left_out} left out)" if left_out else ""))
        panel.set_xlabel(f"accuracy on {wording.shorten(base, 18)} (%)")
        what = "average on shifts" if shift == "average" else f"on {wording.shorten(shift, 18)}"
        panel.set_ylabel(f"accuracy {what} (%)")
    line = "-" if grouped else "none"
    shown = [{"linestyle": line, "markersize": 4, **look} for look in looks.values()]
    handles = [Line2D([], [], **look) for look in shown]
    labels = [*wording.shortened(looks, 26), "trend of the baseline"]
    handles.append(Line2D([], [], color=style.BLACK, linewidth=1))
    if any(equal):
        handles, labels = [*handles, Line2D([], [], **EQUAL)], [*labels, "equal"]
    drawn.legend(handles, labels, most=4)
    return drawn.figure


def _draw_group(axes: Axes, rows: pd.DataFrame, colour: str) -> None:
    """Draw the line through the architectures of a group, where they allow one."""
    inside = rows[rows["accuracy"].between(0, 100, inclusive="neither")]
    try:
        region = linear_fit(inside["base"], inside["accuracy"], "logit").region()
    except DoesNotApplyError:
        return
    axes.plot(region["x"], region["y"], color=colour, linewidth=1.1)


def _draw_points(axes: Axes, x: pd.Series, y: pd.Series) -> None:
    axes.plot(x, y, linestyle="none", markersize=point_size(len(x)), **LOOKS[""])
    axes.margins(MARGIN)
    axes.locator_params(nbins=5, min_n_ticks=3)


def _draw_bars(axes: Axes, points: pd.DataFrame) -> None:
    if len(points) > MANY_BARS:
        return
    look = {"color": LOOKS[""]["color"], "linewidth": 0.4, "alpha": 0.6}
    if "x_low" in points:
        axes.hlines(points["y_accuracy"], points["x_low"], points["x_high"], **look)
    if "y_low" in points:
        axes.vlines(points["x_accuracy"], points["y_low"], points["y_high"], **look)


def _draw_line(axes: Axes, region: pd.DataFrame, colour: str) -> None:
    """Draw a line and its region, of that what lies in 0 to 100%, as all that it is of."""
    axes.plot(region["x"], region["y"], color=colour, **LINE)
    low, high = (region[end].clip(0, 100) for end in ("low", "high"))
    axes.fill_between(region["x"], low, high, color=colour, alpha=0.25, linewidth=0)


def _draw_spline(axes: Axes, both: pd.DataFrame, source: str, target: str) -> None:
    """Draw the spline where there is one: it needs more different points than a line."""
    try:
        curve = spline_fit(both[source], both[target])
    except DoesNotApplyError:
        return
    axes.plot(curve["x"], curve["y"], color=style.PURPLE, linestyle=(0, (4, 1.2)), **LINE)


def _draw_equal(axes: Axes) -> bool:
    """Draw equal accuracy as far as the panel goes, without widening it; whether it does."""
    limits = axes.get_xlim(), axes.get_ylim()
    low, high = max(end[0] for end in limits), min(end[1] for end in limits)
    if low < high:
        axes.plot([low, high], [low, high], **EQUAL)
        axes.set(xlim=limits[0], ylim=limits[1])
    return bool(low < high)


def _title(fit: LinearFit) -> str:
    where = "" if fit.scale == "linear" else f" in {fit.scale}s"
    slope = wording.estimate(fit.slope, fit.slope_low, fit.slope_high)
    left_out = f", {fit.excluded} at 0 or 100% left out" if fit.excluded else ""
    r2 = f"adjusted R² = {wording.number(fit.adjusted_r2, 3)}"
    return f"slope {slope}{where}\n{r2}, n = {fit.n}{left_out}"
