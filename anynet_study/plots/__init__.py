"""Figures of a study: pure functions of tables that return a matplotlib Figure.

A chart, plot or heatmap is one panel, and draws in `ax` where that is given; a grid has a panel
for each dataset, and draws in as many `axes`; figures with a layout of their own take an empty
`figure`. Methods, levels and weights that they name are those of the table's `attrs` (`wording`).
The tables behind figures of points are `*_data`.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
