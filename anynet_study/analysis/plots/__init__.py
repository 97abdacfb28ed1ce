"""Figures of a study: pure functions of tables that return a matplotlib Figure.

A chart, plot or heatmap is one panel, and draws in `ax` where that is given; a grid has a panel
for each dataset, and draws in as many `axes`; figures with a layout of their own take an empty
`figure`. Methods, levels and weights that they name are those of the table's `attrs` (`wording`).
The tables behind figures of points are `*_data`. A table that is none, or that lacks a column,
raises UserError (`given`).
"""

from inspect import isfunction
from typing import Any

import lazy_loader

_lazily, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)


def __getattr__(name: str) -> Any:
    """A name of the room, imported now; of a function, what checks its tables."""
    found = _lazily(name)
    if isfunction(found):
        from anynet_study.analysis.plots.given import checked

        found = globals()[name] = checked(found)
    return found
