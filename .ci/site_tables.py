"""A hook of MkDocs: tables of what the code says itself, in the place of marks in the pages."""

import ast
import html
from pathlib import Path
from typing import Any

from anynet_study.sweep import explain

ROOT = Path(__file__).parents[1]
PARTS = ("", "population", "datasets", "recipes", "recipes.NAME.tuning")
PARTS += ("replicates", "evaluations", "launch")


def on_page_markdown(markdown: str, **_: Any) -> str:
    """The page, with tables in the place of the marks."""
    made = {"keys": keys, "experiments": experiments, "scripts": scripts}
    for mark, make in made.items():
        if f"<!-- {mark} -->" in markdown:
            markdown = markdown.replace(f"<!-- {mark} -->", make())
    return markdown


def keys() -> str:
    """The keys of the sweep file."""
    return "\n\n".join(map(table, PARTS))


def experiments() -> str:
    """What `sweeps/README.md` says, without its heading."""
    return (ROOT / "sweeps" / "README.md").read_text(encoding="utf-8").partition("\n")[2]


def scripts() -> str:
    """A row per script of `analysis/`: its name and the question that it answers."""
    lines = ["| script | question |", "|---|---|"]
    for path in sorted((ROOT / "analysis").glob("*.py")):
        told = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
        question = " ".join(told.split("\n\n")[0].split())
        lines.append(f"| `{path.name}` | {question} |")
    return "\n".join(lines)


def table(part: str) -> str:
    """A heading, and a row per key."""
    lines = [
        f"### {part or 'All of it'}",
        "",
        "| key | value | default | meaning |",
        "|---|---|---|---|",
    ]
    for key in explain(part)[1]:
        cells = (f"`{key.path}`", key.kind, key.default, key.meaning)
        lines.append(
            f"| {' | '.join(html.escape(cell).replace('|', '&#124;') for cell in cells)} |"
        )
    return "\n".join(lines)
