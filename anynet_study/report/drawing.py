"""Drawing a study's figures into a folder."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from anynet_study import plots
from anynet_study.apr.bootstrap import cores
from anynet_study.errors import UserError
from anynet_study.files import write_text
from anynet_study.report.analysis import Analysis
from anynet_study.report.figures import FIGURES, figure_kind
from anynet_study.report.side_by_side import side_by_side

SUFFIXES = ("png", "pdf", "svg", "csv")


@dataclass(frozen=True)
class DrawnFigure:
    """One figure of a folder: files by their ending, or the reason why it was left out."""

    name: str
    caption: str
    files: dict[str, Path]
    #: Inches.
    width: float = 0.0
    left_out: str = ""


def draw_figures(
    analysis: Analysis,
    folder: Path,
    names: Sequence[str] = tuple(FIGURES),
    formats: Sequence[str] = ("png", "svg"),
    dpi: int = 200,
) -> list[DrawnFigure]:
    """Write the named figures and, as `<name>.csv`, what is drawn; say which do not apply.

    Raises:
        UserError: a name or a format is unknown.
    """
    for name in names:
        figure_kind(name)
    return side_by_side(lambda name: _draw(analysis, folder, name, formats, dpi), names, cores())


def _draw(
    analysis: Analysis, folder: Path, name: str, formats: Sequence[str], dpi: int
) -> DrawnFigure:
    kind = figure_kind(name)
    try:
        figure, data = kind.draw(analysis), kind.data(analysis)
    except UserError as error:
        _remove(folder, name)
        return DrawnFigure(name, kind.caption, {}, left_out=str(error))
    paths = plots.save(figure, folder / name, formats, dpi)
    write_text(folder / f"{name}.csv", data.to_csv(index=False, lineterminator="\n"))
    files = {path.suffix[1:]: path for path in paths}
    return DrawnFigure(name, kind.caption, files, figure.get_figwidth())


def _remove(folder: Path, name: str) -> None:
    """Remove the files of an earlier drawing that no longer applies."""
    for suffix in SUFFIXES:
        (folder / f"{name}.{suffix}").unlink(missing_ok=True)
