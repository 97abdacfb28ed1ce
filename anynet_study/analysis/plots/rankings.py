"""Rankings of architectures: across datasets, and under test-time transforms.

Salaudeen and Hardt 2024 (paper 4), Figures 1 and 10 to 12.
"""

from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from anynet_study.analysis.plots import style, wording

#: Most architectures that have their names on a figure, and how many are drawn of more.
NAMED, OF_MORE = 40, 12
RANK = "rank (1 is the smallest error)"


@style.styled
def rank_preservation_chart(ranks: pd.DataFrame, ax: Axes | None = None) -> Figure:
    """Plot the rank of every architecture on every dataset, one line per architecture.

    `ranks` is a result of `apr.tied_ranks`; datasets come in its order, and the first one's order
    names the lines. Bars are the ranks that overlapping intervals leave open. Beyond six
    architectures the six best on the first dataset have colours; of more than 40 only 12 are
    drawn, from the best to the worst on the first dataset at equal distances.
    """
    datasets = list(dict.fromkeys(ranks["dataset"]))
    first = ranks[ranks["dataset"] == datasets[0]].sort_values("rank", kind="stable")
    names = list(dict.fromkeys([*first["architecture"], *ranks["architecture"]]))
    count, chosen = f"n = {len(names)}", np.arange(len(first))
    if len(names) > NAMED:
        chosen = np.linspace(0, len(first) - 1, min(OF_MORE, len(first))).round().astype(int)
        first = first.iloc[chosen]
        count = f"{len(first)} of {len(names)}, evenly spread"
        names = [*first["architecture"]]
    width = min(style.TWO_COLUMNS, style.ONE_COLUMN + 0.9 * max(len(datasets) - 2, 0))
    width = style.own_width(width)
    labels = wording.shortened(datasets, 18)
    crowded = max(map(len, labels)) * style.CHARACTER * len(datasets) > 0.7 * width
    height = max(2.2, 1.0 + 0.16 * len(names)) + 0.8 * crowded
    drawn = style.one_panel(width, height, ax)
    axes = drawn.first
    looks = style.series_looks(names[: len(style.SERIES)])
    shifts = np.linspace(-0.15, 0.15, len(names))  # bars of tied architectures side by side
    for name, shift in reversed(list(zip(names, shifts, strict=True))):
        rows = ranks[ranks["architecture"] == name].set_index("dataset").reindex(datasets)
        places = np.arange(len(datasets)) + shift
        look: dict[str, Any] = looks.get(name, {"color": style.GREY, "marker": "o", "alpha": 0.55})
        axes.plot(places, rows["rank"], markersize=3, linewidth=0.9, **look)
        bar = {key: value for key, value in look.items() if key != "marker"}
        axes.vlines(places, rows["rank_best"], rows["rank_worst"], linewidth=0.7, **bar)
    axes.set(ylim=(int(ranks["rank_worst"].max()) + 0.6, 0.4), ylabel=RANK)
    turned: dict[str, Any] = {"rotation": 60, "ha": "right", "fontsize": 6} if crowded else {}
    axes.set_xticks(range(len(datasets)), labels, **turned)
    axes.set_xlim(-0.35, len(datasets) - 0.65)
    labelled = zip(wording.shortened(first["architecture"], 24), first["rank"], strict=True)
    ranked = [f"{name}  {rank}" for name, rank in labelled]
    axes.set_yticks(chosen + 1, ranked, fontsize=6)
    best = f"; in colour: the {len(looks)} best of them on {labels[0]}"
    axes.set_title(f"{count}{best if len(looks) < len(names) else ''}")
    handle = Line2D([], [], linestyle="none", marker="|", markersize=8, color=style.GREY)
    drawn.legend([handle], ["ranks that overlapping intervals leave open"])
    return drawn.figure


@style.styled
def shift_rank_chart(table: pd.DataFrame, top: int = NAMED, ax: Axes | None = None) -> Figure:
    """Plot the ranks of the `top` best architectures over a family of test-time transforms.

    `table` is a result of `apr.shift_ranks`.
    """
    rows = table.head(top)
    drawn = style.one_panel(style.ONE_COLUMN * 1.2, max(2.2, 1.0 + 0.15 * len(rows)), ax)
    axes, places = drawn.first, np.arange(len(rows))
    ends = rows["rank_best"], rows["rank_worst"]
    single = axes.hlines(places, *ends, color=style.GREY, linewidth=0.7)
    ends = rows["rank_low"], rows["rank_high"]
    mean = axes.hlines(places, *ends, color=style.BLUE, linewidth=2.2)
    look: dict[str, Any] = {"color": style.ORANGE, "markersize": 4, "mec": "black", "mew": 0.3}
    (ranks,) = axes.plot(rows["rank"], places, "o", **look)
    named = zip(wording.shortened(rows["architecture"], 26), rows["mean"], strict=True)
    names = [f"{name} ({wording.number(error, 1)}%)" for name, error in named]
    axes.set_yticks(places, names, fontsize=6)
    axes.set(ylim=(len(rows) - 0.4, -0.6), xlabel=RANK)
    axes.set_xlim(left=0.5)
    shown = f"{len(rows)} best of {len(table)}" if len(rows) < len(table) else f"n = {len(table)}"
    axes.set_title(f"mean error over {int(table['evaluations'].iloc[0])} evaluations, {shown}")
    labels = ["rank of the mean", "its interval", "best to worst single rank"]
    drawn.legend([ranks, mean, single], labels)
    return drawn.figure
