"""Drawing a study's figures into a folder."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from anynet_study import plots
from anynet_study.analyses import FIGURES
from anynet_study.apr.bootstrap import cores
from anynet_study.errors import UserError
from anynet_study.files import write_text
from anynet_study.report.side_by_side import side_by_side
from anynet_study.study import Study

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
    study: Study,
    folder: Path,
    names: Sequence[str] = FIGURES,
    formats: Sequence[str] = ("png", "svg"),
    dpi: int = 200,
) -> list[DrawnFigure]:
    """Write the named figures and, as `<name>.csv`, what is drawn; say which do not apply.

    Raises:
        UserError: a name or a format is unknown.
    """
    figures = [study.study_figure(name) for name in names]
    tables = [study.analysis_of(figure) for figure in figures]
    needed = {each.name for each in tables if each.table} | {n for f in figures for n in f.needs}
    study.make([name for name in study.analyses if name in needed])  # before processes part
    chosen = [figure.name for figure in figures]
    return side_by_side(lambda name: _draw(study, folder, name, formats, dpi), chosen, cores())


def _draw(study: Study, folder: Path, name: str, formats: Sequence[str], dpi: int) -> DrawnFigure:
    caption = study.caption(name)
    try:
        figure, data = study.figure(name), study.figure_data(name)
    except UserError as error:
        _remove(folder, name)
        return DrawnFigure(name, caption, {}, left_out=str(error))
    paths = plots.save(figure, folder / name, formats, dpi)
    write_text(folder / f"{name}.csv", data.to_csv(index=False, lineterminator="\n"))
    files = {path.suffix[1:]: path for path in paths}
    return DrawnFigure(name, caption, files, figure.get_figwidth())


def _remove(folder: Path, name: str) -> None:
    """Remove the files of an earlier drawing that no longer applies."""
    for suffix in SUFFIXES:
        (folder / f"{name}.{suffix}").unlink(missing_ok=True)
