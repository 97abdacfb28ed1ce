"""Tables on the terminal: every command prints them with `print_table`."""

import os
from collections.abc import Collection, Mapping, Sequence
from itertools import zip_longest
from textwrap import wrap
from typing import TYPE_CHECKING, Any, Literal

from anynet_study.core.errors import printable

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

#: Blanks between columns.
GAP = 2
#: The share of a terminal's width that columns of names get, where a table needs several parts.
NAMES_SHARE = 0.5
#: A text column is shortened, rather than left out, if at least this many characters remain for it.
SHORTENED = 40
#: How a table is printed that is wider than the terminal; see `table_text`.
Wide = Literal["fold", "split", "cut"]
#: Numbers of the leading columns that are aligned to the left, or the places of these columns.
Left = int | Collection[int]


def print_table(
    headings: Sequence[str],
    rows: Sequence[Sequence[Any]],
    *,
    console: "Console | None" = None,
    **options: Any,
) -> None:
    """Print rows of cells under their headings; the options are those of `table_text`.

    `console` (default: the terminal, 80 characters where there is none) says where and how wide. In
    a file or pipe of no stated width (COLUMNS), a table is as wide as it needs; but long texts are
    folded.
    """
    from rich.console import Console

    console = console or Console()
    shown = console.is_terminal or "COLUMNS" in os.environ or options.get("wide", "fold") == "fold"
    width = console.width if shown else None
    text = table_text(headings, rows, width=width, styled=console.is_terminal, **options)
    # Written at once: rich itself would end the process if the reader of a pipe has left.
    console.file.write(text)
    console.file.flush()


def table_text(
    headings: Sequence[str],
    rows: Sequence[Sequence[Any]],
    *,
    title: str = "",
    left: Left = 1,
    wide: Wide = "fold",
    width: int | None = None,
    styled: bool = False,
) -> str:
    """The lines of a table, each ended by a line break.

    A cell is shown as `cell_text` has it. Without headings (all empty) there is no line of them.
    `width` is in characters; None: whatever the table needs. A table that is wider breaks its
    headings at blanks. If that is not enough, `wide` says what is done:

    - `fold`: long texts in columns aligned to the left go on in the next line of their cell.
    - `split`: intervals go below their estimates (`0.91 [0.88, 0.94]` is one cell), long names
      (columns aligned to the left) go on in the next line, and the columns that still do not fit
      follow in further parts, each with the names.
    - `cut`: a long text column loses its end; columns that do not fit are left out and named.

    `styled`: bold title and headings, as a terminal shows them.
    """
    headings = [harmless(heading) for heading in headings]
    cells = [[cell_text(cell) for cell in row] for row in rows]
    lefts = set(range(left) if isinstance(left, int) else left)
    grid = [list(headings) or [""] * len(cells[0] if cells else ()), *cells]
    limit = width or table_width(grid)
    parts = _fitted(grid, lefts, limit, wide)
    lines = [_bold(title, styled)] if title else []
    for part, aligned in parts:
        if wide == "fold" and table_width(part) > limit:
            from rich.console import Console

            console = Console(width=limit, force_terminal=styled, highlight=False, markup=False)
            with console.capture() as capture:
                console.print(rich_table(part[0], part[1:], aligned))
            lines += [line.rstrip() for line in capture.get().splitlines()]
        else:
            lines += _aligned(part, aligned, styled)
    hidden = [name for name in headings if wide == "cut" and name not in parts[0][0][0]]
    if hidden:
        lines.append(f"not shown, for want of width: {', '.join(hidden)}; see --columns")
    return "".join(f"{line}\n" for line in lines)


def _aligned(grid: list[list[str]], lefts: set[int], styled: bool) -> list[str]:
    """The lines of a table that fits: what rich would print, for thousands of rows much faster."""
    widths = [_width(column) for column in zip(*grid, strict=True)]
    found = []
    for number, row in enumerate(grid):
        cells = [cell.split("\n") for cell in row]
        lines = [
            (" " * GAP)
            .join(
                text.ljust(width) if place in lefts else text.rjust(width)
                for place, (text, width) in enumerate(zip(texts, widths, strict=True))
            )
            .rstrip()
            for texts in zip_longest(*cells, fillvalue="")
        ]
        if number or any(row):
            found += lines if number else [_bold(line, styled) for line in lines]
    return found


def _bold(text: str, styled: bool) -> str:
    return f"\x1b[1m{text}\x1b[0m" if styled else text


def rich_table(
    headings: Sequence[str], rows: Sequence[Sequence[Any]], left: Left = 1, title: str = ""
) -> "Table":
    """The table for rich, as for a live display; texts that are too long are folded."""
    from rich.table import Table
    from rich.text import Text

    table = Table(
        title=Text(title) if title else None,
        title_justify="left",
        title_style="bold",
        box=None,
        padding=(0, GAP, 0, 0),
        pad_edge=False,
        header_style="bold",
        show_header=any(headings),
    )
    lefts = set(range(left) if isinstance(left, int) else left)
    for place, heading in enumerate(headings):
        if place in lefts:
            table.add_column(Text(heading), overflow="fold")
        else:
            table.add_column(Text(heading), justify="right", no_wrap=True)
    for row in rows:
        table.add_row(*(Text(cell_text(cell)) for cell in row))
    return table


def column_cells(
    columns: Mapping[str, Sequence[Any]],
) -> tuple[list[str], list[list[str]], set[int]]:
    """Columns as headings, rows and the places of the columns of text, for `print_table`.

    None and NaN are empty. Numbers that are not whole have two decimals, or four in a column of
    numbers below ten.
    """
    found, texts = [], set()
    for place, values in enumerate(columns.values()):
        known = [value for value in values if value is not None and value == value]
        if not all(isinstance(value, int | float) for value in known):
            texts.add(place)
        floats = [abs(value) for value in known if isinstance(value, float)]
        decimals = 2 if max(floats, default=0) >= 10 else 4
        found.append(["" if v is None or v != v else _cell(v, decimals) for v in values])
    return list(columns), [list(row) for row in zip(*found, strict=True)], texts


def print_columns(columns: Mapping[str, Sequence[Any]], left: Left | None = None) -> None:
    """Print columns as `column_cells` has them; text to the left, unless `left` is told."""
    headings, cells, texts = column_cells(columns)
    print_table(headings, cells, left=texts if left is None else left)


def _cell(value: Any, decimals: int) -> str:
    return f"{value:.{decimals}f}" if isinstance(value, float) else str(value)


def cell_text(value: Any) -> str:
    """None is empty; a float has two decimals (`number`); all else is as Python prints it."""
    if value is None:
        return ""
    return number(value) if isinstance(value, float) else harmless(str(value))


def harmless(text: str) -> str:
    """Escape control characters: names of models may come from anybody."""
    return "\n".join(map(printable, text.split("\n")))


def number(value: float, digits: int = 2) -> str:
    """Write a number as on figures, but with an ASCII minus."""
    from anynet_study.analysis.plots import wording

    return wording.number(value, digits).replace("−", "-")


def table_width(grid: Sequence[Sequence[str]]) -> int:
    """Characters of the widest line of a table; `grid` is its headings and its rows."""
    return sum(map(_width, zip(*grid, strict=True))) + GAP * (len(grid[0]) - 1) if grid[0] else 1


_Part = tuple[list[list[str]], set[int]]


def _fitted(grid: list[list[str]], lefts: set[int], width: int, wide: Wide) -> list[_Part]:
    """The parts in which a table is printed, each with the places of its columns of names."""
    if table_width(grid) <= width:
        return [(grid, lefts)]
    if wide == "cut":
        return [_cut(grid, lefts, width)]
    grid = [[heading.replace(" ", "\n") for heading in grid[0]], *grid[1:]]
    if wide == "fold" or table_width(grid) <= width:
        return [(grid, lefts)]
    grid = [[cell.replace(" [", "\n[") for cell in row] for row in grid]
    if table_width(grid) <= width:
        return [(grid, lefts)]
    return _split(_folded(grid, lefts, int(width * NAMES_SHARE)), lefts, width)


def _folded(grid: list[list[str]], lefts: set[int], room: int) -> list[list[str]]:
    """The longest names go on in further lines, so that the columns of names fit into `room`.

    No column becomes narrower than its heading.
    """
    widths = {place: _width([row[place] for row in grid]) for place in lefts}
    least = {place: _width([grid[0][place]]) for place in lefts}
    most = max(widths.values(), default=1)
    while most > 1 and sum(min(widths[at], max(most, least[at])) + GAP for at in lefts) > room:
        most -= 1
    return [
        [
            "\n".join(fold(line, max(most, least[place])) for line in cell.split("\n"))
            if place in lefts
            else cell
            for place, cell in enumerate(row)
        ]
        for row in grid
    ]


def fold(text: str, width: int) -> str:
    """A text in lines of at most `width` characters, if possible broken at blanks and hyphens."""
    return "\n".join(wrap(text, width)) or text


def _split(grid: list[list[str]], lefts: set[int], width: int) -> list[_Part]:
    """The columns of names with as many of the others as fit, and again for those that are left."""
    names = sorted(lefts)
    parts: list[list[int]] = []
    for place in (place for place in range(len(grid[0])) if place not in lefts):
        wider = [*(parts[-1] if parts else names), place]
        if parts and table_width([[row[column] for column in wider] for row in grid]) <= width:
            parts[-1] = wider
        else:
            parts.append([*names, place])
    shown = set(range(len(names)))
    return [([[row[column] for column in part] for row in grid], shown) for part in parts]


def _cut(grid: list[list[str]], lefts: set[int], width: int) -> _Part:
    """The first columns that fit, at least one; long texts may lose their ends."""
    columns: list[list[str]] = []
    used = -GAP
    for cells in map(list, zip(*grid, strict=True)):
        room = width - used - GAP
        if columns and _width(cells) > max(room, SHORTENED) and room >= SHORTENED:
            cells = [_shortened(cell, room) for cell in cells]
        elif columns and _width(cells) > room:
            break
        columns.append(cells)
        used += GAP + _width(cells)
    return [list(row) for row in zip(*columns, strict=True)], lefts


def _shortened(text: str, width: int) -> str:
    line = " ".join(text.split())
    return line if len(line) <= width else f"{line[: width - 3]}..."


def _width(cells: Sequence[str]) -> int:
    return max(len(line) for cell in cells for line in cell.split("\n"))
