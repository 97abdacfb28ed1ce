"""Give every analysis of the site's gallery an example: a picture, and the head of its table.

A hook of mkdocs, in place of `<!-- example of NAME -->` in docs/gallery.md. The examples are made
whenever the site is built, so that they show what the code draws: of the study across domains
(analysis/cross-domain/release), or, where that has nothing of the kind, of the small synthetic
study of docs/gallery.py. The site is not built with a figure in which texts overlap or are cut.
"""

import functools
import html
import io
import re
import runpy
import sys
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page
from PIL import Image

import anynet_study
from anynet_study import plots
from anynet_study.analysis.analyses import ANALYSES
from anynet_study.analysis.analysis import Analysis
from anynet_study.analysis.report import grid_of, markdown
from anynet_study.analysis.study import Study
from anynet_study.core.errors import UserError

ROOT = Path(__file__).parents[1]
sys.path.append(str(ROOT / "tests" / "analysis" / "plots"))

from figure_faults import faults  # noqa: E402

PAGE, PICTURES = "gallery.md", "pictures/analyses"
MARK = re.compile(r"<!-- example of ([\w-]+) -->")
RESAMPLES, ROWS = 200, 5
#: An interval and the space before it stay in one line.
INTERVAL, NO_BREAK = re.compile(r" \[[^]|]*\]"), "\u00a0"
#: Dots per inch, and colours: enough for letters on a screen.
DOTS, COLOURS = 150, 64


@dataclass(frozen=True)
class Example:
    """What one analysis gives."""

    #: A PNG; b"": it has no figure.
    picture: bytes
    caption: str
    #: In Markdown; "": it has no table.
    table: str
    #: What it is of.
    of: str
    #: What is wrong with the looks of its figure.
    faults: list[str]


@functools.cache  # `mkdocs serve` builds again and again
def examples() -> dict[str, Example]:
    """Those of all analyses, by name.

    Raises RuntimeError for one of which there is none, and for a figure with faults of its looks.
    """
    gallery = runpy.run_path(str(ROOT / "docs" / "gallery.py"))
    with tempfile.TemporaryDirectory() as scratch:
        studies = {
            "the study across domains": gallery["DOMAINS"],
            "a small synthetic study": gallery["miniature"](Path(scratch) / "miniature", count=5),
        }
        loaded = {
            name: anynet_study.load(path, resamples=RESAMPLES) for name, path in studies.items()
        }
        made = {}
        for name in ANALYSES:
            found = (example_of(study, name, of) for of, study in loaded.items())
            made[name] = next((example for example in found if example), None)
    if lacking := [name for name, example in made.items() if example is None]:
        raise RuntimeError(f"no example of {', '.join(lacking)}")
    if wrong := {name: example.faults for name, example in made.items() if example.faults}:
        raise RuntimeError(f"wrong by their boxes: {wrong}")
    return {name: example for name, example in made.items() if example}


def example_of(study: Study, name: str, of: str) -> Example | None:
    """The table and the first figure of an analysis; None where the study lacks the data."""
    analysis = study.analyses[name]
    figures = analysis.figures[:1]
    try:
        table = table_of(study, analysis) if analysis.table else ""
        drawn = [study.figure(figure.name) for figure in figures]
    except UserError:
        return None
    caption = study.caption(figures[0].name) if figures else ""
    picture = b"".join(map(png, drawn))
    return Example(picture, caption, table, of, [fault for one in drawn for fault in faults(one)])


def png(figure: Any) -> bytes:
    """A figure of few colours, as the screen shows it."""
    small = io.BytesIO()
    with tempfile.TemporaryDirectory() as scratch:
        (path,) = plots.save(figure, Path(scratch) / "figure", formats=("png",), dpi=DOTS)
        Image.open(path).convert("RGB").quantize(COLOURS).save(small, format="png", optimize=True)
    return small.getvalue()


def table_of(study: Study, analysis: Analysis[Any]) -> str:
    """The first rows of a table in Markdown, and how many there are."""
    grid = grid_of(study.table(analysis.name), analysis)
    count = len(grid.rows)
    rest = f"\n\nThe first {ROWS} of {count} rows." if count > ROWS else ""
    table = markdown(replace(grid, rows=grid.rows[:ROWS]))
    return INTERVAL.sub(lambda found: found[0].replace(" ", NO_BREAK), table) + rest


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pictures to the site."""
    for name, example in examples().items():
        if example.picture:
            path = f"{PICTURES}/{name}.png"
            files.append(File.generated(config, path, content=example.picture))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Write the examples into the gallery."""
    if page.file.src_uri != PAGE:
        return markdown
    return MARK.sub(lambda mark: as_shown(mark[1], examples()[mark[1]]), markdown)


def as_shown(name: str, example: Example) -> str:
    """The part of the page that shows an example."""
    said = f"Example, of {example.of}:"
    if not example.picture:
        return f"{said}\n\n{example.table}"
    path = f"{PICTURES}/{name}.png"
    picture = f"[![{name}]({path}){{ .example loading=lazy }}]({path})"  # a click shows it larger
    caption = html.escape(example.caption, quote=False)
    return f"{said}\n\n{picture}\n\n*{caption}*\n\n{example.table}"
