"""A hook of MkDocs: the keys of the sweep file, from its schema."""

import html
from typing import Any

from anynet_study.sweep import explain

PARTS = ("", "population", "datasets", "recipes", "replicates", "evaluations", "launch")


def on_page_markdown(markdown: str, **_: Any) -> str:
    """The page, with tables in the place of the mark."""
    return markdown.replace("<!-- keys -->", "\n\n".join(map(table, PARTS)))


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
