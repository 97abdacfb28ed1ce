"""A figure made to measure: its width, its letters, its names and a style of one's own."""

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field

import matplotlib.style
from matplotlib.figure import Figure
from matplotlib.text import Text
from matplotlib.ticker import FixedLocator

from anynet_study.analysis.plots import wording
from anynet_study.analysis.plots.style import FONT_SIZE, OWN_STYLE, OWN_WIDTH
from anynet_study.core.errors import UserError

#: Inches of a unit of length.
UNITS = {"in": 1.0, "cm": 1 / 2.54, "mm": 1 / 25.4, "pt": 1 / 72}
#: The least and the most that a page takes, in inches; and letters, in points.
WIDTHS, SIZES = (1.0, 40.0), (4.0, 40.0)
#: Names are written with at least so many characters, where there is little room.
SHORTEST = 8


@dataclass(frozen=True)
class Look:
    """The width, font size, names and style of a figure; by default, its own."""

    #: Inches; the height changes alike.
    width: float | None = None
    #: Of axis labels and titles, in points; all other letters change alike.
    font_size: float | None = None
    #: What datasets are called on figures, by their names in the study.
    names: Mapping[str, str] = field(default_factory=dict)
    #: A file of matplotlib's settings, or the name of one of its styles.
    style: str = ""

    @contextmanager
    def drawing(self) -> Iterator[None]:
        """Draw in this style and width. Raises UserError where matplotlib cannot read it."""
        if self.style:
            try:
                with matplotlib.style.context(self.style):
                    pass
            except (OSError, ValueError) as error:
                said = str(error).splitlines()[0]
                raise UserError(f"--style {self.style}: {said}") from None
        style, width = OWN_STYLE.set(self.style), OWN_WIDTH.set(self.width)
        try:
            yield
        finally:
            OWN_STYLE.reset(style)
            OWN_WIDTH.reset(width)

    def apply(self, figure: Figure) -> None:
        """Change letters and names of a figure that is drawn, before its layout is solved.

        An architecture that has no name has no label: its id tells people nothing.
        """
        if self.font_size is not None:
            for text in figure.findobj(Text):
                assert isinstance(text, Text)
                text.set_fontsize(float(text.get_fontsize()) * self.font_size / FONT_SIZE)
            for axes in figure.axes:
                for axis in (axes.xaxis, axes.yaxis):
                    size = axis.get_ticklabels()[:1]
                    axis.set_tick_params(labelsize=size[0].get_fontsize() if size else None)
        for text in figure.findobj(Text):
            assert isinstance(text, Text)
            text.set_text(self._renamed(text.get_text()))
        for axes in figure.axes:
            for axis in (axes.xaxis, axes.yaxis):
                if isinstance(axis.get_major_locator(), FixedLocator):
                    labels = [label.get_text() for label in axis.get_ticklabels()]
                    if (said := [*map(self._renamed, labels)]) != labels:
                        axis.set_ticklabels(said)

    def _renamed(self, text: str) -> str:
        """A text with the new names in the place of old ones, whole or shortened."""
        for old, new in self.names.items():
            lengths = range(len(old), SHORTEST - 1, -1)
            forms = dict.fromkeys([old, *(wording.shorten(old, length) for length in lengths)])
            written = "|".join(map(re.escape, forms))
            text = new.join(re.split(rf"(?<![\w-])(?:{written})(?![\w-])", text))
        return wording.without_ids(text)


def length(option: str, text: str) -> float | None:
    """Inches of a length such as 8.5cm; None where none is given. Raises UserError."""
    if not text:
        return None
    found = re.fullmatch(r"([0-9.]+)\s*(in|cm|mm|pt)", text.strip())
    value = float(found[1]) * UNITS[found[2]] if found and found[1].count(".") < 2 else 0.0
    if not WIDTHS[0] <= value <= WIDTHS[1]:
        raise UserError(f"{option}: {text!r}; legal: 8.5cm, 85mm, 3.4in or such, 1 to 40 inches")
    return value


def new_names(option: str, told: list[str], known: list[str]) -> dict[str, str]:
    """OLD=NEW of datasets, several with commas. Raises UserError for what is no dataset."""
    names = {}
    for part in (part for text in told for part in text.split(",")):
        old, sign, new = part.strip().partition("=")
        if not sign or not new:
            raise UserError(f"{option}: {part!r} is not OLD=NEW, such as val=ImageNet")
        if old not in known:
            raise UserError(f"{option}: no dataset {old!r}; there are {', '.join(known[:12])}")
        names[old] = new
    return names
