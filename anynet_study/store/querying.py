"""Queries of the tables of results: by a condition and columns, or by a SELECT.

DuckDB selects them, which can reach nothing else (`core.sql`).
"""

import re
from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Any, get_args

import pyarrow as pa

from anynet_study.core.errors import UserError
from anynet_study.core.sql import Selection, engine, fetch, parsed, written
from anynet_study.store.layout import TableName
from anynet_study.store.results import Results
from anynet_study.store.tables import ON_REQUEST, check_columns

#: Reads columns of a table.
Read = Callable[[list[str]], pa.Table]
#: Of what DuckDB says of a table that is not there, it guesses at tables of its own.
_UNKNOWN_TABLE = re.compile(r"^sql: Table with name (.+) does not exist!")


def select(
    results: Results,
    table: TableName = "runs",
    where: str | None = None,
    columns: Sequence[str] | None = None,
    limit: int | None = None,
    **options: Any,
) -> pa.Table:
    """Rows of a table that a condition keeps (SQL: `core.sql`), read column by column.

    `columns` None: all but those that must be named (ON_REQUEST). `options`: of `Results.table`.
    Order and groups are for `run_sql`. Raises UserError for anything that is not there.
    """
    if table not in get_args(TableName):
        raise UserError(f"no table {table!r}; there are: {', '.join(get_args(TableName))}")
    if limit is not None and limit < 1:
        raise UserError(f"limit {limit}: must be 1 or more")
    with results:
        legal, read = _reader(results, table, options)
        shown = list(columns) if columns else [name for name in legal if name not in ON_REQUEST]
        check_columns(shown, legal)
        rows = _kept(legal, read, where, shown) if where else read(shown)
    return rows.slice(0, min(limit or len(rows), len(rows)))


def _reader(results: Results, table: TableName, options: dict[str, Any]) -> tuple[list[str], Read]:
    """The columns of a table, and a function that reads some of them."""
    if table == "errors":
        whole = results.table("errors", **options)
        return whole.column_names, whole.select
    return results.columns(table), lambda names: results.table(table, names, **options)


def _kept(legal: list[str], read: Read, where: str, shown: list[str]) -> pa.Table:
    """The `shown` columns of the rows that fulfil the condition."""
    with engine() as connection:
        selection = Selection(connection, legal, where)
        kept = selection.rows(read(list(dict.fromkeys(selection.named)) or legal[:1]))
    # Not before: what DuckDB takes and all that is shown need not be in memory at one time.
    return read(shown).take(kept)


def run_sql(results: Results, statement: str) -> pa.Table:
    """Return what one SELECT over the tables of `Results.table` gives.

    Runs have the columns of their architecture and dataset, and spec; a missing number is NULL.
    Only tables and columns that the statement names are read. Raises UserError in one line for
    anything else.
    """
    with engine() as connection:
        tree = parsed(connection, statement)
        nodes = list(_nodes(tree))
        named = {str(node.get("table_name", "")).lower() for node in nodes}
        with results:
            readers = {
                name: _reader(results, name, {}) for name in get_args(TableName) if name in named
            }
            columns = _named_columns(
                nodes, {name for legal, _ in readers.values() for name in legal}
            )
            for table, (legal, read) in readers.items():
                some = [name for name in legal if columns is None or name.lower() in columns]
                connection.register(table, read(some or legal[:1]))
        try:
            return fetch(connection, written(connection, tree))
        except UserError as error:
            if unknown := _UNKNOWN_TABLE.search(str(error)):
                there = ", ".join(get_args(TableName))
                raise UserError(f"sql: no table {unknown[1]!r}; there are: {there}") from None
            raise


def _nodes(tree: Any) -> Iterator[dict[str, Any]]:
    """Every node of the tree of a statement."""
    if isinstance(tree, dict):
        yield tree
    for part in tree.values() if isinstance(tree, dict) else tree if isinstance(tree, list) else ():
        yield from _nodes(part)


def _named_columns(nodes: Sequence[dict[str, Any]], there: Collection[str]) -> set[str] | None:
    """Names, in lower case, among which are those of all columns that a statement reads.

    None where it may read any: `*`, a whole row, joins by all common columns, columns by their
    number, and names that are no column of those that are there.
    """
    known = {name.lower() for name in there}
    tables, read = set[str](), set[str]()
    for node in nodes:
        alias = str(node.get("alias", "")).lower()
        if (
            node.get("class") in ("STAR", "POSITIONAL_REFERENCE")
            or node.get("ref_type") in ("NATURAL", "POSITIONAL")
            or node.get("column_name_alias")
        ):
            return None
        if node.get("class") == "COLUMN_REF":
            read.add(node["column_names"][-1].lower())
        read.update(name.lower() for name in node.get("using_columns", ()))
        if "class" in node:
            known.add(alias)
        else:
            tables |= {alias, str(node.get("table_name", "")).lower()}
    return read if read <= known - tables else None
