"""The report of a study: one page for people, with its figures and tables beside it.

`drawing` draws the figures; `summary` says the facts; `grid`, `grids`, `brushing` and `page` make
the HTML, from `templates/`; `writing` the whole.
"""

from anynet_study.report.drawing import DrawnFigure, draw_figures
from anynet_study.report.writing import write_report

__all__ = [
    "DrawnFigure",
    "draw_figures",
    "write_report",
]
