"""Which reader a file of results needs."""

from pathlib import Path

from anynet_study.errors import UserError
from anynet_study.store.importing.blocks import TableFile
from anynet_study.store.importing.csv_table import read_csv
from anynet_study.store.importing.json_table import read_json, read_json_lines
from anynet_study.store.importing.parquet_table import read_parquet

ENDINGS = (".csv", ".tsv", ".txt", ".parquet", ".json", ".jsonl", ".ndjson")


def read_table(path: Path, separator: str = "", encoding: str = "") -> TableFile:
    """Open a table of results. Raises UserError for what is none, and for unclear columns."""
    if not path.is_file():
        raise UserError(f"{path}: no such file")
    ending = path.suffix.lower()
    if ending == ".parquet":
        table = read_parquet(path)
    elif ending == ".json":
        table = read_json(path)
    elif ending in (".jsonl", ".ndjson"):
        table = read_json_lines(path)
    elif ending in ENDINGS:
        table = read_csv(path, separator or "\t" * (ending == ".tsv"), encoding)
    else:
        raise UserError(f"{path}: ending {ending or '(none)'}; legal: {', '.join(ENDINGS)}")
    _check(path, table.columns)
    return table


def _check(path: Path, columns: list[str]) -> None:
    for place, name in enumerate(columns, 1):
        if name in columns[: place - 1]:
            raise UserError(f"{path}: column {name!r} is there twice")
        if not name and place > 1:
            raise UserError(f"{path}: column {place} has no name")
    if not columns:
        raise UserError(f"{path}: the table has no columns")
