"""What a design space gives, what was sampled of it, and so what the bands did."""

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt
import pandas as pd
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import EngFormatter, LogLocator, NullFormatter, NullLocator

from anynet_study.apr import wilson_interval
from anynet_study.apr.population import stages_of
from anynet_study.plots.style import BLUE, GREY, TWO_COLUMNS, styled

COSTS = {
    "flops": "FLOPs (multiply-adds)",
    "parameters": "parameters",
    "activations": "activations",
}
LETTERS = {"d": "depth", "w": "width", "b": "bottleneck\nratio", "g": "group width"}
#: Values of less than this share are counted with the next lower one that has more ...
RARE = 0.01
#: ... unless there are more of these, or they are rarer in all: then each octave is a bar.
MOST_BARS = 20
MOST_RARE = 0.1
#: Inches of a digit of a tick's label, and of a panel that ticks cannot use.
DIGIT, MARGIN = 0.065, 0.35
LIGHT = "#C9CDD1"
Values = npt.NDArray[np.float64]


@styled
def sampling_grid(
    population: pd.DataFrame,
    space: pd.DataFrame | None,
    bands: Mapping[str, Sequence[float]],
) -> Figure:
    """Show the distributions of costs and of each stage's parameters: space against sample.

    Both tables have the columns of `Population.to_pandas()`; `space` are draws without bands, or
    None. First row: empirical distribution functions of the costs, the bands (lowest, highest by
    column) shaded. Then shares of architectures by value, one row a parameter, one column a stage;
    error bars are 95% intervals of the sample's shares, and a bar's label is its lowest value.
    """
    stages = stages_of(population.columns)
    letters = LETTERS if "bottleneck" in set(population["block"]) else {"d": "depth", "w": "width"}
    figure = Figure(figsize=(TWO_COLUMNS, 2.2 + 1.3 * len(letters)), layout="constrained")
    rows = figure.add_gridspec(2, 1, height_ratios=[1.3, len(letters)])
    top, below = figure.add_subfigure(rows[0]), figure.add_subfigure(rows[1])
    for axes, (name, title) in zip(top.subplots(1, len(COSTS)), COSTS.items(), strict=True):
        _cumulative(axes, population[name], None if space is None else space[name], bands.get(name))
        axes.set_xlabel(title)
    top.axes[0].set_ylabel("cumulative share")
    legend: dict[str, Artist] = {}
    for axes in top.axes:
        handles, labels = axes.get_legend_handles_labels()
        legend.update(zip(labels, handles, strict=True))
    figure.legend(legend.values(), legend, loc="outside upper center", ncols=len(legend))
    grid = below.subplots(len(letters), len(stages), squeeze=False, sharey="row", sharex="row")
    for row, (letter, name) in zip(grid, letters.items(), strict=True):
        columns = [f"{letter}{stage}" for stage in stages]
        bins = _Bins([t[columns] for t in (population, space) if t is not None])
        for axes, column, stage in zip(row, columns, stages, strict=True):
            if space is not None:
                bins.bars(axes, space[column])
            bins.points(axes, population[column])
            bins.ticks(axes, TWO_COLUMNS / len(stages))
            axes.set_xlabel(name)
            if letter == "d":
                axes.set_title(f"stage {stage}")
        row[0].set_ylim(bottom=0)
        row[0].set_ylabel("share")
    return figure


def _cumulative(
    axes: Axes, sample: pd.Series, space: pd.Series | None, band: Sequence[float] | None
) -> None:
    if band is not None:
        axes.axvspan(band[0], band[1], color=LIGHT, linewidth=0, label="band")
    if space is not None:
        label = f"space (n = {len(space):,} draws)"
        axes.ecdf(space, color=GREY, linewidth=1.8, label=label)
    axes.ecdf(sample, color=BLUE, linewidth=1.0, label=f"sampled (n = {len(sample):,})")
    axes.set_xscale("log")
    low, high = axes.get_xlim()
    axes.xaxis.set_major_locator(
        LogLocator(subs=[1, 2, 5] if high < 100 * low else [1], numticks=6)
    )
    axes.xaxis.set_major_formatter(EngFormatter(sep=""))
    axes.xaxis.set_minor_formatter(NullFormatter())
    axes.set_ylim(0, 1.02)


class _Bins:
    """Values that a parameter has, or octaves of them, side by side at places 0, 1, ..."""

    def __init__(self, tables: Sequence[pd.DataFrame]) -> None:
        shares = [pd.Series(t.to_numpy().ravel()).value_counts(normalize=True) for t in tables]
        highest = pd.concat(shares).groupby(level=0).max()
        common = highest.index.to_numpy(dtype=np.float64)[highest >= RARE]
        rare = max(float(share[~share.index.isin(common)].sum()) for share in shares)
        self.values, self.highest = common, highest.index.max()
        if len(common) > MOST_BARS or rare > MOST_RARE:
            first, last = np.floor(np.log2([highest.index.min(), highest.index.max()]))
            self.values = 2.0 ** np.arange(first, last + 1)

    def shares(self, column: pd.Series) -> tuple[Values, int]:
        """The share of each bin, and how many architectures have the stage."""
        known = column.dropna().to_numpy(dtype=np.float64)
        places = np.maximum(0, np.searchsorted(self.values, known, side="right") - 1)
        counts = np.bincount(places, minlength=len(self.values))
        return counts / max(1, len(known)), len(known)

    def bars(self, axes: Axes, column: pd.Series) -> None:
        shares, _ = self.shares(column)
        axes.bar(np.arange(len(shares)), shares, width=0.85, color=LIGHT)

    def points(self, axes: Axes, column: pd.Series) -> None:
        shares, n = self.shares(column)
        low, high = wilson_interval(shares, n)
        axes.errorbar(
            np.arange(len(shares)),
            shares,
            yerr=[shares - low, high - shares],
            color=BLUE,
            marker="o",
            markersize=2.2,
            linestyle="",
            elinewidth=0.8,
        )

    def ticks(self, axes: Axes, width: float) -> None:
        """Label as many bars as there is room for in a panel of so many inches."""
        labels = [f"{value:g}" for value in self.values]
        labels[-1] += "+" if self.highest > self.values[-1] else ""
        room = int((width - MARGIN) / (DIGIT * (max(map(len, labels)) + 1)))
        places = np.linspace(0, len(labels) - 1, min(len(labels), max(2, room))).round().astype(int)
        axes.set_xticks(places, [labels[place] for place in places])
        axes.xaxis.set_minor_locator(NullLocator())
