"""The figures of a study: which there are, what each needs, draws and says."""

from anynet_study.errors import UserError
from anynet_study.report.figures import choosing, images, lines, pairs, runs, structure
from anynet_study.report.figures.kind import FigureKind

#: Every figure by name, in the order in which all of them are drawn.
FIGURES: dict[str, FigureKind] = {
    **pairs.KINDS,
    **choosing.KINDS,
    **structure.KINDS,
    **runs.KINDS,
    **lines.KINDS,
    **images.KINDS,
}

__all__ = ["FIGURES", "FigureKind", "figure_kind"]


def figure_kind(name: str) -> FigureKind:
    """Look up a figure by name; UserError lists the legal ones."""
    if name not in FIGURES:
        raise UserError(f"figure {name!r} is unknown; one of {', '.join(FIGURES)}")
    return FIGURES[name]
