"""The tables of an analysis on a terminal, fitted to its width."""

import math
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING

from rich.console import Console
from rich.markup import escape
from rich.table import Table

if TYPE_CHECKING:
    import pandas as pd

    from anynet_study.report.grid import Grid

#: Longest dataset name that is shown whole.
NAME_WIDTH = 18
#: Blanks between columns.
GAP = 2


def number(value: float, digits: int = 2) -> str:
    """A number, without a sign on zero; a dash where there is none."""
    if not math.isfinite(value):
        return "–"
    text = f"{value:.{digits}f}"
    return text.removeprefix("-") if float(text) == 0 else text


def name_of(dataset: str) -> str:
    """A dataset's name on one line, cut in the middle if it is long."""
    if len(dataset) <= NAME_WIDTH:
        return dataset
    tail = NAME_WIDTH // 2 - 1
    return dataset[: NAME_WIDTH - 1 - tail] + "…" + dataset[-tail:]


def print_matrix(console: Console, table: "pd.DataFrame") -> None:
    """The lower triangle of the correlations, in as many panels as the width asks for."""
    from anynet_study.apr import as_matrix

    matrix = as_matrix(table)
    labels = [f"{i} {name_of(str(name))}" for i, name in enumerate(matrix.columns, 1)]
    fitting = max(3, (console.width - max(map(len, labels)) - 2) // 6)
    edges = [*range(0, max(1, len(matrix) - 1), fitting), len(matrix) - 1]
    for start, stop in pairwise(edges):
        grid = Table(box=None, padding=(0, 1, 0, 0), pad_edge=False)
        grid.add_column("")
        for column in range(start, stop):
            grid.add_column(str(column + 1), justify="right", min_width=5)
        for row in range(start + 1, len(matrix)):
            cells = matrix.iloc[row, start : min(row, stop)]
            grid.add_row(escape(labels[row]), *map(number, cells))
        if start == 0:
            console.print(labels[0], highlight=False, markup=False)
        console.print(grid)


def print_heading(console: Console, name: str) -> None:
    """The title of a table."""
    from anynet_study.report import ANALYSES

    title = ANALYSES[name].title if name in ANALYSES else name
    console.print(f"\n[bold]{escape(title)}[/bold]", highlight=False)


def print_table(console: Console, name: str, table: "pd.DataFrame") -> None:
    """A table of `apr` under its title: that of the analysis of this name, or the name itself."""
    from anynet_study.report import ANALYSES
    from anynet_study.report.grid import WHY_NO_INTERVAL, grid_of, merge_repeats, plain_grid

    print_heading(console, name)
    if table.empty:
        console.print("nothing to show")
        return
    if name == "correlations":
        print_matrix(console, table)
        console.print()
    shown = table
    for separator in (" ", "\n"):
        kind = ANALYSES.get(name)
        grid = grid_of(shown, kind, "", separator) if kind else plain_grid(shown, {}, separator)
        grid = _plain(grid)
        if _width(grid) <= console.width:
            break
    if name == "configurations":  # too wide with a column of datasets
        _print_parts(console, grid)
        return
    shown_once = grid if name == "correlations" else merge_repeats(grid)
    for part in _fitting(shown_once, console.width):
        console.print(_table(part, console.width), highlight=False)
    if grid.lacks_intervals:
        console.print(WHY_NO_INTERVAL, highlight=False, markup=False)


def _plain(grid: "Grid") -> "Grid":
    """With the minus that people type, and names that leave room for numbers."""
    rows = [
        [
            name_of(cell) if place < grid.names else cell.replace("−", "-")
            for place, cell in enumerate(row)
        ]
        for row in grid.rows
    ]
    return replace(grid, rows=rows)


def _width(grid: "Grid", headings: bool = False) -> int:
    """Of the widest line; `headings`: were they not broken at blanks."""
    heads = grid.headings if headings else [each.replace(" ", "\n") for each in grid.headings]
    widest = [
        max(len(line) for cell in column for line in cell.split("\n"))
        for column in zip(heads, *grid.rows, strict=True)
    ]
    return sum(widest) + GAP * (len(widest) - 1)


def _fitting(grid: "Grid", width: int) -> list["Grid"]:
    """The grid in parts whose columns fit a width, the names in each."""
    chosen: list[list[int]] = []
    for place in range(grid.names, len(grid.headings)):
        wider = [*(chosen[-1] if chosen else []), place]
        if chosen and _width(_columns(grid, wider)) <= width:
            chosen[-1] = wider
        else:
            chosen.append([place])
    return [_columns(grid, places) for places in chosen or [[]]]


def _columns(grid: "Grid", places: list[int]) -> "Grid":
    """The names of a grid and these of its columns."""
    kept = [*range(grid.names), *places]
    rows = [[row[place] for place in kept] for row in grid.rows]
    return replace(grid, headings=[grid.headings[place] for place in kept], rows=rows)


def _print_parts(console: Console, grid: "Grid") -> None:
    """A part a dataset, under its name."""
    for dataset in dict.fromkeys(row[0] for row in grid.rows):
        rows = [row[1:] for row in grid.rows if row[0] == dataset]
        part = replace(grid, headings=grid.headings[1:], rows=rows, names=grid.names - 1)
        console.print(f"[bold]{escape(dataset)}[/bold]", highlight=False)
        console.print(_table(part, console.width), highlight=False)


def _table(grid: "Grid", width: int) -> Table:
    """Headings are broken at blanks where the width asks for it, cells never."""
    if _width(grid, headings=True) > width:
        grid = replace(grid, headings=[each.replace(" ", "\n") for each in grid.headings])
    table = Table(box=None, padding=(0, GAP, 0, 0), pad_edge=False, header_style="bold")
    for place, heading in enumerate(grid.headings):
        table.add_column(heading, justify="left" if place < grid.names else "right", no_wrap=True)
    for row in grid.rows:
        table.add_row(*map(escape, row))
    return table
