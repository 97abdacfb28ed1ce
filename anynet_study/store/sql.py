"""SQL over the tables of results: one SELECT, in DuckDB, which can reach nothing else.

The tables are those of `Results.table`, runs with the columns of their architecture and dataset
and with spec. A missing number is NULL. Only tables and columns that a statement names are read.
"""

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, get_args

import pyarrow as pa

from anynet_study.errors import UserError
from anynet_study.filters import unknown_column
from anynet_study.store.layout import TableName
from anynet_study.store.results import Results

if TYPE_CHECKING:  # importing it takes 0.1 s, which those who group nothing need not wait for
    import duckdb

#: What DuckDB may hold, results included.
MEMORY = "1GiB"
#: One thread: the last bits of a sum do not depend on the machine. Nothing outside can be read,
#: written or loaded, Python's variables included, and no statement can change that.
_SETTINGS = {
    "threads": "1",
    "memory_limit": MEMORY,
    "temp_directory": "",
    "python_enable_replacements": "false",
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
    "enable_external_access": "false",
    "lock_configuration": "true",
}
#: What can stand behind FROM without asking for columns that the statement does not name.
_PLAIN_SOURCES = ("BASE_TABLE", "JOIN", "SUBQUERY", "TABLE_FUNCTION", "EMPTY", "EXPRESSION_LIST")
#: DuckDB can name only those that were read, which one that is not there is not among.
_UNKNOWN_COLUMN = re.compile(r'^sql: Referenced column "([^"]+)" not found in FROM clause')
#: And guesses at tables of its own.
_UNKNOWN_TABLE = re.compile(r"^sql: Table with name (.+) does not exist!")


@contextmanager
def engine() -> Iterator["duckdb.DuckDBPyConnection"]:
    """A DuckDB in memory that has no tables and can get at none but those it is given."""
    import duckdb

    with duckdb.connect(":memory:") as connection:
        for name, value in _SETTINGS.items():
            connection.execute(f"set {name} = '{value}'")
        yield connection


def fetch(connection: "duckdb.DuckDBPyConnection", statement: str) -> pa.Table:
    """The rows of a SELECT; whole decimals are int64. Raises UserError for what DuckDB refuses."""
    import duckdb

    try:
        # A table in memory is bounded, and made with an ear for Ctrl-C; rows that stream are not.
        connection.execute(f"create temp table answer as {statement}")
        return _plain(pa.table(connection.sql("from answer")))
    except RuntimeError as error:
        if "interrupted" in str(error):
            raise KeyboardInterrupt from None
        raise
    except duckdb.OutOfMemoryException:
        raise UserError(f"sql: more than {MEMORY} needed: select less, or use LIMIT") from None
    except (duckdb.Error, OSError, pa.ArrowException) as error:
        raise UserError(f"sql: {_one_line(error)}") from None


def run_sql(results: Results, statement: str) -> pa.Table:
    """What one SELECT gives. Raises UserError in one line for anything else."""
    with engine() as connection:
        tree = _parsed(connection, statement)
        nodes = list(_nodes(json.loads(tree)))
        named = {str(node.get("table_name")).lower() for node in nodes}
        tables = [table for table in get_args(TableName) if table in named]
        with results:
            for table in tables:
                connection.register(table, _needed(results, table, nodes))
        ((plain,),) = connection.execute("select json_deserialize_sql(?)", [tree]).fetchall()
        try:
            return fetch(connection, plain)
        except UserError as error:
            raise UserError(_helpful(str(error), results, tables)) from None


def _helpful(reason: str, results: Results, tables: list[TableName]) -> str:
    """What DuckDB says, or what is there instead of a name that it does not know."""
    if table := _UNKNOWN_TABLE.search(reason):
        return f"sql: no table {table[1]!r}; there are: {', '.join(get_args(TableName))}"
    if column := _UNKNOWN_COLUMN.search(reason):
        legal = [name for table_name in tables for name in results.columns(table_name)]
        return f"sql: {unknown_column(column[1], legal)}"
    return reason


def _parsed(connection: "duckdb.DuckDBPyConnection", statement: str) -> str:
    """The statement as DuckDB's own tree, in JSON, which it makes of SELECT only."""
    ((text,),) = connection.execute("select json_serialize_sql(?)", [statement]).fetchall()
    tree = json.loads(text)
    if tree["error"]:
        syntax = tree["error_type"] == "parser"
        reason = tree["error_message"] if syntax else "only SELECT is legal"
        raise UserError(f"sql: {' '.join(reason.split())}")
    if len(tree["statements"]) != 1:
        raise UserError(f"sql: {len(tree['statements'])} statements; legal is one SELECT")
    return str(text)


def _nodes(tree: Any) -> Iterator[dict[str, Any]]:
    """Every object within a tree."""
    pending = [tree]
    while pending:
        node = pending.pop()
        if isinstance(node, dict):
            yield node
            pending.extend(node.values())
        elif isinstance(node, list):
            pending.extend(node)


def _needed(results: Results, table: TableName, nodes: list[dict[str, Any]]) -> pa.Table:
    """The table with the columns whose names occur in the statement, or with all."""
    columns = results.columns(table)
    named = {text.lower() for node in nodes for text in _names(node)}
    some = [name for name in columns if name.lower() in named] or columns[:1]
    return results.table(table, columns if _asks_for_all(nodes) else some)


def _names(node: dict[str, Any]) -> list[str]:
    return [*node.get("column_names", ()), *node.get("using_columns", ())]


def _asks_for_all(nodes: list[dict[str, Any]]) -> bool:
    """Whether columns may be meant that are not named: by *, NATURAL, or a whole row."""
    sources = [node for node in nodes if "sample" in node and "alias" in node]
    rows = {str(node.get(key)).lower() for node in sources for key in ("table_name", "alias")}
    return any(source["type"] not in _PLAIN_SOURCES for source in sources) or any(
        node.get("class") == "STAR"
        or node.get("ref_type", "REGULAR") != "REGULAR"
        or (node.get("class") == "COLUMN_REF" and _is_row(_names(node), rows))
        for node in nodes
    )


def _is_row(names: list[str], rows: set[str]) -> bool:
    """Whether this is a whole row of a table, by the table's name."""
    return len(names) == 1 and names[0].lower() in rows


def _one_line(error: Exception) -> str:
    """DuckDB's message without its kind, and the excerpt of the statement that follows it."""
    text = str(error).partition("\n\nLINE ")[0].partition(": ")[2] or str(error)
    return " ".join(text.split())


def _plain(table: pa.Table) -> pa.Table:
    """Sums of whole numbers are decimals of 38 digits, averages are not."""
    for number, field in enumerate(table.schema):
        if pa.types.is_decimal(field.type) and field.type.scale == 0:
            table = table.set_column(number, field.name, _whole(table.column(number)))
    return table


def _whole(column: pa.ChunkedArray) -> pa.ChunkedArray:
    try:
        return column.cast(pa.int64())
    except pa.ArrowInvalid:
        return column.cast(pa.float64())
