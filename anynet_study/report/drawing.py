"""Drawing a study's figures into a folder."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from anynet_study import plots
from anynet_study.errors import UserError
from anynet_study.files import write_text
from anynet_study.report.analysis import Analysis
from anynet_study.report.figures import FIGURES, figure_kind

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
    kinds = {name: figure_kind(name) for name in names}
    drawn = []
    for name, kind in kinds.items():
        try:
            figure, data = kind.draw(analysis), kind.data(analysis)
        except UserError as error:
            _remove(folder, name)
            drawn.append(DrawnFigure(name, kind.caption, {}, left_out=str(error)))
            continue
        paths = plots.save(figure, folder / name, formats, dpi)
        write_text(folder / f"{name}.csv", data.to_csv(index=False, lineterminator="\n"))
        drawn.append(
            DrawnFigure(
                name, kind.caption, {path.suffix[1:]: path for path in paths}, figure.get_figwidth()
            )
        )
    return drawn


def _remove(folder: Path, name: str) -> None:
    """Remove the files of an earlier drawing that no longer applies."""
    for suffix in SUFFIXES:
        (folder / f"{name}.{suffix}").unlink(missing_ok=True)
