"""Writing figures to files: the same bytes for the same figure."""

from collections.abc import Sequence
from pathlib import Path

from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from anynet_study.errors import UserError
from anynet_study.files import replacing
from anynet_study.plots.style import styled

#: For each format the metadata that would hold the time of writing.
FORMATS: dict[str, dict[str, None]] = {
    "png": {},
    "pdf": {"CreationDate": None},
    "svg": {"Date": None},
}


@styled
def save(
    figure: Figure, stem: Path, formats: Sequence[str] = ("png", "pdf"), dpi: int = 200
) -> list[Path]:
    """Write `figure` as `stem`.png, `stem`.pdf, ... and return the paths.

    Formats are png, pdf and svg; `dpi` is that of png and of points drawn as an image.

    Raises:
        UserError: a format is none of these.
    """
    unknown = [name for name in formats if name not in FORMATS]
    if unknown:
        raise UserError(f"figure format {unknown[0]!r} is unknown; one of {', '.join(FORMATS)}")
    FigureCanvasAgg(figure)
    paths = []
    for name in formats:
        path = stem.with_name(f"{stem.name}.{name}")
        with replacing(path) as temporary:
            figure.savefig(temporary, format=name, dpi=dpi, metadata=FORMATS[name])
        # The layout is solved once; solving it again for the next format would only take time.
        figure.set_layout_engine("none")
        paths.append(path)
    return paths
