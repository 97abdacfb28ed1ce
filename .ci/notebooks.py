"""Execute the notebooks of the documentation in place, in one folder, the first one first.

    python .ci/notebooks.py [NOTEBOOK ...]

The later ones read the study of the first. They are kept without outputs; the site is built with.
"""

import sys
import tempfile
from pathlib import Path

import nbformat
from nbclient import NotebookClient

NOTEBOOKS = Path(__file__).parents[1] / "docs" / "notebooks"
ORDER = ("first-study", "paper-1", "own-models")


def execute(paths: list[Path]) -> None:
    """Raises nbclient's CellExecutionError, with the cell, where one fails."""
    with tempfile.TemporaryDirectory() as folder:
        for path in paths:
            notebook = nbformat.read(path, as_version=4)
            client = NotebookClient(notebook, timeout=900, resources={"metadata": {"path": folder}})
            client.execute()
            nbformat.write(notebook, path)


if __name__ == "__main__":
    execute(
        [Path(name) for name in sys.argv[1:]] or [NOTEBOOKS / f"{name}.ipynb" for name in ORDER]
    )
