"""The report of a study: one page for people, with its figures and tables beside it.

`page` makes the page from the registry of analyses; `drawing` draws the figures; `grid` lays tables
out for people; `summary` has the facts that are no statistics; `brushing` the linked panels.
"""

from typing import TYPE_CHECKING

from anynet_study.lazy import on_first_use

if TYPE_CHECKING:
    from anynet_study.report.drawing import DrawnFigure, draw_figures
    from anynet_study.report.grid import WHY_NO_INTERVAL, Grid, grid_of, merge_repeats
    from anynet_study.report.page import write_report

__all__ = ["WHY_NO_INTERVAL", "DrawnFigure", "Grid", "draw_figures", "grid_of"]
__all__ += ["merge_repeats", "write_report"]

_HOMES = {
    "drawing": "DrawnFigure draw_figures",
    "grid": "WHY_NO_INTERVAL Grid grid_of merge_repeats",
    "page": "write_report",
}
__getattr__ = on_first_use(
    __name__, {name: module for module, names in _HOMES.items() for name in names.split()}
)
