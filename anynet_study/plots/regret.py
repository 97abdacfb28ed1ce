"""What choosing by a proxy costs on each target, by how many architectures are tried."""

from collections.abc import Mapping

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from anynet_study.plots import wording
from anynet_study.plots.style import GREY, SERIES, first_in_row, legend_columns, panels, styled


@styled
def regret_grid(
    table: pd.DataFrame, family: Mapping[str, int] | None = None, columns: int = 3
) -> Figure:
    """Plot the regret of choosing by each proxy, and at random, a panel a target.

    `table` is a result of `apr.selection_regret`. `family` maps the proxies to their class counts
    and orders them, the most classes first. Bars are the ranges over random halves of the
    architectures. The dashed line is the expected regret of as many architectures at random.
    """
    classes = dict(family or {})
    proxies = sorted(dict.fromkeys(table["proxy"]), key=lambda name: -classes.get(name, 0))
    targets = list(dict.fromkeys(table["target"]))
    figure, grid = panels(len(targets), columns, height=2.0)
    for axes, target in zip(grid, targets, strict=True):
        rows = table[table["target"] == target]
        _draw(axes, rows, proxies)
        axes.set_title(f"{wording.shorten(target, 24)}, n = {int(rows['n'].max())}")
        axes.set_xlabel("architectures tried")
        if first_in_row(axes):
            axes.set_ylabel("error above the best's\n(percentage points)")
    handles, labels = grid[0].get_legend_handles_labels()
    named = [
        wording.shorten(name, 24) + (f" ({classes[name]} classes)" if name in classes else "")
        for name in labels
    ]
    figure.legend(handles, named, loc="outside lower center", ncols=legend_columns(figure, named))
    return figure


def _draw(axes: Axes, rows: pd.DataFrame, proxies: list[str]) -> None:
    tops = sorted(rows["top"].unique())
    places = np.arange(len(tops))
    step = 0.7 / max(len(proxies), 1)
    for number, proxy in enumerate(proxies):
        own = rows[rows["proxy"] == proxy].set_index("top").reindex(tops)
        colour, marker = SERIES[number % len(SERIES)]
        ends = np.abs(own[["regret_low", "regret_high"]].sub(own["regret"], axis=0).to_numpy().T)
        axes.errorbar(
            places - 0.35 + (number + 0.5) * step,
            own["regret"],
            yerr=ends,
            linestyle="none",
            color=colour,
            marker=marker,
            markersize=3.6,
            elinewidth=1,
            capsize=1.5,
            label=proxy,
        )
    chance = (rows["random"] - rows["oracle"]).groupby(rows["top"]).first().reindex(tops)
    for place, height in zip(places, chance, strict=True):
        label = "chosen at random" if place == 0 else "_"
        axes.plot([place - 0.42, place + 0.42], [height] * 2, color=GREY, ls="--", label=label)
    axes.set_xticks(places, [f"best {top}" if top > 1 else "the best" for top in tops])
    axes.set_ylim(bottom=-0.03 * axes.get_ylim()[1])
    axes.locator_params(axis="y", nbins=5)
