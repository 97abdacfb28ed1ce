"""The report of a study: one page for people, with its figures and tables beside it.

`study` what it starts from; `analyses` which statistics there are, `analysis` all of them of one
study; `figures` and `drawing` the figures; `summary` the facts; `words` what was found; `grid`,
`grids`, `brushing` and `page` the HTML, from `templates/`; `writing` the whole.
"""

from anynet_study.report.analyses import ANALYSES, Options
from anynet_study.report.analysis import Analysis, analyse
from anynet_study.report.drawing import DrawnFigure, draw_figures
from anynet_study.report.figures import FIGURES
from anynet_study.report.reading import study_tables
from anynet_study.report.study import Choice, StudyTables
from anynet_study.report.writing import write_report

__all__ = [
    "ANALYSES",
    "FIGURES",
    "Analysis",
    "Choice",
    "DrawnFigure",
    "Options",
    "StudyTables",
    "analyse",
    "draw_figures",
    "study_tables",
    "write_report",
]
