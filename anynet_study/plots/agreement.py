"""Two trainings of the same architectures against each other (paper 1, Figures A1, A4 to A6)."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from anynet_study.apr import mark_extremes
from anynet_study.plots import wording
from anynet_study.plots.points import MANY_POINTS, draw_points, legend_of_marks, point_size
from anynet_study.plots.style import BLUE, GREEN, GREY, first_in_row, panels, styled


def agreement_data(
    before: pd.DataFrame, after: pd.DataFrame, datasets: Sequence[str], count: int = 10
) -> pd.DataFrame:
    """DataFrame[dataset, architecture, before, after, mark]: errors (%) of those that have both.

    `mark` is "top" or "worst" for the `count` best and worst after (a quarter at most).
    """
    parts = []
    for dataset in datasets:
        both = pd.DataFrame({"before": before[dataset], "after": after[dataset]}).dropna()
        both = both.rename_axis("architecture").reset_index()
        marks = mark_extremes(both.set_index("architecture")[["after"]], "after", count)
        parts.append(both.assign(dataset=dataset, mark=marks.to_numpy()))
    names = ["dataset", "architecture", "before", "after", "mark"]
    return pd.concat(parts, ignore_index=True)[names] if parts else pd.DataFrame(columns=names)


@styled
def agreement_grid(
    before: pd.DataFrame,
    after: pd.DataFrame,
    table: pd.DataFrame,
    labels: tuple[str, str] = ("before", "after"),
    columns: int = 3,
) -> Figure:
    """Plot the errors after against those before, a panel a dataset of `table`.

    `table` is a result of `apr.agreement`, whose correlation and mean change are in the titles.
    `labels` say what was done, such as "top-5" and "top-1". The dashed line is no change.
    """
    datasets = list(table["dataset"])
    data = agreement_data(before, after, datasets)
    figure, grid = panels(len(datasets), columns, height=2.15)
    found = table.set_index("dataset")
    for axes, dataset in zip(grid, datasets, strict=True):
        points = data[data["dataset"] == dataset].rename(columns={"before": "right", "after": "up"})
        draw_points(axes, points, many=len(data) > MANY_POINTS)
        _draw_no_change(axes)
        row = found.loc[dataset]
        change = f"change {wording.number(row['change'], 1)} "
        change += wording.interval(row["change_low"], row["change_high"], 1)
        rho = wording.correlation(row["estimate"], row["low"], row["high"], int(row["n"]))
        axes.set_title(f"{wording.shorten(dataset, 26)}\n{rho}\n{change}")
        axes.set_xlabel(f"error, {labels[0]} (%)")
        if first_in_row(axes):
            axes.set_ylabel(f"error, {labels[1]} (%)")
    legend_of_marks(figure, data["mark"], len(datasets))
    return figure


def _draw_no_change(axes: Axes) -> None:
    """Draw the line on which errors are as before, without making room for it."""
    limits = axes.get_xlim(), axes.get_ylim()
    ends = [min(end[0] for end in limits), max(end[1] for end in limits)]
    axes.plot(ends, ends, color=GREY, linewidth=0.8, linestyle="--", zorder=0)
    axes.set(xlim=limits[0], ylim=limits[1])


@styled
def change_grid(
    before: pd.DataFrame,
    after: pd.DataFrame,
    table: pd.DataFrame,
    source: str,
    labels: tuple[str, str] = ("before", "after"),
    columns: int = 3,
) -> Figure:
    """Plot the errors before and after against those on the source, a panel a dataset (Figure A6).

    `table` is a result of `apr.agreement` with this `source`.
    """
    datasets = list(table["dataset"])
    figure, grid = panels(len(datasets), columns, height=2.15)
    found = table.set_index("dataset")
    for axes, dataset in zip(grid, datasets, strict=True):
        row = found.loc[dataset]
        lines = []
        looks = zip(labels, (before, after), (BLUE, GREEN), ("o", "s"), strict=True)
        for (label, errors, colour, marker), name in zip(looks, ("before", "after"), strict=True):
            x, y = before[source].align(errors[dataset], join="inner")
            known = np.isfinite(x) & np.isfinite(y)
            look: dict[str, Any] = {
                "color": colour,
                "marker": marker,
                "alpha": 0.45,
                "markeredgewidth": 0,
            }
            size = point_size(int(known.sum()))
            many = len(x) * len(datasets) > MANY_POINTS
            axes.plot(x[known], y[known], ls="none", ms=size, label=label, rasterized=many, **look)
            ends = [row[f"source_{name}{end}"] for end in ("", "_low", "_high")]
            lines.append(f"{label}: ρ = {wording.number(ends[0])} {wording.interval(*ends[1:])}")
        axes.set_title("\n".join([f"{wording.shorten(dataset, 20)}, n = {int(row['n'])}", *lines]))
        axes.set_xlabel(wording.error_label(source))
        if first_in_row(axes):
            axes.set_ylabel("error on the panel's dataset (%)")
        axes.locator_params(nbins=5, min_n_ticks=3)
    handles, names = grid[0].get_legend_handles_labels()
    figure.legend(handles, names, loc="outside lower center", ncols=2)
    return figure
