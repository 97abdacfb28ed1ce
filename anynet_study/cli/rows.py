"""Rows on the terminal or in a file: as a table, CSV, JSON or Parquet."""

import csv
import io
import json
import math
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from anynet_study.core.errors import UserError, first_line
from anynet_study.core.sheets import cell_of

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

#: How many rows a table on the terminal shows by default.
TERMINAL_ROWS = 40
#: Endings of results stores: months of training, which a slip of -o must not overwrite.
STORES = (".h5", ".hdf5")
#: Rows that are converted at a time.
BATCH_ROWS = 50_000
#: How rows are written.
Format = Literal["table", "csv", "json", "parquet"]
#: The format by the ending of a file.
ENDINGS: dict[str, Format] = {
    "": "table",
    ".txt": "table",
    ".csv": "csv",
    ".json": "json",
    ".parquet": "parquet",
}


def choose_format(told: Format | None, output: Path | None) -> Format:
    """The format given by --format or by the ending of the file; a table if neither is given.

    Raises UserError for an unknown ending, for a format that cannot be printed, and for a file that
    may be a results store.
    """
    ending = output.suffix.lower() if output else ""
    if ending in STORES:
        raise UserError(f"-o {output}: rows are not a results store, and must not replace one")
    if told is None and ending not in ENDINGS:
        legal = ", ".join(filter(None, ENDINGS))
        raise UserError(f"-o {output}: ending {ending}; legal: {legal}; any with --format")
    form = told or ENDINGS[ending]
    if form == "parquet" and output is None:
        raise UserError("parquet is not for the terminal: give a file with -o FILE")
    return form


def save_csv(table: "pd.DataFrame", output: Path) -> None:
    """Write a data frame as CSV, whole or not at all."""
    from anynet_study.core.files import write_text
    from anynet_study.core.sheets import csv_text

    write_text(output, csv_text(table))


def save_rows(rows: "pa.Table", form: Format, output: Path) -> None:
    """Write a file, whole or not at all."""
    from pyarrow import parquet

    from anynet_study.core.files import replacing

    with _writable(form), replacing(output) as temporary:
        if form == "parquet":
            parquet.write_table(rows, temporary)
        else:
            with temporary.open("w", encoding="utf-8", newline="") as file:
                write_rows(rows, form, file)


def print_rows(rows: "pa.Table", form: Format, most: int = TERMINAL_ROWS) -> None:
    """Print rows; as a table at most so many."""
    shown = rows.slice(0, most) if form == "table" else rows
    with _writable(form):
        write_rows(shown, form, sys.stdout)
    if len(shown) < len(rows):
        print(f"{most} of {len(rows)} rows; more with --limit", file=sys.stderr)


@contextmanager
def _writable(form: Format) -> Iterator[None]:
    """UserError for what SQL can make and a format cannot hold, such as unions and far dates."""
    import pyarrow as pa

    try:
        yield
    except (pa.ArrowException, OverflowError) as error:
        reason = first_line(error)
        raise UserError(
            f"not to be written as {form} ({reason}); cast it in SQL: x::text"
        ) from None


def write_rows(rows: "pa.Table", form: Format, file: Any, width: int | None = None) -> None:
    """Write rows as CSV, as JSON, or as a table.

    A table on a terminal has the columns that fit; one in a file or a pipe all of them, if no
    `width` is given. Tables show times in ISO format, the other formats as they are stored.
    """
    from anynet_study.cli.tables import column_cells, harmless, print_table, table_text

    if form != "table" and file.isatty():
        text = io.StringIO()
        write_rows(rows, form, text)
        file.write(harmless(text.getvalue()))
    elif form == "csv":
        _write_csv(rows, file)
    elif form == "json":
        _write_json(rows, file)
    else:
        columns = rows.to_pydict()
        if "started" in columns:
            columns["started"] = [_moment(value) for value in columns["started"]]
        headings, cells, texts = column_cells(columns)
        if file.isatty():
            print_table(headings, cells, left=texts, wide="cut")
        else:
            file.write(table_text(headings, cells, left=texts, wide="cut", width=width))


def _moment(started: Any) -> Any:
    """Seconds since 1970 in ISO format, empty where there is no such date."""
    if not isinstance(started, float):
        return started
    try:
        return f"{datetime.fromtimestamp(started, UTC):%Y-%m-%dT%H:%M:%SZ}"
    except (ValueError, OverflowError, OSError):
        return None


def _write_csv(rows: "pa.Table", file: Any) -> None:
    """A line of names, then one for each row; a missing value is empty."""
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(map(cell_of, rows.column_names))
    for batch in rows.to_batches(BATCH_ROWS):
        writer.writerows(zip(*map(_csv_cells, batch.columns), strict=True))


def _csv_cells(column: "pa.Array") -> list[Any]:
    values = column.to_pylist()
    if column.type == "float":  # no more digits than it has
        values = list(np.array(values, np.float32))
    known = (None if value != value else value for value in values)
    return [cell_of(value) if isinstance(value, str) else value for value in known]


def _write_json(rows: "pa.Table", file: Any) -> None:
    """A JSON array, one record per line; a missing value is null."""
    separator = "["
    for batch in rows.to_batches(BATCH_ROWS):
        for record in batch.to_pylist():
            file.write(f"{separator}\n{_json(record)}")
            separator = ","
    file.write("\n]\n" if len(rows) else "[]\n")


def _json(value: Any) -> str:
    """Write numbers exactly. Infinity, which JSON lacks, becomes a number beyond float64."""
    if isinstance(value, dict):
        return f"{{{', '.join(f'{json.dumps(str(k))}: {_json(v)}' for k, v in value.items())}}}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_json, value))}]"
    if isinstance(value, float) and not math.isfinite(value):
        return "null" if math.isnan(value) else f"{'-' if value < 0 else ''}1e999"
    return json.dumps(value, ensure_ascii=False, default=str)
