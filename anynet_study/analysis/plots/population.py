"""Draw what was sampled: a population's complexity and shape, alone or against its design space."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import NullLocator

from anynet_study.analysis.apr import cumulative, wilson_interval
from anynet_study.analysis.apr.population import PARAMETERS, stages_of
from anynet_study.analysis.plots import style

#: What the columns of costs count, and in which unit.
COSTS = {
    "flops": ("FLOPs", "multiply-adds"),
    "parameters": ("parameters", ""),
    "activations": ("activations", ""),
}
#: Values of less than this share are counted with the next lower one that has more ...
RARE = 0.01
#: ... unless there are more of these, or they are rarer in all: then each octave is a bar.
MOST_BARS = 20
MOST_RARE = 0.1
#: Inches of a digit of a tick's label, and of a panel that ticks cannot use.
DIGIT, MARGIN = 0.065, 0.35
LIGHT = "#C9CDD1"
#: Costs of a lower median than this are told in thousands.
THOUSANDS_BELOW = 1e5
Values = npt.NDArray[np.float64]


@style.styled
def population_grid(population: pd.DataFrame, axes: Sequence[Axes] | None = None) -> Figure:
    """Show the distributions of FLOPs, parameters, activations, cumulative depth and width.

    `population` has the columns of `Population.to_pandas()`; what it costs may be unknown. Where
    architectures differ in their number of stages, that has a panel too.
    """
    data = population_data(population).dropna(axis="columns", how="all")
    drawn = style.panels(len(data.columns), 1.6, axes)
    for panel, (name, values) in zip(drawn.axes, data.items(), strict=True):
        bins = int(np.clip(np.sqrt(len(values)) * 1.5, 5, 30))
        look: dict[str, Any] = {"color": style.POPULATION, "alpha": 0.75, "edgecolor": "black"}
        panel.hist(values.dropna(), bins=bins, linewidth=0.3, **look)
        panel.set(xlabel=name, ylabel="", title=f"median {values.median():.4g}")
        panel.locator_params(nbins=5, min_n_ticks=3)
    drawn.label_left("architectures")
    return drawn.figure


def population_data(population: pd.DataFrame) -> pd.DataFrame:
    """Return what `population_grid` shows: one row per architecture, one column per panel, with its
    unit.

    Costs are in millions, those of small networks in thousands.
    """
    data = pd.DataFrame(index=pd.Index(population["architecture"], name="architecture"))
    for name, (what, unit) in COSTS.items():
        if name in population.columns:
            few = population[name].median() < THOUSANDS_BELOW
            size, scale = ("thousand", 1e3) if few else ("million", 1e6)
            data[f"{what} ({f'{size} {unit}'.rstrip()})"] = population[name].to_numpy() / scale
    totals = cumulative(population)
    data["cumulative depth (blocks)"] = totals["cumulative depth"].to_numpy()
    data["cumulative width (channels)"] = totals["cumulative width"].to_numpy()
    depths = population[[f"d{stage}" for stage in stages_of(population.columns)]]
    if depths.isna().any(axis=None):
        data["stages"] = depths.notna().sum(axis=1).to_numpy()
    return data


@style.styled
def sampling_grid(
    population: pd.DataFrame,
    space: pd.DataFrame | None,
    bands: Mapping[str, Sequence[float]],
    figure: Figure | None = None,
) -> Figure:
    """Show the distributions of costs and of each stage's parameters: space against sample.

    Both tables have the columns of `Population.to_pandas()`; `space` are draws without bands, or
    None. First row: empirical distribution functions of the costs, the bands (lowest, highest by
    column) shaded. Then shares of architectures by value, one row per parameter, one column per
    stage; error bars are 95% intervals of the sample's shares, and a bar's label is its lowest
    value. An empty `figure` is drawn in where one is given.
    """
    stages = stages_of(population.columns)
    names = list(PARAMETERS) if "bottleneck" in set(population["block"]) else ["depth", "width"]
    own = figure is None
    if figure is None:
        figure = style.ShownFigure(
            figsize=(style.TWO_COLUMNS, 2.2 + 1.3 * len(names)), layout="constrained"
        )
    rows = figure.add_gridspec(2, 1, height_ratios=[1.3, len(names)])
    top, below = figure.add_subfigure(rows[0]), figure.add_subfigure(rows[1])
    for axes, (name, (what, unit)) in zip(top.subplots(1, len(COSTS)), COSTS.items(), strict=True):
        _draw_costs(axes, population[name], None if space is None else space[name], bands.get(name))
        axes.set_xlabel(f"{what} ({unit})" if unit else what)
    top.axes[0].set_ylabel("cumulative share")
    legend = {
        label: handle
        for axes in top.axes
        for handle, label in zip(*axes.get_legend_handles_labels(), strict=True)
    }
    drawn = style.Panels(figure, top.axes, own)
    place: dict[str, Any] = {"loc": "outside upper center"} if own else {}
    drawn.legend([*legend.values()], [*legend], **place)
    grid = below.subplots(len(names), len(stages), squeeze=False, sharey="row", sharex="row")
    for row, name in zip(grid, names, strict=True):
        columns = [f"{PARAMETERS[name]}{stage}" for stage in stages]
        bins = _Bins([table[columns] for table in (population, space) if table is not None])
        for axes, column in zip(row, columns, strict=True):
            bins.draw(axes, population[column], None if space is None else space[column])
            bins.label(axes, style.TWO_COLUMNS / len(stages))
            axes.set_xlabel(name.replace("bottleneck ", "bottleneck\n"))
        row[0].set_ylim(bottom=0)
        row[0].set_ylabel("share")
    for axes, stage in zip(grid[0], stages, strict=True):
        axes.set_title(f"stage {stage}")
    return figure


def _draw_costs(
    axes: Axes, sample: pd.Series, space: pd.Series | None, band: Sequence[float] | None
) -> None:
    if band is not None:
        axes.axvspan(band[0], band[1], color=LIGHT, linewidth=0, label="band")
    if space is not None:
        label = f"space (n = {len(space):,} draws)"
        axes.ecdf(space, color=style.GREY, linewidth=1.8, label=label)
    axes.ecdf(sample, color=style.BLUE, linewidth=1.0, label=f"sampled (n = {len(sample):,})")
    style.log_axis(axes)
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

    def draw(self, axes: Axes, sample: pd.Series, space: pd.Series | None) -> None:
        """Draw the shares of the space as bars and those of the sample as points."""
        places = np.arange(len(self.values))
        if space is not None:
            axes.bar(places, self.shares(space)[0], width=0.85, color=LIGHT)
        shares, n = self.shares(sample)
        look = {"color": style.BLUE, "marker": "o", "markersize": 2.2}
        low, high = wilson_interval(shares, n)
        table = pd.DataFrame({"share": shares, "low": low, "high": high})
        style.draw_intervals(axes, table, "share", places, across=False, **look)

    def label(self, axes: Axes, width: float) -> None:
        """Label as many bars as there is room for in a panel of so many inches."""
        labels = [f"{value:g}" for value in self.values]
        labels[-1] += "+" if self.highest > self.values[-1] else ""
        room = int((width - MARGIN) / (DIGIT * (max(map(len, labels)) + 1)))
        places = np.linspace(0, len(labels) - 1, min(len(labels), max(2, room))).round().astype(int)
        axes.set_xticks(places, [labels[place] for place in places])
        axes.xaxis.set_minor_locator(NullLocator())
