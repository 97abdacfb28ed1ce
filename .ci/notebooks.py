"""Execute the notebooks of the documentation in place, in one folder, the first one first.

    python .ci/notebooks.py [NOTEBOOK ...]

The later ones read the study of the first. They are kept without outputs; the site is built with.
What their text says of names and of the papers' figures is compared with what the run shows.
"""

import ast
import inspect
import re
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import nbformat
from nbclient import NotebookClient

import anynet_study

ROOT = Path(__file__).parents[1]
NOTEBOOKS = ROOT / "docs" / "notebooks"
ORDER = ("first-study", "paper-1", "own-images", "own-models")


def execute(paths: list[Path]) -> None:
    """Raises nbclient's CellExecutionError, with the cell, where one fails; SystemExit for a fault
    of the text.
    """
    with tempfile.TemporaryDirectory() as folder:
        for path in paths:
            notebook = nbformat.read(path, as_version=4)
            client = NotebookClient(notebook, timeout=900, resources={"metadata": {"path": folder}})
            client.execute()
            nbformat.write(notebook, path)
            if faults := [*unknown_names(notebook), *wrong_figures(notebook)]:
                sys.exit("\n".join(f"{path.name}: {fault}" for fault in faults))


def unknown_names(notebook: nbformat.NotebookNode) -> Iterator[str]:
    """Names in backticks that are neither in code or what it shows, nor files, nor options."""
    shown = [cell.source for cell in notebook.cells if cell.cell_type == "code"]
    for cell in notebook.cells:
        for output in cell.get("outputs", ()):
            shown += [str(output.get("text", "")), *map(str, output.get("data", {}).values())]
    words = "\n".join(shown)
    options = inspect.signature(anynet_study.load).parameters
    for name in re.findall(r"`([^`]+)`", text_of(notebook)):
        in_run = re.search(rf"(?<!\w){re.escape(name)}(?!\w)", words)
        other = name.startswith(("anynet-study ", "studies/")) or (ROOT / name).exists()
        if not (in_run or other or name.partition("=")[0] in options):
            yield f"`{name}` is no name of its code, nor in what that shows"


def wrong_figures(notebook: nbformat.NotebookNode) -> Iterator[str]:
    """Sections on a figure or table of a paper that show what none of their scripts is of."""
    sections: list[tuple[str, str, str]] = []
    for cell in notebook.cells:
        heading = re.match(r"## (.*)", cell.source)
        if cell.cell_type == "markdown" and heading:
            sections.append((heading[1], cell.source, ""))
        elif cell.cell_type == "code" and sections:
            title, text, code = sections.pop()
            sections.append((title, text, code + cell.source))
    for title, text, code in sections:
        scripts = [ast.parse((ROOT / name).read_text()) for name in script_names(text)]
        asked = set(re.findall(r'study\.(?:figure|table|figure_data)\("([^"]+)"\)', code))
        drawn = {n.value for tree in scripts for n in ast.walk(tree) if isinstance(n, ast.Constant)}
        if scripts and not asked & drawn:
            yield f"{title}: shows {', '.join(asked)}, which its scripts do not"
        told = " ".join(ast.get_docstring(tree) or "" for tree in scripts)
        if re.match(r"(Figure|Table) \w+$", title) and not re.search(rf"{title}\b", told):
            yield f"{title}: no script of it is named, which says that it is"


def script_names(text: str) -> list[str]:
    """The scripts that a text names."""
    return re.findall(r"`(analysis/\w+\.py)`", text)


def text_of(notebook: nbformat.NotebookNode) -> str:
    """All that is not code."""
    return "\n".join(cell.source for cell in notebook.cells if cell.cell_type == "markdown")


if __name__ == "__main__":
    execute(
        [Path(name) for name in sys.argv[1:]] or [NOTEBOOKS / f"{name}.ipynb" for name in ORDER]
    )
