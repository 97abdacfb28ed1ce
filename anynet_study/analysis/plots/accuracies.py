"""Accuracies of architectures: lost on a new test set, over a baseline, by bin, by label set."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from anynet_study.analysis.plots import style, wording

#: Most architectures on one page.
ROWS = 50
#: Most architectures that have their names under an axis.
NAMED = 40


@style.styled
def gap_chart(
    table: pd.DataFrame, original: str = "original", new: str = "new", ax: Axes | None = None
) -> Figure:
    """Plot every architecture's drop in accuracy from the original to the new test set.

    `table` is a result of `apr.gaps` (paper 2, Table 1), best on the original first; beyond 50
    architectures the best 50. Names are followed by the ranks on the two test sets.
    """
    rows = table.head(ROWS)
    drawn = style.one_panel(style.ONE_COLUMN * 1.2, 1.1 + 0.14 * len(rows), ax)
    axes, places = drawn.first, np.arange(len(rows))
    style.draw_intervals(axes, rows, "gap", places, color=style.BLUE, marker="o", markersize=3.5)
    labels = wording.shortened(rows["architecture"], 26)
    ranked = zip(labels, rows["original_rank"], rows["new_rank"], strict=True)
    names = [f"{name} ({before} → {after})" for name, before, after in ranked]
    axes.set_yticks(places, names, fontsize=6)
    axes.set_ylim(len(rows) - 0.4, -0.6)
    axes.grid(axis="x", color="0.9", linewidth=0.5)
    axes.set_axisbelow(True)
    shown = f"best {len(rows)} of {len(table)}" if len(rows) < len(table) else f"n = {len(rows)}"
    original, new = wording.shorten(original, 18), wording.shorten(new, 18)
    axes.set_title(f"{shown}, rank on {original} → {new}")
    axes.set_xlabel(f"accuracy on {original} − on {new} (points)")
    return drawn.figure


@style.styled
def improvement_chart(table: pd.DataFrame, baseline: str = "", ax: Axes | None = None) -> Figure:
    """Plot accuracies over the baseline model's, one series per dataset (paper 4, Figure 8).

    `table` is a result of `apr.relative_improvement`, `baseline` the name of that model for the
    label. Architectures are in rising order on the first dataset; bars are the sampling error where
    the table has it.
    """
    datasets = list(dict.fromkeys(table["dataset"]))
    wide = table.pivot(index="architecture", columns="dataset", values="relative")[datasets]
    order = list(wide.sort_values(datasets, kind="stable").index)
    drawn = style.one_panel(style.TWO_COLUMNS, 2.8, ax)
    axes = drawn.first
    shift = 0.5 / max(len(datasets), 2)
    named = len(order) <= NAMED
    for number, (dataset, series) in enumerate(style.series_looks(datasets, "datasets").items()):
        rows = table[table["dataset"] == dataset].set_index("architecture").reindex(order)
        places = np.arange(len(order)) + (number - (len(datasets) - 1) / 2) * shift
        look: dict[str, Any] = {"linestyle": "-", "linewidth": 0.5 if named else 0.2, **series}
        look["markersize"] = 3.5 if named else 2
        look["label"] = wording.shorten(dataset, 30)
        style.draw_intervals(axes, rows, "relative", places, across=False, **look)
    axes.axhline(1, color=style.GREY, linestyle=":", linewidth=0.8)
    labels = wording.shortened(order, 22) if named else []
    axes.set_xticks(range(len(labels)), labels, rotation=90, fontsize=5.5)
    if not named:
        axes.set_xlabel("architecture, by accuracy on the first dataset")
    of = wording.shorten(baseline, 24) if baseline else "the baseline"
    axes.set_ylabel(f"accuracy over that of\n{of}")
    bars = ", bars: sampling error" if "relative_low" in table else ""
    axes.set_title(f"n = {len(order)}{bars}")
    drawn.legend(*axes.get_legend_handles_labels())
    return drawn.figure


@style.styled
def bin_chart(
    tables: Mapping[str, pd.DataFrame], covariate: str, score: str, ax: Axes | None = None
) -> Figure:
    """Plot the mean of the best of each bin, one series per table (Feuer et al. 2023, paper 5).

    `tables` maps the name of a score to its `apr.best_of_bins`, all with the same bins, though the
    last of them may be missing; `covariate` and `score` label the axes, with their units. The
    numbers under the bins count architectures, where they are those of all tables.
    """
    first = max(tables.values(), key=len)
    counted = all(
        first["architectures"].head(len(table)).equals(table["architectures"].astype("int64"))
        for table in tables.values()
    )
    room = max(0.75, 0.1 * len(tables))
    width = min(style.TWO_COLUMNS, max(style.ONE_COLUMN, 0.9 + room * len(first)))
    drawn = style.one_panel(width, 2.6, ax)
    axes = drawn.first
    rising = first["from"].notna().all()  # bins of numbers: a trend
    apart = min(0.12, 0.7 / len(tables))  # all within their bin
    for number, (name, look) in enumerate(style.series_looks(tables, "lines").items()):
        places = np.arange(len(tables[name])) + apart * (number - (len(tables) - 1) / 2)
        line = {"linestyle": "-" if rising else "none", "label": wording.shorten(name, 30), **look}
        style.draw_intervals(axes, tables[name], "mean", places, across=False, **line)
    counts = ("bin", "averaged", "architectures")
    labels = [
        wording.shorten(name, 16)
        + (f"\n{f'{best} of' if best < count else 'all'} {count}" if counted else "")
        for name, best, count in zip(*(first[c] for c in counts), strict=True)
    ]
    axes.set_xticks(range(len(first)), labels, fontsize=6)
    axes.set_xlim(-0.5, len(first) - 0.5)
    axes.set(xlabel=covariate, ylabel=f"mean of the best,\n{score}")
    axes.set_title(f"bars: {wording.level(first)} bootstrap intervals")
    if len(tables) > 1:
        drawn.legend(*axes.get_legend_handles_labels())
    return drawn.figure


@style.styled
def label_set_chart(table: pd.DataFrame, ax: Axes | None = None) -> Figure:
    """Plot the accuracy on every label set, one line per architecture.

    `table` is a result of `apr.label_set_accuracy`; label sets come in order of their classes.
    Beyond six architectures the lines are grey, and the mean over all is on top of them.
    """
    sets = table.drop_duplicates("label_set").sort_values("classes", kind="stable")
    order = list(sets["label_set"])
    wide = table.pivot(index="architecture", columns="label_set", values="accuracy")[order]
    drawn = style.one_panel(style.ONE_COLUMN, 2.6, ax)
    axes, places = drawn.first, np.arange(len(sets))
    named = len(wide) <= len(style.SERIES)
    if named:
        for name, look in style.series_looks(dict.fromkeys(table["architecture"])).items():
            rows = table[table["architecture"] == name].set_index("label_set").reindex(order)
            label = wording.shorten(name, 22)
            line = {"linestyle": "-", "label": label, **look}
            style.draw_intervals(axes, rows, "accuracy", places, across=False, **line)
        drawn.legend(*axes.get_legend_handles_labels())
    else:
        lines = axes.plot(places, wide.to_numpy().T, color=style.GREY, linewidth=0.4, alpha=0.5)
        (mean,) = axes.plot(places, wide.mean(), color=style.ORANGE, marker="o", markersize=4)
        drawn.legend([mean, lines[0]], ["mean", "architectures"])
    named_sets = zip(order, sets["classes"], sets["images"], strict=True)
    axes.set_xticks(places, [_label_set(*row) for row in named_sets], fontsize=6)
    axes.set(xlim=(-0.4, len(sets) - 0.6), xlabel="label set", ylabel="top-1 accuracy (%)")
    bars = f", bars: {wording.level(table)} Clopper-Pearson" if named else ""
    axes.set_title(f"n = {len(wide)}{bars}")
    return drawn.figure


@style.styled
def budget_chart(
    table: pd.DataFrame, across: str = "training images", ax: Axes | None = None
) -> Figure:
    """Plot accuracies by the number of training images: a colour per recipe, a marker per source.

    `table` has recipe, dataset, images_of (what the dataset is a part of), train_images, base
    (filled, lines) and average (hollow, dashed): the mean accuracy on the test set without a shift,
    and on the shifted ones, in percent, with whiskers where base_low and so on are known. Lines
    join parts of the same images. `across` labels the x axis, of what train_images are.
    """
    drawn = style.one_panel(style.ONE_COLUMN, 3.0, ax)
    axes = drawn.first
    recipes = style.series_looks(dict.fromkeys(table["recipe"]), "recipes")
    sources = style.series_looks(dict.fromkeys(table["images_of"]), "sources of images")
    for (name, source), rows in table.groupby(["recipe", "images_of"], sort=False):
        rows = rows.sort_values("train_images", kind="stable")
        look = {"color": recipes[name]["color"], "marker": sources[source]["marker"]}
        shifted = {**look, "markerfacecolor": "white", "linestyle": "--"}
        for column, how in (("base", look), ("average", shifted)):
            axes.plot(rows["train_images"], rows[column], markersize=4.5, **how)
            if f"{column}_low" in rows:
                ends = rows["train_images"], rows[f"{column}_low"], rows[f"{column}_high"]
                axes.vlines(*ends, color=look["color"], linewidth=0.9)
    style.log_axis(axes)
    axes.set(xlabel=across, ylabel="accuracy (%)", title=f"n = {table['n'].min()}")
    lines: dict[str, dict[str, Any]] = {n: {"color": look["color"]} for n, look in recipes.items()}
    for name, look in sources.items():
        lines[f"images of {name}"] = {"marker": look["marker"], "linestyle": "none"}
    lines["shifted test sets"] = {"marker": "o", "markerfacecolor": "white", "linestyle": "--"}
    grey = {"color": style.GREY, "markersize": 4.5}
    handles = [Line2D([], [], **(grey | look)) for look in lines.values()]  # type: ignore[arg-type]
    drawn.legend(handles, [wording.shorten(name, 26) for name in lines], most=2)
    return drawn.figure


def _label_set(name: str, classes: float, images: float) -> str:
    """Name a label set with its classes (unless they are its name) and images."""
    counted = "" if name == f"{classes:.0f} classes" else f"{classes:.0f} classes\n"
    return f"{wording.shorten(name, 16)}\n{counted}{images:.0f} images"


@style.styled
def class_chart(table: pd.DataFrame, across: str = "", ax: Axes | None = None) -> Figure:
    """Plot the accuracy on each class: the mean with its interval, and the range.

    `table` has class, mean, low, high (percent) and n; lowest and highest, where the range is
    drawn; and dataset (one), unless `across` labels the x axis.
    """
    drawn = style.one_panel(style.ONE_COLUMN * 1.2, 1.1 + 0.14 * len(table), ax)
    axes, places = drawn.first, np.arange(len(table))
    style.draw_intervals(axes, table, "mean", places, color=style.BLUE, marker="o", label="mean")
    axes.set_yticks(places, [wording.shorten(name, 26) for name in table["class"]], fontsize=6)
    axes.set_ylim(len(table) - 0.4, -0.6)
    of = "" if across else wording.shorten(table["dataset"].iloc[0], 18)
    axes.set_xlabel(across or f"accuracy on classes of {of} (%)")
    axes.set_title(f"n = {table['n'].iloc[0]}")
    if "lowest" in table:
        look: dict[str, Any] = {"color": "0.8", "linewidth": 3, "zorder": 0}
        ends = axes.hlines(places, table["lowest"], table["highest"], **look)
        (mean,), _ = axes.get_legend_handles_labels()
        drawn.legend([mean, ends], ["mean", "worst to best"])
    return drawn.figure
