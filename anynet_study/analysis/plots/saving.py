"""Writing figures to files: the same bytes for the same figure."""

import functools
import re
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.backends.backend_pdf import FigureCanvasPdf
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.collections import PathCollection
from matplotlib.figure import Figure

from anynet_study.analysis.plots.style import styled
from anynet_study.core.errors import DoesNotApplyError, UserError, printable
from anynet_study.core.files import replacing, write_text
from anynet_study.core.sheets import csv_text


def _png(figure: Figure, path: Path) -> None:
    FigureCanvasAgg(figure).print_png(path)


def _pdf(figure: Figure, path: Path) -> None:
    FigureCanvasPdf(figure).print_pdf(path, metadata={"CreationDate": None})


def _svg(figure: Figure, path: Path) -> None:
    FigureCanvasSVG(figure).print_svg(path, metadata={"Date": None})


#: `Figure.savefig` draws everything twice, to measure it; these draw once.
WRITERS: dict[str, Callable[[Figure, Path], None]] = {"png": _png, "pdf": _pdf, "svg": _svg}


#: How matplotlib warns of a glyph that no font has.
_MISSING = re.compile(r"Glyph (\d+) .*missing from")


@contextmanager
def _missing_glyphs_told() -> Iterator[None]:
    """Tell glyphs that no installed font has in one line; other warnings stay warnings."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield
    matches = [(one, _MISSING.match(str(one.message))) for one in caught]
    if missing := {chr(int(match[1])) for _, match in matches if match}:
        _tell("".join(sorted(missing)))
    for one, match in matches:
        if not match:
            warnings.warn_explicit(one.message, one.category, one.filename, one.lineno)


@functools.cache
def _tell(missing: str) -> None:
    """Once for the same glyphs: a figure is written in several formats."""
    print(
        f"note: no installed font has {printable(missing)}, drawn as boxes; install one that has, "
        "such as Noto Sans CJK",
        file=sys.stderr,
    )


def check_formats(formats: Sequence[str]) -> None:
    """Raise a UserError for what is no list of png, pdf and svg."""
    if isinstance(formats, str):
        raise UserError(f"figure formats are a list, as [{formats!r}]")
    unknown = [name for name in formats if name not in WRITERS]
    if unknown:
        raise UserError(f"figure format {unknown[0]!r} is unknown; one of {', '.join(WRITERS)}")


def check_drawn(figure: Figure) -> None:
    """Raise DoesNotApplyError for a figure that shows nothing."""
    if not any(map(_shows_something, figure.axes)):
        raise DoesNotApplyError("there is nothing to draw: no value is known")


def _shows_something(axes: Axes) -> bool:
    """Tell whether there is any mark in the units of the axes that has a place."""
    lines = [line for line in axes.lines if line.get_transform() == axes.transData]
    places: list[Any] = [line.get_xydata() for line in lines]
    for marks in axes.collections:
        if isinstance(marks, PathCollection):  # of points, whose paths are their markers
            places.append(np.ma.filled(marks.get_offsets(), np.nan))
        else:
            places += [path.vertices for path in marks.get_paths()]
    found = any(len(part) and np.isfinite(part).all(axis=1).any() for part in places)
    return found or bool(axes.patches or axes.images or axes.texts)


@styled
def save(
    figure: Figure,
    stem: Path | str,
    formats: Sequence[str] = ("png", "pdf"),
    dpi: int = 200,
    table: pd.DataFrame | None = None,
) -> list[Path]:
    """Write `figure` as `stem`.png, `stem`.pdf, ... and return the paths.

    Formats are png, pdf and svg; `dpi` is that of png and of points drawn as an image. A `table`,
    the figure's data, goes to `stem`.csv.

    Raises:
        UserError: a format is none of these.
    """
    check_formats(formats)
    figure.set_dpi(dpi)
    stem, paths = Path(stem), []
    for name in formats:
        path = stem.with_name(f"{stem.name}.{name}")
        with replacing(path) as temporary, _missing_glyphs_told():
            WRITERS[name](figure, temporary)
        # The layout is solved once; solving it again for the next format would only take time.
        figure.set_layout_engine("none")
        paths.append(path)
    if table is not None:
        paths.append(stem.with_name(f"{stem.name}.csv"))
        write_text(paths[-1], csv_text(table))
    return paths
