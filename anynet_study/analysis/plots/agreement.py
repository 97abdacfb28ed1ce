"""Two trainings of the same architectures against each other (paper 1, Figures A1, A4 to A6)."""

from collections.abc import Sequence
from typing import Any

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from anynet_study.analysis.plots import style, wording
from anynet_study.analysis.plots.points import (
    MANY_POINTS,
    agreement_data,
    draw_points,
    legend_of_marks,
    point_size,
)


@style.styled
def agreement_grid(
    before: pd.DataFrame,
    after: pd.DataFrame,
    table: pd.DataFrame,
    labels: tuple[str, str] = ("before", "after"),
    axes: Sequence[Axes] | None = None,
) -> Figure:
    """Plot the errors after against those before, one panel per dataset of the table.

    `table` is a result of `apr.agreement`, whose correlation and mean change are in the titles.
    `labels` say what was done, such as "top-5" and "top-1". On the dashed line they are equal.
    """
    datasets = list(table["dataset"])
    data = agreement_data(before, after, datasets)
    drawn = style.panels(len(datasets), 2.15, axes)
    lines: list[Line2D] = []
    for panel, (_, row) in zip(drawn.axes, table.iterrows(), strict=True):
        points = data[data["dataset"] == row["dataset"]]
        draw_points(panel, points, "before", "after", many=len(data) > MANY_POINTS)
        lines += _draw_equal_errors(panel)
        ends = (row["estimate"], row["low"], row["high"], int(row["n"]))
        change = wording.estimate(row["change"], row["change_low"], row["change_high"], 1)
        rho = wording.correlation(*ends, wording.letter(table))
        panel.set_title(f"{wording.shorten(row['dataset'], 26)}\n{rho}\nchange {change}")
        panel.set_xlabel(f"error, {labels[0]} (%)")
    drawn.label_left(f"error, {labels[1]} (%)")
    legend_of_marks(drawn, data["mark"], len(datasets), lines=lines[:1])
    return drawn.figure


def _draw_equal_errors(axes: Axes) -> list[Line2D]:
    """Draw the line on which errors are as before, where it crosses the panel."""
    limits = axes.get_xlim(), axes.get_ylim()
    ends = [max(end[0] for end in limits), min(end[1] for end in limits)]
    if ends[0] >= ends[1]:
        return []
    look: dict[str, Any] = {"color": style.GREY, "linewidth": 0.8, "linestyle": "--", "zorder": 0}
    (line,) = axes.plot(ends, ends, label="equal errors", **look)
    axes.set(xlim=limits[0], ylim=limits[1])
    return [line]


@style.styled
def source_by_recipe_grid(
    before: pd.DataFrame,
    after: pd.DataFrame,
    table: pd.DataFrame,
    source: str,
    labels: tuple[str, str] = ("before", "after"),
    axes: Sequence[Axes] | None = None,
) -> Figure:
    """Plot the errors before and after against those on the source, per dataset (Figure A6).

    `table` is a result of `apr.agreement` with this `source`, which has no panel of its own.
    """
    table = table[table["dataset"] != source]
    drawn = style.panels(len(table), 2.15, axes)
    many = len(before) * len(table) > MANY_POINTS
    for panel, (_, row) in zip(drawn.axes, table.iterrows(), strict=True):
        title = [f"{wording.shorten(row['dataset'], 20)}, n = {int(row['source_n'])}"]
        looks = {"before": (before, style.BLUE, "o"), "after": (after, style.GREEN, "s")}
        for (when, (errors, colour, marker)), label in zip(looks.items(), labels, strict=True):
            both = pd.DataFrame({"x": before[source], "y": errors[row["dataset"]]}).dropna()
            look: dict[str, Any] = {"color": colour, "marker": marker, "alpha": 0.45, "mew": 0}
            look |= {"linestyle": "none", "markersize": point_size(len(both)), "label": label}
            panel.plot(both["x"], both["y"], rasterized=many, **look)
            found = [row[f"source_{when}{end}"] for end in ("", "_low", "_high")]
            title.append(f"{label}: {wording.letter(table)} = {wording.estimate(*found)}")
        panel.set_title("\n".join(title))
        panel.set_xlabel(wording.error_label(source))
        panel.locator_params(nbins=5, min_n_ticks=3)
    drawn.label_left("error on the panel's dataset (%)")
    drawn.legend(*drawn.first.get_legend_handles_labels(), most=2)
    return drawn.figure
