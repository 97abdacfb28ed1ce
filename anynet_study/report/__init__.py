"""The report of a study: one page for people, with its figures and tables beside it.

`study` what it starts from; `analysis` all statistics; `figures` and `drawing` the figures;
`summary` the facts; `words` what was found; `grids` and `page` the HTML; `writing` the whole.
"""

from anynet_study.report.analysis import Analysis, analyse
from anynet_study.report.drawing import DrawnFigure, draw_figures
from anynet_study.report.figures import FIGURES
from anynet_study.report.study import StudyTables, study_tables
from anynet_study.report.writing import write_report

__all__ = [
    "FIGURES",
    "Analysis",
    "DrawnFigure",
    "StudyTables",
    "analyse",
    "draw_figures",
    "study_tables",
    "write_report",
]
