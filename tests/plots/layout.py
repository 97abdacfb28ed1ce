"""What a figure for a paper must hold to."""

from itertools import pairwise

from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.text import Text

from anynet_study.plots import style


def check_layout(figure: Figure) -> None:
    """No wider than two columns, nothing cut, no titles that overlap, no text that is too small."""
    FigureCanvasAgg(figure).draw()
    width, height = figure.get_size_inches()
    assert width <= style.TWO_COLUMNS
    box = figure.get_tightbbox()
    slack = 0.03
    assert box.x0 >= -slack
    assert box.y0 >= -slack
    assert box.x1 <= width + slack
    assert box.y1 <= height + slack
    titles = [axes.title for axes in figure.axes if axes.get_title()]
    boxes = sorted((t.get_window_extent() for t in titles), key=lambda b: (round(b.y0), b.x0))
    for left, right in pairwise(boxes):
        assert not left.overlaps(right)
    texts = [text for text in figure.findobj(Text) if text.get_text()]
    assert min(text.get_fontsize() for text in texts) >= style.SMALLEST_TEXT
