"""The tables of an analysis for other programs, for LaTeX, and in files."""

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING

from anynet_study.errors import UserError

if TYPE_CHECKING:
    import pandas as pd

    from anynet_study.report import Analysis, Options
    from anynet_study.report.grid import Grid

SUFFIXES = {"text": ".txt", "csv": ".csv", "json": ".json", "latex": ".tex"}

#: What the escaping of LaTeX's own characters leaves.
LATEX_SIGNS = {
    "−": "$-$",
    "±": "$\\pm$",
    "ρ": "$\\rho$",
    "–": "--",
    "<0.": "$<$0.",
    "∞": "$\\infty$",
}


def choose_layout(told: str, output: Path | None, tables: int) -> str:
    """The format of --format or of the ending of the file; text where nothing says.

    Raises UserError for a format or ending that is none, and for tables that do not fit one file.
    """
    by_ending = {suffix: layout for layout, suffix in SUFFIXES.items()}
    ending = output.suffix.lower() if output else ""
    if told and told not in SUFFIXES:
        raise UserError(f"--format: no {told!r}; legal: {', '.join(SUFFIXES)}")
    if ending and ending not in by_ending:
        raise UserError(f"-o {output}: ending {ending}; legal: {', '.join(by_ending)}, or a folder")
    layout = told or by_ending.get(ending, "text")
    one_place = ending or output is None
    if tables > 1 and one_place and layout in ("csv", "latex"):
        raise UserError(
            f"--format {layout} of several tables needs --output FOLDER, or one --table"
        )
    return layout


def write_tables(analysis: "Analysis", layout: str, folder: Path) -> None:
    """Write a file a table, and print their paths."""
    from anynet_study.files import write_text

    for name in analysis.found:
        path = folder / f"{name}{SUFFIXES[layout]}"
        write_text(path, formatted(analysis, name, layout))
        print(path)


def formatted(analysis: "Analysis", name: str, layout: str) -> str:
    """One table as a text that ends with a line break."""
    table = analysis.found[name]
    if layout == "csv":
        return str(table.to_csv(index=False, lineterminator="\n"))
    if layout == "json":
        return json.dumps(records(table), indent=2) + "\n"
    return _latex(analysis, name) if layout == "latex" else _aligned(_grid(analysis, name))


def records(table: "pd.DataFrame") -> list[dict[str, object]]:
    """Rows as JSON objects; null where a value is undefined."""
    values = table.astype(object)
    rows: list[dict[str, object]] = values.where(table.notna(), None).to_dict("records")
    return rows


def method_in_words(options: "Options") -> str:
    """`Spearman, 95% intervals from 10,000 resamples (seed 0)`."""
    return (
        f"{options.method.capitalize()}, {100 * options.level:g}% intervals from "
        f"{options.resamples:,} resamples (seed {options.seed})"
    )


def _grid(analysis: "Analysis", name: str) -> "Grid":
    from anynet_study.report import ANALYSES
    from anynet_study.report.grid import grid_of

    return grid_of(analysis.found[name], ANALYSES[name])


def _latex(analysis: "Analysis", name: str) -> str:
    """A table with a caption, for the package booktabs."""
    import pandas as pd

    from anynet_study.report import ANALYSES
    from anynet_study.report.grid import WHY_NO_INTERVAL

    grid = _grid(analysis, name)
    sentences = [ANALYSES[name].title, method_in_words(analysis.options)]
    sentences += [WHY_NO_INTERVAL.capitalize()] if grid.lacks_intervals else []
    # pandas escapes cells, but no captions: ours are free of all but percent signs.
    caption = " ".join(f"{sentence}." for sentence in sentences).replace("%", r"\%")
    text: str = pd.DataFrame(grid.rows, columns=grid.headings).to_latex(
        index=False,
        escape=True,
        caption=caption,
        label=f"tab:{name}",
        column_format="l" * grid.names + "r" * (len(grid.headings) - grid.names),
    )
    for sign, command in LATEX_SIGNS.items():
        text = text.replace(sign, command)
    begin = "\\begin{table}"
    return "% \\usepackage{booktabs}\n" + text.replace(begin, f"{begin}\n\\centering")


def _aligned(grid: "Grid") -> str:
    """Columns of plain text, as wide as they need to be."""
    rows = [grid.headings, *grid.rows]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = []
    for row in rows:
        cells = [
            cell.ljust(width) if place < grid.names else cell.rjust(width)
            for place, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        lines.append("  ".join(cells).rstrip() + "\n")
    return re.sub("−", "-", "".join(lines))
