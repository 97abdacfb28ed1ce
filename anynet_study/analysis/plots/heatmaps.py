"""Correlations as a matrix of colours and numbers: between datasets, and of stage parameters."""

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from anynet_study.analysis.plots import style, wording
from anynet_study.analysis.plots.estimates import Estimate, pair_estimates

LIGHT_TEXT_ABOVE = 0.65
"""Correlations beyond this are on a dark cell."""
UNKNOWN = "0.93"
"""Colour of the diagonal, and of correlations that are undefined."""
WITH_INTERVALS = 37
"""Points; cells of this width have room for intervals: of 9 datasets on two columns."""
WITH_NUMBERS = 19
"""Cells of this width have room for the correlations: of 18 datasets."""
MOST_NUMBERS = 18
"""Datasets; of more, nobody reads the numbers."""
WITH_SHORT = 13
"""And these for correlations without their zeros, in the smallest letters."""
NAMED = 1.2
"""Inches that names and the scale beside the cells take, at least."""
WITH_SIGNIFICANT = 24
"""Up to this many datasets a table of drivers has room for numbers, on two columns of a journal."""
SIGNIFICANT = 0.05
"""Corrected p-values below this have their correlation written out."""
STAGE_PARAMETERS = {"d": "depth", "w": "width", "b": "bottleneck ratio", "g": "group width"}


@style.styled
def correlation_heatmap(table: pd.DataFrame, ax: Axes | None = None) -> Figure:
    """Show correlations as a matrix, with datasets in the order of the table.

    `table` is a result of `apr.correlations`. Up to nine datasets each cell has its interval too;
    beyond 18 cells have colours alone, and of narrow figures before.
    """
    names = list(dict.fromkeys([*table["source"], *table["target"]]))
    values = pd.DataFrame(np.nan, index=names, columns=names)
    estimates = pair_estimates(table)
    for (x, y), found in estimates.items():
        values.loc[y, x] = found.estimate
    width = style.ONE_COLUMN if len(names) <= 4 else style.TWO_COLUMNS * 0.75
    width = style.own_width(style.TWO_COLUMNS if len(names) > 6 else width)
    drawn = style.one_panel(width, width * 0.86, ax)
    shown = wording.shortened(names, 20)
    _colour(drawn.first, values, wording.coefficient(table), shown, square=True)
    cell = 72 * min(width * 0.66, width - NAMED) / len(names)
    if cell >= WITH_SHORT and len(names) <= MOST_NUMBERS:
        _write_pairs(drawn.first, estimates, names, cell)
    return drawn.figure


@style.styled
def stage_driver_heatmap(
    table: pd.DataFrame,
    value: Literal["estimate", "partial"] = "estimate",
    ax: Axes | None = None,
) -> Figure:
    """Show raw or partial correlations of parameters with errors.

    `table` is a result of `apr.stage_drivers`. One row per parameter, one column per dataset; blue:
    larger parameters err more. Numbers are those whose corrected p-value is below 0.05; frames mark
    the parameters that help on one dataset and hurt on another. Beyond 24 datasets cells have
    colours and frames alone.
    """
    datasets = list(dict.fromkeys(table["dataset"]))
    parameters = list(dict.fromkeys(table["parameter"]))
    cells = table.set_index(["parameter", "dataset"])
    values = cells[value].unstack().reindex(index=parameters, columns=datasets)
    width = style.own_width(min(style.TWO_COLUMNS, 2.6 + 0.42 * len(datasets)))
    drawn = style.one_panel(width, 1.2 + 0.2 * len(parameters), ax)
    kind = wording.coefficient(table)
    kind = kind if value == "estimate" else f"partial {wording.letter(table)}"
    shown = [_stage_parameter(name) for name in parameters]
    _colour(drawn.first, values, f"{kind} with the error", shown, linewidths=0.5)
    room = (width - 2.6) / (style.TWO_COLUMNS - 2.6)
    written = len(datasets) <= WITH_SIGNIFICANT * room or width > 2.6 + 0.41 * len(datasets)
    prefix = "" if value == "estimate" else "partial_"
    _write_significant(drawn.first, cells, values, prefix, written)
    given = str(table["given"].iloc[0]) if value == "partial" else ""
    held = f" at equal {given.replace(', ', ' and ').replace('flops', 'FLOPs')}" if given else ""
    low, high = int(table["n"].min()), int(table["n"].max())
    count = str(low) if low == high else f"{low} to {high}"
    drawn.first.set_xlabel(
        f"{f'numbers: p < {SIGNIFICANT} (Holm)' if written else 'correlations'}{held}\n"
        f"frames: sign flips; n = {count}",
        size=6.5,
    )
    return drawn.figure


@style.styled
def confusion_heatmap(table: pd.DataFrame, ax: Axes | None = None) -> Figure:
    """Show how often each class (row) is taken for each other one (column), in percent.

    `table` has class, taken_for, share (percent), dataset (one) and n, a row for each pair.
    """
    import seaborn  # here: most commands that import this room draw none

    names = list(dict.fromkeys(table["taken_for"]))
    values = table.set_index(["class", "taken_for"])["share"].unstack()
    values = values.reindex(index=list(dict.fromkeys(table["class"])), columns=names)
    width = style.own_width(min(style.TWO_COLUMNS, 2.0 + 0.3 * len(names)))
    drawn = style.one_panel(width, 1.4 + 0.22 * len(values), ax)
    axes = drawn.first
    seaborn.heatmap(
        values,
        ax=axes,
        vmin=0,
        vmax=100,
        cmap="Blues",
        annot=72 * (width - 1.6) / len(names) >= WITH_SHORT,
        fmt=".0f",
        annot_kws={"fontsize": style.SMALLEST_TEXT},
        cbar_kws={"label": "% of the images of a class", "shrink": 0.8},
        xticklabels=wording.shortened(names, 14),
        yticklabels=wording.shortened(list(values.index), 20),
        linewidths=0.5,
    )
    of = wording.shorten(table["dataset"].iloc[0], 18)
    axes.set(xlabel="taken for", ylabel=f"class of {of}", title=f"n = {table['n'].iloc[0]}")
    axes.tick_params(length=0)
    axes.tick_params(axis="x", labelrotation=90)
    axes.tick_params(axis="y", labelrotation=0)
    return drawn.figure


def _colour(axes: Axes, values: pd.DataFrame, label: str, rows: Sequence[str], **look: Any) -> None:
    """Draw a matrix of correlations as colours, with the names of its rows and columns."""
    import seaborn  # here: most commands that import this room draw none

    seaborn.heatmap(
        values,
        ax=axes,
        vmin=-1,
        vmax=1,
        cmap=style.DIVERGING,
        cbar_kws={"label": label, "shrink": 0.8},
        xticklabels=wording.shortened(values.columns, 20),
        yticklabels=list(rows),
        **({"linewidths": 0.5} | look),
    )
    axes.set_facecolor(UNKNOWN)
    axes.set(xlabel="", ylabel="")
    axes.tick_params(length=0)
    axes.tick_params(axis="x", labelrotation=90 if len(values.columns) > 4 else 45)
    axes.tick_params(axis="y", labelrotation=0)


def _write_pairs(
    axes: Axes, estimates: dict[tuple[str, str], Estimate], names: list[str], cell: float
) -> None:
    """Write the numbers by hand: seaborn's annotations hold one size of text only."""
    with_intervals, short = cell >= WITH_INTERVALS, cell < WITH_NUMBERS
    large = float(np.clip(cell / 3.6, style.SMALLEST_TEXT + (not short), 10))
    write = wording.compact if short else wording.number
    small = float(np.clip(cell / 6.2, style.SMALLEST_TEXT, 7))
    for i, y in enumerate(names):
        for j, x in enumerate(names):
            if i == j:
                continue
            estimate, low, high, _ = estimates.get((x, y), Estimate())
            look = _ink(estimate)
            below = with_intervals and np.isfinite(estimate)
            height = i + (0.38 if below else 0.5)
            axes.text(j + 0.5, height, write(estimate), fontsize=large, **look)
            if below:
                between = f"[{wording.compact(low)}, {wording.compact(high)}]"
                axes.text(j + 0.5, i + 0.72, between, fontsize=small, **look)


def _write_significant(
    axes: Axes, cells: pd.DataFrame, values: pd.DataFrame, prefix: str, written: bool
) -> None:
    """Write the significant correlations, if there is room, and frame those whose sign flips."""
    size = style.SMALLEST_TEXT if len(values.columns) > 12 else 6
    for i, parameter in enumerate(values.index):
        for j, dataset in enumerate(values.columns):
            estimate = float(values.iloc[i, j])
            cell = cells.loc[(parameter, dataset)]
            if written and np.isfinite(estimate) and cell[f"{prefix}p_holm"] < SIGNIFICANT:
                text = wording.compact(estimate)
                axes.text(j + 0.5, i + 0.52, text, fontsize=size, **_ink(estimate))
            if cell[f"{prefix}flips"]:
                look: dict[str, Any] = {"fill": False, "edgecolor": "black", "linewidth": 0.9}
                axes.add_patch(Rectangle((j + 0.06, i + 0.08), 0.88, 0.84, **look))


def _ink(estimate: float) -> dict[str, Any]:
    """Tell how a number is written on a cell of the colour of this correlation."""
    ink = "white" if abs(estimate) > LIGHT_TEXT_ABOVE else "black"
    return {"ha": "center", "va": "center", "color": ink}


def _stage_parameter(name: str) -> str:
    """Write "d3" as "depth, stage 3"."""
    if name.startswith("cumulative"):
        return name
    return f"{STAGE_PARAMETERS[name[0]]}, stage {name[1:]}"
