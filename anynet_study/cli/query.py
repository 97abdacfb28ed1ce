"""`anynet-study query`: rows of a results store on the terminal or in a file."""

import sys
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from anynet_study.errors import UserError

if TYPE_CHECKING:
    import pandas as pd

#: Rows that a table on the terminal shows where --limit does not say.
TERMINAL_ROWS = 40
#: What a table on the terminal shows of the runs where --columns does not say.
RUN_COLUMNS = ["architecture", "dataset", "replicate", "status", "error", "recipe", "run_id"]
#: Blanks between the columns of a table.
GAP = 2


class TableName(StrEnum):
    """The tables of a store."""

    RUNS = "runs"
    ARCHITECTURES = "architectures"
    DATASETS = "datasets"
    CURVES = "curves"
    ERRORS = "errors"


class Format(StrEnum):
    """How rows are written."""

    TABLE = "table"
    CSV = "csv"
    JSON = "json"
    PARQUET = "parquet"


def query(
    store: Annotated[
        str, typer.Argument(metavar="STUDY", help="Study (folder or name), or a results.h5.")
    ],
    where: Annotated[
        str,
        typer.Option(
            help="Rows to keep: comparisons =, !=, <, <=, >, >=, in (..) of a column with a value, "
            "joined by and, or, not and parentheses."
        ),
    ] = "",
    columns: Annotated[str, typer.Option(help="Columns to show, comma-separated.")] = "",
    sort: Annotated[str, typer.Option(help="Columns to sort by; -column: descending.")] = "",
    limit: Annotated[
        int | None, typer.Option(help=f"At most so many rows (as a table: {TERMINAL_ROWS}).")
    ] = None,
    table: Annotated[TableName, typer.Option(help="What to select from.")] = TableName.RUNS,
    form: Annotated[
        Format | None, typer.Option("--format", help="Default: by the ending of -o, or table.")
    ] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="File to write instead of printing.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Same as --format json.")] = False,
) -> None:
    """Select rows of a results store: runs, errors, curves and more.

    Runs can be selected by their architecture and dataset too.

    \b
    Examples:
      anynet-study query quickstart --where "dataset = digits and error < 20"
      anynet-study query quickstart --columns architecture,d1,error --sort -d1
      anynet-study query results.h5 --table errors -o errors.csv
    """
    from anynet_study.store import find_store
    from anynet_study.store import query as select

    form = Format.JSON if as_json else form or _format_of(output)
    if form is Format.PARQUET and output is None:
        raise UserError("parquet is not for the terminal: give a file with -o FILE")
    names = _split(columns)
    if form is Format.TABLE and table is TableName.RUNS and not names:
        names = RUN_COLUMNS
    rows = select(find_store(store), table.value, where or None, names, _split(sort), limit)
    if output is not None:
        _save(rows, form, output)
        typer.echo(f"{len(rows)} rows: {output}", err=True)
        return
    _print(rows, form, TERMINAL_ROWS if limit is None else limit)


def _split(names: str) -> list[str]:
    """Each name once, in order."""
    return list(dict.fromkeys(name.strip() for name in names.split(",") if name.strip()))


def _format_of(output: Path | None) -> Format:
    endings = {f".{form}": form for form in Format if form is not Format.TABLE}
    return endings.get(output.suffix.lower(), Format.TABLE) if output else Format.TABLE


def _save(rows: "pd.DataFrame", form: Format, output: Path) -> None:
    from anynet_study.files import replacing

    with replacing(output) as temporary:
        if form is Format.PARQUET:
            rows.to_parquet(temporary, index=False)
        else:
            with temporary.open("w", encoding="utf-8", newline="") as file:
                _write(rows, form, file, width=_width(rows))


def _print(rows: "pd.DataFrame", form: Format, most: int) -> None:
    width = None if sys.stdout.isatty() else _width(rows)
    _write(rows.head(most) if form is Format.TABLE else rows, form, sys.stdout, width)
    if form is Format.TABLE and len(rows) > most:
        print(f"{most} of {len(rows)} rows; more with --limit", file=sys.stderr)


def _width(rows: "pd.DataFrame") -> int:
    """Wide enough that a table in a file or pipe is never cut."""
    return 2000 + 200 * len(rows.columns)


def _write(rows: "pd.DataFrame", form: Format, file: Any, width: int | None) -> None:
    if form is Format.CSV:
        rows.to_csv(file, index=False)
    elif form is Format.JSON:
        _write_json(rows, file)
    else:
        _write_table(rows, file, width)


def _write_json(rows: "pd.DataFrame", file: Any) -> None:
    """A JSON array, one record a line; a missing value is null."""
    import json

    separator = "["
    for record in rows.astype(object).where(rows.notna(), None).to_dict("records"):
        file.write(f"{separator}\n{json.dumps(record, ensure_ascii=False)}")
        separator = ","
    file.write("\n]\n" if len(rows) else "[]\n")


def _write_table(rows: "pd.DataFrame", file: Any, width: int | None) -> None:
    import pandas as pd
    from rich.console import Console
    from rich.table import Table

    console = Console(file=file, width=width, highlight=False, markup=False)
    table = Table(box=None, pad_edge=False, padding=(0, GAP, 0, 0), header_style="bold")
    texts = {str(name): _cells(rows[name]) for name in rows.columns}
    shown = _fitting(texts, console.width)
    for name in shown:
        number = pd.api.types.is_numeric_dtype(rows[name])
        table.add_column(name, justify="right" if number else "left", no_wrap=True)
    for line in zip(*(texts[name] for name in shown), strict=True):
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


def _fitting(texts: dict[str, list[str]], width: int) -> list[str]:
    """The first columns that fit the width, at least one."""
    shown: list[str] = []
    used = -GAP
    for name, cells in texts.items():
        used += GAP + max(map(len, [name, *cells]))
        if shown and used > width:
            break
        shown.append(name)
    return shown
