"""Error distribution functions of design spaces (Radosavovic et al. 2019, section 3)."""

from collections.abc import Mapping
from typing import Any

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from anynet_study.plots import wording
from anynet_study.plots.scale import upper_limit
from anynet_study.plots.style import GREY, SERIES, first_in_row, panels, styled

DASHES = ("-", (0, (4, 1.2)), (0, (1.2, 1.2)), (0, (5, 1.2, 1.2, 1.2)))
"""Line styles: neighbouring curves differ in more than colour."""


@styled
def edf_plot(
    curves: Mapping[str, pd.DataFrame], dataset: str = "", metric: str = "", level: float = 0.95
) -> Figure:
    """Plot error distribution functions with their bands, a curve a design space.

    `curves` maps the name of a space to its `apr.edf`, made at `level`; `dataset` and `metric`
    ("top1", "top5") label the axis.
    """
    figure, (axes,) = panels(1, columns=1)
    _draw(axes, curves)
    axes.set_xlabel(_error_label(dataset, metric))
    axes.set_ylabel("fraction of models")
    _legend(figure, [*curves], {name: _count(curve) for name, curve in curves.items()}, level)
    return figure


@styled
def edf_grid(
    curves: Mapping[str, Mapping[str, pd.DataFrame]],
    metrics: Mapping[str, str] | None = None,
    columns: int = 3,
    level: float = 0.95,
) -> Figure:
    """Plot a panel of error distribution functions a dataset.

    `curves` maps a dataset to its curves as `edf_plot` takes them; a space looks the same in
    every panel.
    """
    names = list(dict.fromkeys(name for each in curves.values() for name in each))
    figure, grid = panels(len(curves), columns, height=1.85)
    for axes, (dataset, spaces) in zip(grid, curves.items(), strict=True):
        _draw(axes, spaces, names)
        axes.set_xlabel(_error_label(dataset, (metrics or {}).get(dataset, "")))
        counts = sorted({int(each["n"].iloc[0]) for each in spaces.values()})
        axes.set_title(f"n = {counts[0]}" + (f" to {counts[-1]}" if len(counts) > 1 else ""))
        if first_in_row(axes):
            axes.set_ylabel("fraction of models")
    _legend(figure, names, {}, level)
    return figure


@styled
def random_search_plot(
    searches: Mapping[str, pd.DataFrame], dataset: str = "", metric: str = "", level: float = 0.95
) -> Figure:
    """Plot the expected error of the best of m random models, a curve a design space.

    `searches` maps the name of a space to its `apr.random_search`, made at `level`. Where there
    is no interval, that is for m above a quarter of the models, the curve is thin.
    """
    figure, (axes,) = panels(1, columns=1)
    for name, table in searches.items():
        look = _look([*searches].index(name))
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
    axes.set_xlabel("random models trained")
    axes.set_ylabel(f"best {wording.metric_name(metric)}error (%)")
    axes.set_title(wording.shorten(dataset, 40))
    _legend(figure, [*searches], {name: _count(each) for name, each in searches.items()}, level)
    return figure


def _draw(axes: Axes, curves: Mapping[str, pd.DataFrame], names: list[str] | None = None) -> None:
    """Draw the steps of each curve, up to where a few diverged runs would stretch the axis."""
    errors = pd.concat([_models(curve) for curve in curves.values()])
    limit = min(upper_limit(errors), float(errors.max()))
    for name, curve in curves.items():
        look = _look((names or [*curves]).index(name))
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
        place: dict[str, Any] = {"ha": "right", "va": "bottom", "transform": axes.transAxes}
        axes.text(0.98, 0.03, f"{beyond} off scale", fontsize=6, color=GREY, **place)


def _models(curve: pd.DataFrame) -> pd.Series:
    """The errors of the models of a curve, as if all weighed the same."""
    share = curve["fraction"].diff().fillna(curve["fraction"])
    times = (share * curve["n"]).round().clip(lower=1).astype(int)
    return curve["error"].repeat(times)


def _look(index: int) -> dict[str, Any]:
    return {"color": SERIES[index % len(SERIES)][0], "linestyle": DASHES[index % len(DASHES)]}


def _band(look: Mapping[str, Any]) -> dict[str, Any]:
    return {"color": look["color"], "alpha": 0.18, "linewidth": 0}


def _error_label(dataset: str, metric: str) -> str:
    return wording.error_label(dataset, metric) if dataset else "error (%)"


def _count(table: pd.DataFrame) -> str:
    """How many models a curve rests on, and how many had no error."""
    missing = int(table["missing"].iloc[0])
    return f", n = {int(table['n'].iloc[0])}" + (f" ({missing} missing)" if missing else "")


def _legend(figure: Figure, names: list[str], counts: Mapping[str, str], level: float) -> None:
    """Name the curves, and say what the bands are, below the panels."""
    handles = [Line2D([], [], linewidth=1.4, **_look(index)) for index in range(len(names))]
    labels = [wording.shorten(name, 28) + counts.get(name, "") for name in names]
    columns = 2 if max(map(len, labels)) < 24 else 1
    figure.set_figheight(figure.get_figheight() + 0.15 * -(-len(names) // columns))
    figure.legend(
        handles,
        labels,
        loc="outside lower center",
        ncols=columns,
        title=f"bands: {100 * level:g}% bootstrap intervals",
        title_fontsize=6,
        handlelength=2.6,
    )
