"""Rows on the terminal or in a file: as a table, CSV, JSON or Parquet."""

import json
import math
import sys
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any

from anynet_study.errors import UserError

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

#: Rows that a table on the terminal shows where nothing else is said.
TERMINAL_ROWS = 40
#: Endings of results stores, which take years to make and a slip of -o to lose.
STORES = (".h5", ".hdf5")
#: Rows that are converted at a time.
BATCH_ROWS = 50_000
#: Blanks between the columns of a table.
GAP = 2
#: A column of longer texts is cut, rather than left out, where so much room is left.
LONG = 40


class Format(StrEnum):
    """How rows are written."""

    TABLE = "table"
    CSV = "csv"
    JSON = "json"
    PARQUET = "parquet"


#: What the ending of a file says; a table is for people, as text is.
ENDINGS = {
    "": Format.TABLE,
    ".txt": Format.TABLE,
    ".csv": Format.CSV,
    ".json": Format.JSON,
    ".parquet": Format.PARQUET,
}


def choose_format(told: Format | None, output: Path | None) -> Format:
    """The format of --format, or of the ending of a file; a table where nothing says.

    Raises UserError for an ending that says nothing, for what cannot be printed, and for a file
    that may be a results store.
    """
    ending = output.suffix.lower() if output else ""
    if ending in STORES:
        raise UserError(f"-o {output}: rows are no results store, and must not replace one")
    if told is None and ending not in ENDINGS:
        legal = ", ".join(filter(None, ENDINGS))
        raise UserError(f"-o {output}: ending {ending}; legal: {legal}; any with --format")
    form = told or ENDINGS[ending]
    if form is Format.PARQUET and output is None:
        raise UserError("parquet is not for the terminal: give a file with -o FILE")
    return form


def save_rows(rows: "pa.Table", form: Format, output: Path) -> None:
    """Write a file, whole or not at all."""
    from pyarrow import parquet

    from anynet_study.files import replacing

    with replacing(output) as temporary:
        if form is Format.PARQUET:
            parquet.write_table(rows, temporary)
        else:
            with temporary.open("w", encoding="utf-8", newline="") as file:
                _write(rows, form, file, _width(rows))


def print_rows(rows: "pa.Table", form: Format, most: int = TERMINAL_ROWS) -> None:
    """Print, as a table at most so many rows."""
    width = None if sys.stdout.isatty() else _width(rows)
    _write(rows.slice(0, most) if form is Format.TABLE else rows, form, sys.stdout, width)
    if form is Format.TABLE and len(rows) > most:
        print(f"{most} of {len(rows)} rows; more with --limit", file=sys.stderr)


def _width(rows: "pa.Table") -> int:
    """Wide enough that a table in a file or pipe is never cut."""
    return 2000 + 200 * len(rows.column_names)


def _write(rows: "pa.Table", form: Format, file: Any, width: int | None) -> None:
    if form is Format.CSV:
        _write_csv(rows, file)
    elif form is Format.JSON:
        _write_json(rows, file)
    else:
        write_table(rows, file, width)


def _write_csv(rows: "pa.Table", file: Any) -> None:
    from anynet_study.store import to_pandas

    for start in range(0, max(1, len(rows)), BATCH_ROWS):
        to_pandas(rows.slice(start, BATCH_ROWS), whole=True).to_csv(
            file, index=False, header=start == 0
        )


def _write_json(rows: "pa.Table", file: Any) -> None:
    """A JSON array, one record a line; a missing value is null."""
    separator = "["
    for batch in rows.to_batches(BATCH_ROWS):
        for record in batch.to_pylist():
            file.write(f"{separator}\n{_json(record)}")
            separator = ","
    file.write("\n]\n" if len(rows) else "[]\n")


def _json(value: Any) -> str:
    """Exact numbers; an infinite one, which JSON has no word for, is one too large for a double."""
    if isinstance(value, dict):
        return f"{{{', '.join(f'{json.dumps(str(k))}: {_json(v)}' for k, v in value.items())}}}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_json, value))}]"
    if isinstance(value, float) and not math.isfinite(value):
        return "null" if math.isnan(value) else f"{'-' if value < 0 else ''}1e999"
    return json.dumps(value, ensure_ascii=False, default=str)


def write_table(rows: "pa.Table", file: Any, width: int | None) -> None:
    """Write aligned columns, the first that fit the width (None: the terminal's)."""
    import pandas as pd
    from rich.console import Console
    from rich.table import Table

    from anynet_study.store import to_pandas

    frame = to_pandas(rows, whole=True)
    console = Console(file=file, width=width, highlight=False, markup=False)
    table = Table(box=None, pad_edge=False, padding=(0, GAP, 0, 0), header_style="bold")
    texts = {str(name): _cells(frame[name]) for name in frame.columns}
    shown = _fitting(texts, console.width)
    for name in shown:
        number = pd.api.types.is_numeric_dtype(frame[name])
        table.add_column(name, justify="right" if number else "left", no_wrap=True)
    for line in zip(*shown.values(), strict=True):
        table.add_row(*line)
    with console.capture() as capture:  # rich itself would end the process on a closed pipe
        console.print(table)
        if hidden := [name for name in texts if name not in shown]:
            console.print(f"not shown, for want of width: {', '.join(hidden)}; see --columns")
    file.write(capture.get())


def _cells(column: "pd.Series[Any]") -> list[str]:
    if column.dtype.kind != "f":
        return list(column.astype(str).mask(column.isna(), ""))
    decimals = 2 if column.abs().max() >= 10 else 4
    return ["" if value != value else f"{value:.{decimals}f}" for value in column]


def _fitting(texts: dict[str, list[str]], width: int) -> dict[str, list[str]]:
    """The first columns that fit the width, at least one; long texts may lose their ends."""
    shown: dict[str, list[str]] = {}
    used = -GAP
    for name, cells in texts.items():
        room = width - used - GAP
        longest = max(map(len, [name, *cells]))
        if shown and longest > max(room, LONG) and room >= LONG:
            cells = [_cut(cell, room) for cell in cells]
        elif shown and longest > room:
            break
        shown[name] = cells
        used += GAP + max(map(len, [name, *cells]))
    return shown


def _cut(text: str, width: int) -> str:
    """One line of a text, ... where its end is left out."""
    line = " ".join(text.split())
    return line if len(line) <= width else f"{line[: width - 3]}..."
