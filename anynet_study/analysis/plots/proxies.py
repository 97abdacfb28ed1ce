"""Draw how well one dataset stands in for another: correlations, costs of proxies, how surely."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import NullFormatter, ScalarFormatter

from anynet_study.analysis.plots import style, wording

VERSIONS = ("source", "images", "classes")
"""Of `apr.class_or_size`: the source, fewer images of it, fewer classes of it."""
NAMED_PAIRS = 30
"""Up to this many pairs of datasets are named on a figure."""


def _ordered(table: pd.DataFrame, family: Mapping[str, int] | None) -> dict[str, str]:
    """The proxies of a table, those of the most classes first, each with its label."""
    classes = dict(family or {})
    names = sorted(dict.fromkeys(table["proxy"]), key=lambda name: -classes.get(name, 0))
    of = {name: f" ({classes[name]} classes)" if classes.get(name) else "" for name in names}
    shown = zip(names, wording.shortened(names, 24), strict=True)
    return {name: label + of[name] for name, label in shown}


@style.styled
def proxy_chart(
    table: pd.DataFrame,
    family: Mapping[str, int] | None = None,
    ax: Axes | None = None,
    what: str = "errors",
) -> Figure:
    """Plot each target's correlation with each proxy as a dot with its interval.

    `table` is a result of `apr.best_proxies` (columns target, proxy, estimate, low, high, n; a
    `note` stands for n). `family` maps the proxies to their class counts and orders them, the most
    classes first. `what` is correlated.
    """
    proxies = _ordered(table, family)
    targets = list(dict.fromkeys(table["target"]))
    step = 0.8 / max(len(proxies), 1)
    width = style.TWO_COLUMNS * 0.75 if len(targets) > 1 else style.ONE_COLUMN * 1.3
    height = 1.1 + max(0.3, 0.11 * len(proxies)) * len(targets)
    drawn = style.one_panel(width, height, ax)
    axes = drawn.first
    for number, (proxy, look) in enumerate(style.series_looks(proxies).items()):
        rows = table[table["proxy"] == proxy].set_index("target").reindex(targets)
        places = np.arange(len(targets)) - 0.4 + (number + 0.5) * step
        style.draw_intervals(axes, rows, "estimate", places, label=proxies[proxy], **look)
    for border in range(1, len(targets)):
        axes.axhline(border - 0.5, color="0.85", linewidth=0.6)
    axes.axvline(0, color="0.4", linewidth=0.6)
    counts = [f"n = {n:.0f}" for n in table.groupby("target", sort=False)["n"].max()]
    if "note" in table:
        notes = table.groupby("target", sort=False)["note"].first()
        counts = [note or count for note, count in zip(notes, counts, strict=True)]
    names = [f"{wording.shorten(t, 24)}\n{n}" for t, n in zip(targets, counts, strict=True)]
    axes.set_yticks(range(len(targets)), names)
    axes.tick_params(axis="y", length=0)
    lowest = min(-0.05, float(table["low"].min()) - 0.05)
    axes.set(ylim=(len(targets) - 0.5, -0.5), xlim=(lowest, 1.02))
    axes.set_xlabel(f"{wording.coefficient(table)} of the {what} with those on the target")
    drawn.legend(*axes.get_legend_handles_labels())
    return drawn.figure


def _long(table: pd.DataFrame, names: Mapping[str, str]) -> pd.DataFrame:
    """The correlations in columns rho_x, ... as rows of proxies; `names` has the name of each x."""
    parts = []
    for column, name in names.items():
        ends = {f"rho_{column}{end}": to for end, to in (("_low", "low"), ("_high", "high"))}
        kept = ["target", f"rho_{column}", *ends, "n", *(["note"] if "note" in table else [])]
        part = table[kept].rename(columns={f"rho_{column}": "estimate", **ends})
        part.insert(1, "proxy", name)
        parts.append(part)
    data = pd.concat(parts).sort_index(kind="stable").reset_index(drop=True)
    data.attrs = dict(table.attrs)
    return data


def class_or_size_data(table: pd.DataFrame, names: tuple[str, str, str]) -> pd.DataFrame:
    """DataFrame[target, proxy, estimate, low, high, n], one row per target and version.

    `table` is a result of `apr.class_or_size`; the average over the targets, which it has in its
    `attrs`, is the last target. `names` are those of the source, of its version with fewer images,
    and of that with fewer classes.
    """
    columns = ["target", *(f"rho_{name}{e}" for name in VERSIONS for e in ("", "_low", "_high"))]
    averages = pd.DataFrame(table.attrs.get("averages", [])).assign(target="average")
    rows = pd.concat([table, averages], ignore_index=True) if len(averages) else table
    data = _long(rows[[*columns, "n"]], dict(zip(VERSIONS, names, strict=True)))
    data.attrs = dict(table.attrs)
    return data


def class_or_size_chart(
    table: pd.DataFrame, names: tuple[str, str, str], ax: Axes | None = None
) -> Figure:
    """Plot each target's correlation with the source and with its two smaller versions (Figure 6).

    `table` is a result of `apr.class_or_size`, and `names` are as in `class_or_size_data`.
    """
    return proxy_chart(class_or_size_data(table, names), ax=ax)


def other_targets_chart(
    table: pd.DataFrame, source: str = "the source", ax: Axes | None = None
) -> Figure:
    """Plot each target's correlation with the source, with one other target and their average.

    `table` is a result of `apr.other_targets` (paper 3, Appendix N.2), `source` that dataset's
    name. Targets without an estimate keep their row, with the table's note.
    """
    names = {"source": source, "others": "one other target", "average": "average of the others"}
    return proxy_chart(_long(table, names), ax=ax, what="scores")


@style.styled
def regret_grid(
    table: pd.DataFrame,
    family: Mapping[str, int] | None = None,
    axes: Sequence[Axes] | None = None,
) -> Figure:
    """Plot the regret of choosing by each proxy, and at random, one panel per target.

    `table` is a result of `apr.selection_regret`; `family` as in `proxy_chart`. The dashed line is
    the expected regret of as many architectures at random.
    """
    proxies = _ordered(table, family)
    targets = list(dict.fromkeys(table["target"]))
    drawn = style.panels(len(targets), 2.0, axes)
    for panel, target in zip(drawn.axes, targets, strict=True):
        rows = table[table["target"] == target]
        _draw_regret(panel, rows, proxies)
        panel.set(title=wording.counted(target, rows["n"]), xlabel="architectures tried")
    drawn.label_left("expected regret\n(percentage points)")
    drawn.legend(*drawn.first.get_legend_handles_labels())
    return drawn.figure


def _draw_regret(axes: Axes, rows: pd.DataFrame, proxies: Mapping[str, str]) -> None:
    tops = sorted(rows["top"].unique())
    places = np.arange(len(tops))
    step = 0.7 / max(len(proxies), 1)
    for number, (proxy, look) in enumerate(style.series_looks(proxies).items()):
        own = rows[rows["proxy"] == proxy].set_index("top").reindex(tops)
        beside = places - 0.35 + (number + 0.5) * step
        named: dict[str, Any] = {"label": proxies[proxy], "markersize": 3.6, **look}
        style.draw_intervals(axes, own, "regret", beside, across=False, **named)
    chance = rows.groupby("top")["chance"].first().reindex(tops)
    for place, height in zip(places, chance, strict=True):
        label = "chosen at random" if place == 0 else "_"
        ends = [place - 0.42, place + 0.42]
        axes.plot(ends, [height] * 2, color=style.GREY, linestyle="--", label=label)
    axes.set_xticks(places, [f"best {top}" if top > 1 else "the best" for top in tops])
    axes.set_ylim(bottom=-0.03 * axes.get_ylim()[1])
    axes.locator_params(axis="y", nbins=5)


@style.styled
def cost_grid(
    table: pd.DataFrame,
    unit: str = "seconds per architecture",
    family: Mapping[str, int] | None = None,
    axes: Sequence[Axes] | None = None,
) -> Figure:
    """Plot correlations against costs: one panel per target, its front as a line.

    `table` is a result of `apr.proxy_costs`. `unit` is that of the costs; `family` as in
    `proxy_chart`. Filled markers are on the front.
    """
    # Hollow markers are those off the front.
    looks = style.series_looks(_ordered(table, family), "proxies", hollow=False)
    targets = list(dict.fromkeys(table["target"]))
    drawn = style.panels(len(targets), 2.0, axes)
    for panel, target in zip(drawn.axes, targets, strict=True):
        rows = table[table["target"] == target]
        _draw_costs(panel, rows, looks)
        panel.set(title=wording.counted(target, rows["n"]), xlabel=f"cost ({unit})")
    drawn.label_left(f"{wording.coefficient(table)} with the target")
    handles = [Line2D([], [], linestyle="none", markersize=4.5, **look) for look in looks.values()]
    labels = wording.shortened(looks, 24)
    drawn.legend(handles, labels, title="filled: no proxy that costs as little or less is better")
    return drawn.figure


def _draw_costs(axes: Axes, rows: pd.DataFrame, looks: Mapping[str, dict[str, Any]]) -> None:
    front = rows[rows["on_front"]].sort_values("cost")
    line: dict[str, Any] = {"color": style.GREY, "linewidth": 0.9, "zorder": 0}
    axes.step(front["cost"], front["estimate"], where="post", **line)
    for row in rows.index:
        look = looks[rows.loc[row, "proxy"]]
        fill = look["color"] if rows.loc[row, "on_front"] else "white"
        place = [rows.loc[row, "cost"]]
        look = {"markerfacecolor": fill, "capsize": 1.5, **look}
        style.draw_intervals(axes, rows.loc[[row]], "estimate", place, across=False, **look)
    if (rows["cost"] > 0).all() and rows["cost"].max() > 5 * rows["cost"].min():
        axes.set_xscale("log")
        axes.margins(x=0.15)
        style.log_axis(axes)
    axes.axhline(0, color="0.4", linewidth=0.6)
    axes.margins(x=0.15)
    axes.set_ylim(min(-0.05, float(rows["low"].min()) - 0.05), 1.03)


@style.styled
def width_grid(tables: Mapping[str, pd.DataFrame], axes: Sequence[Axes] | None = None) -> Figure:
    """Plot how narrow intervals get with more architectures, one panel per pair of datasets.

    `tables` maps what a panel is called to a result of `apr.interval_widths`: measured widths,
    their spread, and those of Fisher's approximation.
    """
    drawn = style.panels(len(tables), 2.0, axes)
    for panel, (name, table) in zip(drawn.axes, tables.items(), strict=True):
        _draw_widths(panel, table)
        panel.set(title=wording.counted(name, table["n"], 34), xlabel="architectures")
        panel.set_ylabel(f"width of interval of {wording.letter(table)}")
    drawn.legend(*drawn.first.get_legend_handles_labels())
    return drawn.figure


def _draw_widths(axes: Axes, table: pd.DataFrame) -> None:
    sizes = table["n"]
    band: dict[str, Any] = {"color": style.BLUE, "alpha": 0.25, "linewidth": 0}
    spread = "10% to 90% of the subsamples"
    axes.fill_between(sizes, table["width_low"], table["width_high"], label=spread, **band)
    look: dict[str, Any] = {"color": style.BLUE, "marker": "o", "markersize": 3}
    axes.plot(sizes, table["width"], label="bootstrap, median", **look)
    fisher: dict[str, Any] = {
        "color": style.GREY,
        "linestyle": "--",
        "label": "Fisher's approximation",
    }
    axes.plot(sizes, table["fisher"], **fisher)
    axes.set(xscale="log", yscale="log")
    axes.set_xticks(sizes, [f"{size:g}" for size in sizes])
    axes.xaxis.set_minor_formatter(NullFormatter())
    for formatter in (axes.yaxis.set_major_formatter, axes.yaxis.set_minor_formatter):
        formatter(ScalarFormatter())


@style.styled
def distance_chart(table: pd.DataFrame, what: str = "", ax: Axes | None = None) -> Figure:
    """Plot a point for each pair of datasets: distance across, correlation up, with intervals.

    `table` has source, target, distance, distance_low, distance_high, estimate, low, high; `what`
    the estimates are, if no correlations. Names are those of the targets where the source is one.
    """
    drawn = style.one_panel(style.ONE_COLUMN * 1.3, style.ONE_COLUMN, ax)
    axes = drawn.first
    known = table.dropna(subset=["distance", "estimate"])
    ends = (known["distance"] - known["distance_low"], known["distance_high"] - known["distance"])
    axes.errorbar(
        known["distance"],
        known["estimate"],
        xerr=np.clip(ends, 0, None),
        fmt="none",
        elinewidth=0.9,
        ecolor="0.75",
    )
    style.draw_intervals(
        axes, known, "estimate", known["distance"], across=False, color=style.BLUE, marker="o"
    )
    if len(known) <= NAMED_PAIRS:
        for row in known.itertuples():
            names = f"{wording.shorten(row.source, 12)}, {wording.shorten(row.target, 12)}"
            names = names if table["source"].nunique() > 1 else wording.shorten(row.target, 16)
            axes.annotate(
                names, (row.distance, row.estimate), (3, 3), textcoords="offset points", fontsize=5
            )
    axes.set_xlabel("distance of the datasets' images (FID, bias removed)")
    letter = wording.symbol(wording.method_of(table))
    axes.set_ylabel(what or f"correlation of errors ({letter})")
    return drawn.figure
