"""Every stage parameter's correlation with the errors, dataset by dataset, as colours."""

from typing import Any, Literal

import numpy as np
import pandas as pd
import seaborn
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from anynet_study.plots import wording
from anynet_study.plots.style import DIVERGING, PAGE, SMALLEST_TEXT, TWO_COLUMNS, styled

LIGHT_TEXT_ABOVE = 0.65
NAMES = {"d": "depth", "w": "width", "b": "bottleneck ratio", "g": "group width"}


@styled
def stage_driver_heatmap(
    table: pd.DataFrame, value: Literal["estimate", "partial"] = "estimate"
) -> Figure:
    """Show raw or partial correlations of a result of `apr.stage_drivers`.

    A row a parameter, a column a dataset; red says that larger parameters err more. Numbers are
    those whose corrected p-value is below 0.05; frames mark the parameters that help on one dataset
    and hurt on another.
    """
    prefix = "" if value == "estimate" else "partial_"
    datasets = list(dict.fromkeys(table["dataset"]))
    parameters = list(dict.fromkeys(table["parameter"]))
    cells = table.set_index(["parameter", "dataset"])
    values = cells[value].unstack().reindex(index=parameters, columns=datasets)
    width = min(TWO_COLUMNS, 2.6 + 0.42 * len(datasets))
    height = min(PAGE, 1.2 + 0.2 * len(parameters))
    figure = Figure(figsize=(width, height), layout="constrained")
    axes = figure.subplots()
    kind = "Spearman's ρ" if value == "estimate" else "partial ρ"
    seaborn.heatmap(
        values,
        ax=axes,
        vmin=-1,
        vmax=1,
        cmap=DIVERGING,
        linewidths=0.5,
        cbar_kws={"label": f"{kind} with the error", "shrink": 0.8},
        xticklabels=[wording.shorten(name, 20) for name in datasets],
        yticklabels=[_label(name) for name in parameters],
    )
    axes.set_facecolor("0.93")
    axes.set(xlabel="", ylabel="")
    axes.tick_params(length=0)
    axes.tick_params(axis="x", labelrotation=90 if len(datasets) > 4 else 45)
    axes.tick_params(axis="y", labelrotation=0)
    _write(axes, cells, values, prefix)
    given = str(table["given"].iloc[0]) if value == "partial" else ""
    held = f" at equal {given.replace(', ', ' and ')}" if given else ""
    counts = _range(table["n"])
    figure.supxlabel(f"numbers: p < 0.05 (Holm){held}; frames: sign flips; n = {counts}", size=6.5)
    return figure


def _label(parameter: str) -> str:
    if parameter.startswith("cumulative"):
        return parameter
    return f"{NAMES[parameter[0]]}, stage {parameter[1:]}"


def _range(counts: pd.Series) -> str:
    low, high = int(counts.min()), int(counts.max())
    return str(low) if low == high else f"{low} to {high}"


def _write(axes: Axes, cells: pd.DataFrame, values: pd.DataFrame, prefix: str) -> None:
    crowded = len(values.columns) > 12
    for i, parameter in enumerate(values.index):
        for j, dataset in enumerate(values.columns):
            estimate = values.iloc[i, j]
            cell = cells.loc[(parameter, dataset)]
            if np.isfinite(estimate) and cell[f"{prefix}p_holm"] < 0.05:
                ink = "white" if abs(estimate) > LIGHT_TEXT_ABOVE else "black"
                size = SMALLEST_TEXT if crowded else 6
                text = wording.compact(estimate)
                axes.text(j + 0.5, i + 0.52, text, size=size, ha="center", va="center", color=ink)
            if cell[f"{prefix}flips"]:
                look: dict[str, Any] = {"fill": False, "edgecolor": "black", "linewidth": 0.9}
                axes.add_patch(Rectangle((j + 0.06, i + 0.08), 0.88, 0.84, **look))
