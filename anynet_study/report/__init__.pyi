from .drawing import DrawnFigure as DrawnFigure
from .drawing import draw_figures as draw_figures
from .grid import WHY_NO_INTERVAL as WHY_NO_INTERVAL
from .grid import Grid as Grid
from .grid import grid_of as grid_of
from .grid import merge_repeats as merge_repeats
from .page import write_report as write_report
from .watching import watch_server as watch_server
