"""Single runs: test error by epoch, how soon the ranking is there, and the noise of training."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
import scipy
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator

from anynet_study.analysis.apr import ANOTHER_RUN, kept_is_sure
from anynet_study.analysis.plots import style, wording
from anynet_study.analysis.plots.estimates import upper_limit

QUANTILES = (0.1, 0.5, 0.9)
LINES = 30
"""At most this many single runs are drawn, evenly spread over the final errors."""
SHORT = 0.2
"""Half the length of the line of a run of one epoch."""
REPLICATED = 8
"""At most this many replicated architectures per dataset are drawn, evenly spread over the errors.
"""

REPLICATES: dict[str, Any] = {"color": style.ORANGE, "markersize": 2.8, "mec": "black", "mew": 0.3}
"""How their points look."""
DENSE = 20
"""From so many replicates on an architecture's errors are drawn as a density."""
DENSITIES = (style.ORANGE, style.GREEN, style.PURPLE, style.VERMILLION, style.SKY, style.BLACK)


def curve_data(curves: pd.DataFrame) -> pd.DataFrame:
    """Quantiles over the runs of the test error after every epoch.

    `curves` has columns dataset, architecture, epoch and error (percent). Returns columns dataset,
    epoch (from 1), low, median, high (10%, 50%, 90%) and n.
    """
    groups = curves.dropna(subset=["error"]).groupby(["dataset", "epoch"], sort=False)["error"]
    table = groups.quantile(list(QUANTILES)).unstack().astype(np.float64)
    table.columns = pd.Index(["low", "median", "high"])
    table["n"] = groups.size()
    return table.reset_index().sort_values(["dataset", "epoch"], kind="stable", ignore_index=True)


def best_and_worst(
    curves: pd.DataFrame, count: int, at: Mapping[str, int] | None = None
) -> pd.DataFrame:
    """The `count` best and worst runs of each dataset at an epoch, half of the runs at most.

    `curves` as of `curve_grid`; `at` says at which epoch, by dataset, by default at the last.
    Returns DataFrame[dataset, architecture, end, epoch], in the order of the errors; `end` is
    "best" or "worst".
    """
    parts = [pd.DataFrame({"dataset": [], "architecture": [], "end": [], "epoch": []})]
    for dataset, rows in curves.dropna(subset=["error"]).groupby("dataset", sort=False):
        epoch = (at or {}).get(str(dataset), rows["epoch"].max())
        order = rows[rows["epoch"] == epoch].sort_values("error", kind="stable")["architecture"]
        some = min(count, len(order) // 2)
        for end, names in (("best", order[:some]), ("worst", order[len(order) - some :])):
            told = {"dataset": dataset, "architecture": names, "end": end, "epoch": epoch}
            parts.append(pd.DataFrame(told))
    return pd.concat(parts[1:] or parts, ignore_index=True)


@style.styled
def curve_grid(
    curves: pd.DataFrame,
    metrics: Mapping[str, str] | None = None,
    marked: pd.DataFrame | None = None,
    axes: Sequence[Axes] | None = None,
    what: str = "test error",
) -> Figure:
    """Plot `what` after every epoch: median, 10% to 90% band, and single runs (Figure A2).

    `curves` has columns dataset, architecture, epoch (from 1) and error (percent), one row per run
    and epoch (one run per architecture and dataset). The `marked` runs (`best_and_worst`) have
    colours of their own.
    """
    names = list(dict.fromkeys(curves["dataset"]))
    summary = curve_data(curves)
    drawn, handles = style.panels(len(names), 1.85, axes), dict[str, Any]()
    for panel, dataset in zip(drawn.axes, names, strict=True):
        rows = summary[summary["dataset"] == dataset]
        mine = None if marked is None else marked[marked["dataset"] == dataset]
        handles |= _draw_curves(panel, rows, curves[curves["dataset"] == dataset], mine)
        panel.set(title=wording.counted(dataset, rows["n"]), xlabel="epoch")
        metric = wording.metric_name((metrics or {}).get(dataset, ""))
        panel.set_ylabel(f"{metric}{what} (%)")
        panel.margins(x=0.02)
        _number_epochs(panel, rows["epoch"])
    drawn.legend([*handles.values()], [*handles])
    return drawn.figure


def _number_epochs(axes: Axes, epochs: "pd.Series[float]") -> None:
    """Whole numbers at the x axis; a single epoch stands in its middle."""
    if epochs.nunique() == 1:
        axes.set(xlim=(epochs.iloc[0] - 0.5, epochs.iloc[0] + 0.5), xticks=epochs.unique())
    else:
        axes.xaxis.set_major_locator(MaxNLocator(5, integer=True, min_n_ticks=2))


def _draw_curves(
    axes: Axes, rows: pd.DataFrame, curves: pd.DataFrame, marked: pd.DataFrame | None
) -> dict[str, Any]:
    """Draw single runs, from the best to the worst final error in even steps, and quantiles.

    Returns what the legend explains.
    """
    runs = curves.pivot_table(index="architecture", columns="epoch", values="error", sort=False)
    runs = runs.sort_values(runs.columns[-1], kind="stable") if len(runs.columns) else runs
    if len(runs.columns) == 1:  # of one epoch short level lines
        ends = runs.columns[0] - SHORT, runs.columns[0] + SHORT
        runs = pd.concat([runs, runs], axis="columns").set_axis(ends, axis="columns")
        rows = pd.concat([rows, rows]).assign(epoch=np.repeat(ends, len(rows)))
    epochs = runs.columns.to_numpy(dtype=float)
    lines = [
        np.column_stack([epochs, runs.iloc[place].to_numpy()])
        for place in _spread(len(runs), LINES)
    ]
    single = LineCollection(lines, colors=style.GREY, linewidths=0.4, alpha=0.6)
    axes.add_collection(single)
    axes.autoscale_view()
    look: dict[str, Any] = {"color": style.BLUE, "alpha": 0.25, "linewidth": 0}
    band = axes.fill_between(rows["epoch"], rows["low"], rows["high"], **look)
    colour = style.ORANGE if marked is None else style.BLACK
    (median,) = axes.plot(rows["epoch"], rows["median"], color=colour, linewidth=1.4)
    drawn = {"median": median, "10% to 90% of the architectures": band, "single runs": single}
    for (end, epoch), part in [] if marked is None else marked.groupby(["end", "epoch"]):
        errors = runs.reindex(part["architecture"]).to_numpy()
        look = {"color": style.TOP if end == "best" else style.WORST, "linewidth": 0.9}
        name = f"{len(part)} {end} at epoch {epoch:g}"
        drawn[name] = axes.plot(epochs, errors.T, **look)[0]
    return drawn


def _spread(count: int, most: int) -> list[int]:
    """At most `most` of the places 0 to count - 1, evenly spread, both ends among them."""
    return sorted({round(place) for place in np.linspace(0, count - 1, most)} if count else ())


@style.styled
def duration_grid(
    table: pd.DataFrame,
    budgets: pd.DataFrame | None = None,
    axes: Sequence[Axes] | None = None,
) -> Figure:
    """Plot the rank correlation of every epoch's errors with the last one's, per dataset.

    `table` is a result of `apr.duration`; `budgets` one of `apr.cheapest_budget`, whose level and
    epoch are marked.
    """
    datasets = list(dict.fromkeys(table["dataset"]))
    drawn = style.panels(len(datasets), 1.9, axes)
    letter = wording.letter(table)
    for panel, dataset in zip(drawn.axes, datasets, strict=True):
        rows = table[table["dataset"] == dataset]
        lines = {"estimate": ("low", "high", style.BLUE)}
        if kept_is_sure(rows):
            lines["kept"] = ("kept_low", "kept_high", style.GREEN)
        for name, (low, high, colour) in lines.items():
            look: dict[str, Any] = {"color": colour, "alpha": 0.25, "linewidth": 0}
            panel.fill_between(rows["epoch"], rows[low], rows[high], **look)
            panel.plot(rows["epoch"], rows[name], color=colour, marker="o", markersize=2.2)
        title = wording.counted(dataset, rows["n"])
        found = None if budgets is None else budgets[budgets["dataset"] == dataset]
        if found is not None and len(found):
            keep, epoch = found["keep"].iloc[0], found["epoch"].iloc[0]
            panel.axhline(keep, color=style.GREY, linewidth=0.8, linestyle=":")
            panel.axvline(epoch, color=style.ORANGE, linewidth=1.1, linestyle="--")
            share = f"{100 * found['share'].iloc[0]:.0f}%"
            across = found["against"].iloc[0] == ANOTHER_RUN
            reached = f"{100 * keep:g}% kept" if across else f"{letter} ≥ {keep:g}"
            title += f"\n{reached} from epoch {int(epoch)} on ({share})"
        panel.set(title=title, xlabel="epoch")
        panel.set_ylim(min(-0.02, float(rows["low"].min()) - 0.02), 1.03)
        panel.margins(x=0.03)
        _number_epochs(panel, rows["epoch"])
    drawn.label_left(f"{letter} with the last epoch")
    return drawn.figure


@style.styled
def noise_grid(
    replicates: pd.DataFrame,
    table: pd.DataFrame,
    metrics: Mapping[str, str] | None = None,
    axes: Sequence[Axes] | None = None,
) -> Figure:
    """Plot how far replicates of one architecture lie apart, beside the population (Figure A3).

    `replicates` has columns architecture, dataset, replicate, error (percent); `table` is
    `apr.noise_ceiling` of it. The blue density is of the mean error of every architecture. A row is
    one architecture's replicates: orange points, or from `DENSE` replicates on their density, in a
    colour of its own, each as high as its row, which the legend names.
    """
    groups = replicates.groupby(["dataset", "architecture"], sort=False)["error"]
    means = groups.agg(["mean", "count"])
    repeated = set(means[means["count"] > 1].index.get_level_values("dataset"))
    names = [name for name in dict.fromkeys(replicates["dataset"]) if name in repeated]
    drawn = style.panels(len(names), 1.95, axes, least=1.7)
    dense, rowed = dict[str, Line2D](), 0
    for panel, dataset in zip(drawn.axes, names, strict=True):
        population = means.loc[dataset]
        limit = upper_limit(population["mean"])
        near = population["mean"][population["mean"] <= limit]
        _draw_population(panel, near.dropna().to_numpy())
        if beyond := len(population) - len(near):
            style.note_in_corner(panel, f"{beyond} off scale")
        several = population[population["count"] > 1].sort_values("mean", kind="stable")
        rows = replicates[replicates["dataset"] == dataset].set_index("architecture")["error"]
        picked = several.index[_spread(len(several), REPLICATED)]
        of = f", {dataset}" if len(names) > 1 else ""
        told = {f"{name}{of}": rows.loc[name].clip(upper=limit) for name in picked}
        dense, rowed = dense | _draw_replicates(panel, told), rowed + len(told)
        panel.set_title(_noise_title(table[table["dataset"] == dataset]))
        panel.set_xlabel(wording.error_label(dataset, (metrics or {}).get(dataset, "")))
    engine = drawn.figure.get_layout_engine()
    if drawn.own and isinstance(engine, ConstrainedLayoutEngine):
        engine.set(w_pad=0.12)  # a number may stand at the end of an axis
    legend = {"population": Line2D([], [], color=style.POPULATION)}
    points = Line2D([], [], linewidth=0.8, marker="o", **REPLICATES)
    if len(dense) < rowed:
        legend["replicates of one architecture"] = points
    legend |= {f"replicates of {wording.shorten(name, 30)}": line for name, line in dense.items()}
    drawn.legend([*legend.values()], [*legend])
    return drawn.figure


def _draw_population(axes: Axes, errors: np.ndarray) -> None:
    """Draw the density of the population in the upper half, and a tick per architecture."""
    upper = axes.twinx()
    if len(np.unique(errors)) > 2:
        look = {"color": style.POPULATION, "fill": True, "alpha": 0.3, "linewidth": 0.8}
        import seaborn  # here: most commands that import this room draw none

        seaborn.kdeplot(x=errors, ax=upper, clip=(0, 100), **look)
    peak = max(upper.get_ylim()[1], 1e-9)
    ticks = np.full(len(errors), 0.03 * peak)
    upper.plot(errors, ticks, "|", color=style.POPULATION, markersize=4, mew=0.5)
    upper.set_ylim(-1.05 * peak, 1.1 * peak)
    upper.set(yticks=[], ylabel="")
    upper.spines["left"].set_visible(False)


def _draw_replicates(axes: Axes, rows: Mapping[str, pd.Series]) -> dict[str, Line2D]:
    """Draw each architecture's replicates on a row of the lower half, best architecture on top.

    Returns the lines of those that are densities, by name.
    """
    dense = {}
    for height, (name, errors) in enumerate(rows.items()):
        if len(errors) >= DENSE and errors.nunique() > 2:
            colour = DENSITIES[height % len(DENSITIES)]
            dense[name] = _draw_density(axes, errors.to_numpy(), height, colour)
            continue
        axes.plot([errors.min(), errors.max()], [height] * 2, color=style.ORANGE, linewidth=0.8)
        axes.plot(errors, [height] * len(errors), "o", **REPLICATES)
    axes.set_ylim(max(len(rows), 2) - 0.3, -max(len(rows), 2) - 0.7)
    axes.set_yticks([])
    axes.locator_params(axis="x", nbins=5)
    return dense


def _draw_density(axes: Axes, errors: np.ndarray, height: int, colour: str) -> Line2D:
    """Draw the density of errors upwards from a row, with a tick per error."""
    reach = 0.25 * np.ptp(errors)
    places = np.linspace(errors.min() - reach, errors.max() + reach, 101)
    density = scipy.stats.gaussian_kde(errors)(places)
    top = height - 0.65 * density / density.max()  # of an axis that points down
    axes.fill_between(places, height, top, color=colour, alpha=0.5, linewidth=0)
    (line,) = axes.plot(places, top, color=colour, linewidth=0.8)
    axes.plot(errors, [height] * len(errors), "|", color=colour, markersize=4, mew=0.5)
    return line


def _noise_title(rows: pd.DataFrame) -> str:
    if rows.empty or not np.isfinite(rows["icc"].iloc[0]):
        return "too few replicates"
    row = rows.iloc[0]
    within, between = (f"{row[f'{part}_std']:#.2g}".rstrip(".") for part in ("within", "between"))
    spread = f"sd within{style.NO_BREAK}{within}, between{style.NO_BREAK}{between}"
    icc = wording.estimate(row["icc"], row["icc_low"], row["icc_high"])
    return f"{spread}\nICC {icc}, n = {int(row['architectures'])}"
