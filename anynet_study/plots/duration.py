"""How soon in training the ranking of the end is there (paper 1, Figure A2)."""

import pandas as pd
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from anynet_study.plots import wording
from anynet_study.plots.style import BLUE, GREY, ORANGE, first_in_row, panels, styled


@styled
def duration_grid(
    table: pd.DataFrame, budgets: pd.DataFrame | None = None, columns: int = 3
) -> Figure:
    """Plot the rank correlation of every epoch's errors with the last one's, a panel a dataset.

    `table` is a result of `apr.duration`; `budgets` one of `apr.cheapest_budget`, whose level and
    epoch are marked.
    """
    datasets = list(dict.fromkeys(table["dataset"]))
    figure, grid = panels(len(datasets), columns, height=1.9)
    for axes, dataset in zip(grid, datasets, strict=True):
        rows = table[table["dataset"] == dataset]
        axes.fill_between(rows["epoch"], rows["low"], rows["high"], color=BLUE, alpha=0.25, lw=0)
        axes.plot(rows["epoch"], rows["estimate"], color=BLUE, marker="o", markersize=2.2)
        title = f"{wording.shorten(dataset, 24)}, n = {int(rows['n'].max())}"
        found = None if budgets is None else budgets[budgets["dataset"] == dataset]
        if found is not None and len(found):
            keep, epoch = found["keep"].iloc[0], found["epoch"].iloc[0]
            axes.axhline(keep, color=GREY, linewidth=0.8, linestyle=":")
            axes.axvline(epoch, color=ORANGE, linewidth=1.1, linestyle="--")
            share = f"{100 * found['share'].iloc[0]:.0f}%"
            title += f"\nρ ≥ {keep:g} from epoch {int(epoch)} on ({share})"
        axes.set_title(title)
        axes.set_xlabel("epoch")
        if first_in_row(axes):
            axes.set_ylabel("ρ with the last epoch")
        axes.xaxis.set_major_locator(MaxNLocator(5, integer=True, min_n_ticks=2))
        axes.set_ylim(min(-0.02, float(rows["low"].min()) - 0.02), 1.03)
        axes.margins(x=0.03)
    return figure
