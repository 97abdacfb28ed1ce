"""Training variability: replicates beside the whole population (paper 1, Figure A3)."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
import seaborn
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from anynet_study.plots import wording
from anynet_study.plots.scale import upper_limit
from anynet_study.plots.style import GREY, ORANGE, POPULATION, first_in_row, panels, styled

SHOWN = 8
"""At most this many replicated architectures a dataset are drawn, evenly spread over the errors."""


@styled
def noise_grid(
    replicates: pd.DataFrame,
    table: pd.DataFrame,
    metrics: Mapping[str, str] | None = None,
    columns: int = 3,
) -> Figure:
    """Plot how far replicates of one architecture lie apart, beside the whole population.

    `replicates` has columns architecture, dataset, replicate, error (percent); `table` is
    `apr.noise_ceiling` of it. The grey-blue density is of the mean error of every architecture, a
    row of orange points is one architecture's replicates.
    """
    means = replicates.groupby(["dataset", "architecture"], sort=False)["error"].agg(
        ["mean", "count"]
    )
    repeated = means[means["count"] > 1].index.get_level_values("dataset")
    names = [name for name in dict.fromkeys(replicates["dataset"]) if name in set(repeated)]
    figure, grid = panels(len(names), columns, height=1.95)
    for axes, dataset in zip(grid, names, strict=True):
        population = means.loc[dataset]
        limit = upper_limit(population["mean"])
        near = population["mean"][population["mean"] <= limit]
        _draw_population(axes, near, len(population) - len(near))
        several = population[population["count"] > 1].sort_values("mean", kind="stable")
        picked = np.unique(np.linspace(0, len(several) - 1, SHOWN).round().astype(int))
        rows = replicates[replicates["dataset"] == dataset].set_index("architecture")["error"]
        _draw_replicates(axes, [rows.loc[several.index[i]].clip(upper=limit) for i in picked])
        axes.set_title(_title(table, dataset))
        axes.set_xlabel(wording.error_label(dataset, (metrics or {}).get(dataset, "")))
        if first_in_row(axes):
            axes.set_ylabel("replicates   population")
    return figure


def _draw_population(axes: Axes, errors: pd.Series, beyond: int) -> None:
    """Draw the density of the population in the upper half; say how many lie far to the right."""
    known = errors.dropna().to_numpy()
    upper = axes.twinx()
    if len(np.unique(known)) > 2:
        look = {"color": POPULATION, "fill": True, "alpha": 0.3, "linewidth": 0.8}
        seaborn.kdeplot(x=known, ax=upper, clip=(0, 100), **look)
    peak = max(upper.get_ylim()[1], 1e-9)
    upper.plot(
        known, np.full(len(known), 0.03 * peak), "|", color=POPULATION, markersize=4, mew=0.5
    )
    upper.set_ylim(-1.05 * peak, 1.1 * peak)
    upper.set(yticks=[], ylabel="")
    upper.spines["left"].set_visible(False)
    if beyond:
        place: dict[str, Any] = {"ha": "right", "va": "top", "transform": axes.transAxes}
        axes.text(0.99, 0.97, f"{beyond} off scale", fontsize=6, color=GREY, **place)


def _draw_replicates(axes: Axes, rows: list[pd.Series]) -> None:
    """Draw each architecture's replicates on a row of the lower half, best architecture on top."""
    for height, errors in enumerate(rows):
        axes.plot([errors.min(), errors.max()], [height] * 2, color=ORANGE, linewidth=0.8)
        axes.plot(
            errors, [height] * len(errors), "o", color=ORANGE, markersize=2.8, mec="black", mew=0.3
        )
    axes.set_ylim(max(len(rows), 2) - 0.3, -max(len(rows), 2) - 0.7)
    axes.set_yticks([])
    axes.locator_params(axis="x", nbins=5)


def _title(table: pd.DataFrame, dataset: str) -> str:
    rows = table[table["dataset"] == dataset]
    if rows.empty or not np.isfinite(rows["icc"].iloc[0]):
        return "too few replicates"
    row = rows.iloc[0]
    spread = f"sd within {row['within_std']:.2g}, between {row['between_std']:.2g}"
    icc = f"ICC {wording.number(row['icc'])} {wording.interval(row['icc_low'], row['icc_high'])}"
    return f"{spread}\n{icc}, n = {int(row['architectures'])}"
