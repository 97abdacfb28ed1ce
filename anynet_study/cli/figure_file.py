"""A figure in a file that a command's option names."""

from pathlib import Path
from typing import TYPE_CHECKING

from anynet_study.errors import UserError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FORMATS = (".png", ".pdf", ".svg")


def check_figure(option: str, path: Path | None) -> None:
    """Refuse, before any work, a file that a figure cannot be written to."""
    if path is not None and path.suffix not in FORMATS:
        raise UserError(f"{option}: {path} must end in {', '.join(FORMATS)}")


def save_figure(figure: "Figure", path: Path) -> None:
    """Write the figure in the format that the suffix says."""
    from anynet_study.plots.saving import save

    save(figure, path.with_suffix(""), [path.suffix[1:]])
