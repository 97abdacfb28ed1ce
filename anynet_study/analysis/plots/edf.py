"""Error distribution functions of design spaces (Radosavovic et al. 2019, section 3)."""

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from anynet_study.analysis.plots import style, wording
from anynet_study.analysis.plots.estimates import upper_limit

DASHES = ("-", (0, (4, 1.2)), (0, (1.2, 1.2)), (0, (5, 1.2, 1.2, 1.2)))
"""Line styles: neighbouring curves differ in more than colour."""


@style.styled
def edf_plot(
    curves: Mapping[str, pd.DataFrame],
    dataset: str = "",
    metric: str = "",
    level: float | None = None,
    ax: Axes | None = None,
) -> Figure:
    """Plot error distribution functions with their bands, one curve per design space.

    `curves` maps the name of a space to its `apr.edf`, made at `level` (default: what the tables
    say); `dataset` and `metric` ("top1", "top5") label the axis.
    """
    drawn = style.one_panel(style.ONE_COLUMN, 2.65, ax)
    _draw(drawn.first, curves, [*curves])
    drawn.first.set_xlabel(_error_label(dataset, metric))
    drawn.first.set_ylabel("fraction of models")
    _legend(drawn, {name: _count(curve) for name, curve in curves.items()}, curves.values(), level)
    return drawn.figure


@style.styled
def edf_grid(
    curves: Mapping[str, Mapping[str, pd.DataFrame]],
    metrics: Mapping[str, str] | None = None,
    level: float | None = None,
    axes: Sequence[Axes] | None = None,
) -> Figure:
    """Plot one panel of error distribution functions per dataset.

    `curves` maps a dataset to its curves as `edf_plot` takes them; a space looks the same in
    every panel.
    """
    names = list(dict.fromkeys(name for spaces in curves.values() for name in spaces))
    drawn = style.panels(len(curves), 1.85, axes)
    for panel, (dataset, spaces) in zip(drawn.axes, curves.items(), strict=True):
        _draw(panel, spaces, names)
        panel.set_xlabel(_error_label(dataset, (metrics or {}).get(dataset, "")))
        counts = sorted({int(curve["n"].iloc[0]) for curve in spaces.values()})
        panel.set_title(f"n = {counts[0]}" + (f" to {counts[-1]}" if len(counts) > 1 else ""))
    drawn.label_left("fraction of models")
    tables = [curve for spaces in curves.values() for curve in spaces.values()]
    _legend(drawn, dict.fromkeys(names, ""), tables, level)
    return drawn.figure


@style.styled
def random_search_plot(
    searches: Mapping[str, pd.DataFrame],
    dataset: str = "",
    metric: str = "",
    level: float | None = None,
    ax: Axes | None = None,
) -> Figure:
    """Plot the expected error of the best of m random models, one curve per design space.

    `searches` maps the name of a space to its `apr.random_search`, made at `level` (default: what
    the tables say). Where there is no interval, that is for m above a quarter of the models, the
    curve is thin.
    """
    drawn = style.one_panel(style.ONE_COLUMN, 2.65, ax)
    axes = drawn.first
    for number, table in enumerate(searches.values()):
        look = _look(number)
        known = table.dropna()
        axes.plot(table["size"], table["error"], **{**look, "linewidth": 0.6})
        axes.plot(known["size"], known["error"], marker="o", markersize=2.5, **look)
        axes.vlines(known["size"], known["low"], known["high"], color=look["color"], linewidth=0.6)
        axes.fill_between(known["size"], known["low"], known["high"], **_band(look))
    axes.set_xscale("log")
    ticks = [digit * 10**power for power in range(9) for digit in (1, 2, 5)]
    last = max(table["size"].max() for table in searches.values())
    axes.set_xticks([tick for tick in ticks if tick <= last], minor=False)
    axes.set_xticks([], minor=True)
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
    axes.set(xlabel="random models trained", title=wording.shorten(dataset, 40))
    axes.set_ylabel(f"best {wording.metric_name(metric)}error (%)")
    counts = {name: _count(table) for name, table in searches.items()}
    _legend(drawn, counts, searches.values(), level)
    return drawn.figure


def _draw(axes: Axes, curves: Mapping[str, pd.DataFrame], names: Sequence[str]) -> None:
    """Draw the steps of each curve, up to where a few diverged runs would stretch the axis."""
    errors = pd.concat([_models(curve) for curve in curves.values()])
    limit = min(upper_limit(errors), float(errors.max()))
    for name, curve in curves.items():
        look = _look(names.index(name))
        start, stop = curve.iloc[[0]].assign(fraction=0, low=0, high=0), curve.iloc[[-1]]
        last = max(limit, float(stop["error"].iloc[0]))
        steps = pd.concat([start, curve, stop.assign(error=last)])
        axes.step(steps["error"], steps["fraction"], where="post", **look)
        axes.fill_between(steps["error"], steps["low"], steps["high"], step="post", **_band(look))
    first = float(errors.min())
    margin = 0.03 * max(limit - first, 1e-9)
    axes.set_xlim(first - margin, limit + margin)
    axes.set_ylim(0, 1.02)
    axes.locator_params(axis="x", nbins=6, min_n_ticks=3)
    if beyond := int((errors > limit).sum()):
        style.note_in_corner(axes, f"{beyond} off scale", lower=True)


def _models(curve: pd.DataFrame) -> pd.Series:
    """The errors of the models of a curve, as if all weighed the same."""
    share = curve["fraction"].diff().fillna(curve["fraction"])
    times = (share * curve["n"]).round().clip(lower=1).astype(int)
    return curve["error"].repeat(times)


def _look(index: int) -> dict[str, Any]:
    return {
        "color": style.SERIES[index % len(style.SERIES)][0],
        "linestyle": DASHES[index % len(DASHES)],
    }


def _band(look: Mapping[str, Any]) -> dict[str, Any]:
    return {"color": look["color"], "alpha": 0.18, "linewidth": 0}


def _error_label(dataset: str, metric: str) -> str:
    return wording.error_label(dataset, metric) if dataset else "error (%)"


def _count(table: pd.DataFrame) -> str:
    """Return how many models a curve rests on, and how many had no error."""
    missing = int(table["missing"].iloc[0])
    return f", n = {int(table['n'].iloc[0])}" + (f" ({missing} missing)" if missing else "")


def _legend(
    drawn: style.Panels, counts: Mapping[str, str], tables: Any, level: float | None
) -> None:
    """Name the curves, with their counts, and say what the bands are."""
    handles = [Line2D([], [], linewidth=1.4, **_look(number)) for number in range(len(counts))]
    shown = zip(wording.shortened(counts, 28), counts.values(), strict=True)
    labels = [name + count for name, count in shown]
    columns = 2 if max(map(len, labels)) < 24 else 1
    if drawn.own:
        height = drawn.figure.get_figheight() + 0.15 * -(-len(labels) // columns)
        drawn.figure.set_figheight(height)
    share = wording.level(next(iter(tables))) if level is None else wording.percent(level)
    title = f"bands: {share} bootstrap intervals"
    drawn.legend(handles, labels, columns, title=title, title_fontsize=6, handlelength=2.6)
