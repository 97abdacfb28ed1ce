"""What each proxy costs against how well it stands in for each target."""

from collections.abc import Mapping

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter, NullFormatter

from anynet_study.plots import wording
from anynet_study.plots.style import GREY, SERIES, first_in_row, legend_columns, panels, styled


@styled
def cost_grid(
    table: pd.DataFrame,
    unit: str = "seconds an architecture",
    family: Mapping[str, int] | None = None,
    columns: int = 3,
) -> Figure:
    """Plot a result of `apr.proxy_costs`: a panel a target, its front as a line.

    `unit` is that of the costs. `family` maps the proxies to their class counts and orders them,
    the most classes first.
    """
    classes = dict(family or {})
    proxies = sorted(dict.fromkeys(table["proxy"]), key=lambda name: -classes.get(name, 0))
    targets = list(dict.fromkeys(table["target"]))
    figure, grid = panels(len(targets), columns, height=2.0)
    for axes, target in zip(grid, targets, strict=True):
        rows = table[table["target"] == target]
        _draw(axes, rows, proxies)
        axes.set_title(f"{wording.shorten(target, 24)}, n = {int(rows['n'].max())}")
        axes.set_xlabel(f"cost ({unit})")
        if first_in_row(axes):
            axes.set_ylabel("Spearman's ρ with the target")
    looks = [SERIES[number % len(SERIES)] for number in range(len(proxies))]
    handles = [Line2D([], [], ls="none", color=c, marker=m, markersize=4.5) for c, m in looks]
    labels = [wording.shorten(proxy, 24) for proxy in proxies]
    title = "filled: none that costs as little is better"
    figure.legend(
        handles,
        labels,
        title=title,
        loc="outside lower center",
        ncols=legend_columns(figure, labels),
    )
    return figure


def _draw(axes: Axes, rows: pd.DataFrame, proxies: list[str]) -> None:
    front = rows[rows["on_front"]].sort_values("cost")
    axes.step(front["cost"], front["estimate"], where="post", color=GREY, linewidth=0.9, zorder=0)
    for number, proxy in enumerate(proxies):
        row = rows[rows["proxy"] == proxy].iloc[0]
        colour, marker = SERIES[number % len(SERIES)]
        ends = [[row["estimate"] - row["low"]], [row["high"] - row["estimate"]]]
        axes.errorbar(
            [row["cost"]],
            [row["estimate"]],
            yerr=np.abs(ends),
            color=colour,
            marker=marker,
            markersize=4.5,
            markerfacecolor=colour if row["on_front"] else "white",
            elinewidth=1,
            capsize=1.5,
            linestyle="none",
        )
    if (rows["cost"] > 0).all() and rows["cost"].max() > 5 * rows["cost"].min():
        axes.set_xscale("log")
        axes.xaxis.set_major_formatter(FuncFormatter(lambda cost, _: f"{cost:,g}"))
        axes.xaxis.set_minor_formatter(NullFormatter())
    axes.axhline(0, color="0.4", linewidth=0.6)
    axes.margins(x=0.15)
    axes.set_ylim(min(-0.05, float(rows["low"].min()) - 0.05), 1.03)
