"""Distributions of numbers, each as the share that is no larger."""

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.figure import Figure

from anynet_study.analysis.plots import style

#: Series with a name; where there are more, all are thin and grey.
NAMED = len(style.SERIES)


@style.styled
def draw_distributions(panels: Mapping[str, Mapping[str, Sequence[float]]], across: str) -> Figure:
    """Draw one panel for each entry, by title, with one curve for each of its series, by name.

    `across` labels the x axis. NaN is left out.
    """
    drawn = style.panels(len(panels), 2.4)
    for axes, (title, series) in zip(drawn.axes, panels.items(), strict=True):
        few = len(series) <= NAMED
        looks = style.series_looks(series) if few else {}
        for name, told in series.items():
            values = np.asarray(told, float)
            look = {"color": looks[name]["color"], "label": name} if few else {"color": "0.5"}
            axes.ecdf(values[~np.isnan(values)], linewidth=1.0 if few else 0.3, **look)
        axes.set_title(title)
        axes.set_xlabel(across)
        if few:
            axes.legend()
    drawn.label_left("share that is no larger")
    return drawn.figure
