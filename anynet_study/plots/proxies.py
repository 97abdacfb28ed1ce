"""How well each member of the X family stands in for each target, with intervals."""

from collections.abc import Mapping

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from anynet_study.plots import wording
from anynet_study.plots.style import ONE_COLUMN, SERIES, TWO_COLUMNS, styled


@styled
def proxy_chart(table: pd.DataFrame, family: Mapping[str, int] | None = None) -> Figure:
    """Plot Spearman's rho of each target with each proxy as a dot with its interval.

    `table` is a result of `apr.best_proxies` (columns target, proxy, estimate, low, high, n, and
    probability_best). `family` maps the proxies to their class counts and orders them, the most
    classes first.
    """
    classes = dict(family or {})
    proxies = sorted(dict.fromkeys(table["proxy"]), key=lambda name: -classes.get(name, 0))
    targets = list(dict.fromkeys(table["target"]))
    step = 0.8 / max(len(proxies), 1)
    row_height = max(0.3, 0.11 * len(proxies))
    width = TWO_COLUMNS * 0.75 if len(targets) > 1 else ONE_COLUMN * 1.3
    figure = Figure(figsize=(width, 1.1 + row_height * len(targets)), layout="constrained")
    axes = figure.subplots()
    for number, proxy in enumerate(proxies):
        rows = table[table["proxy"] == proxy].set_index("target").reindex(targets)
        heights = np.arange(len(targets)) - 0.4 + (number + 0.5) * step
        colour, marker = SERIES[number % len(SERIES)]
        ends = np.abs(rows[["low", "high"]].sub(rows["estimate"], axis=0).to_numpy().T)
        count = f" ({classes[proxy]} classes)" if proxy in classes else ""
        axes.errorbar(
            rows["estimate"],
            heights,
            xerr=ends,
            linestyle="none",
            color=colour,
            marker=marker,
            markersize=4,
            elinewidth=1,
            capsize=1.5,
            label=wording.shorten(proxy, 24) + count,
        )
    for border in range(1, len(targets)):
        axes.axhline(border - 0.5, color="0.85", linewidth=0.6)
    axes.axvline(0, color="0.4", linewidth=0.6)
    _label(axes, table, targets)
    figure.legend(loc="outside lower center", ncols=min(3, max(len(proxies), 1)))
    return figure


def _label(axes: Axes, table: pd.DataFrame, targets: list[str]) -> None:
    counts = [int(table.loc[table["target"] == name, "n"].max()) for name in targets]
    names = [f"{wording.shorten(t, 24)}\nn = {n}" for t, n in zip(targets, counts, strict=True)]
    axes.set_yticks(range(len(targets)), names)
    axes.tick_params(axis="y", length=0)
    axes.set_ylim(len(targets) - 0.5, -0.5)
    axes.set_xlim(min(-0.05, float(table["low"].min()) - 0.05), 1.02)
    axes.set_xlabel("Spearman's ρ of the errors with those on the target")
