"""SQL over the tables of results: one SELECT, in DuckDB, which can reach nothing else.

The tables are those of `Results.table`, runs with the columns of their architecture and dataset
and with spec. A missing number is NULL. Only tables that a statement names are read.
"""

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Event, Timer
from typing import TYPE_CHECKING, get_args

import pyarrow as pa

from anynet_study.errors import UserError
from anynet_study.store.layout import TableName
from anynet_study.store.results import Results

if TYPE_CHECKING:  # importing it takes 0.1 s, which those who group nothing need not wait for
    import duckdb

#: What DuckDB may hold, results included.
MEMORY = "1GiB"
#: How long a SELECT may take.
SECONDS = 300.0
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
#: Of what DuckDB says of a table that is not there, it guesses at tables of its own.
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

    late = Event()

    def stop() -> None:
        late.set()
        connection.interrupt()

    timer = Timer(SECONDS, stop)
    timer.daemon = True
    timer.start()
    try:
        # A table in memory is bounded, and made with an ear for Ctrl-C; rows that stream are not.
        connection.execute(f"create temp table answer as {statement}")
        return _plain(pa.table(connection.sql("from answer")))
    except (duckdb.InterruptException, RuntimeError) as error:
        if late.is_set():
            raise UserError(f"sql: takes longer than {SECONDS} s: select less") from None
        raise KeyboardInterrupt from error
    except duckdb.OutOfMemoryException:
        raise UserError(f"sql: more than {MEMORY} needed: select less, or use LIMIT") from None
    except (duckdb.Error, OSError, pa.ArrowException) as error:
        raise UserError(f"sql: {_one_line(error)}") from None
    finally:
        timer.cancel()


def run_sql(results: Results, statement: str) -> pa.Table:
    """What one SELECT gives. Raises UserError in one line for anything else."""
    try:
        statement.encode()
    except UnicodeError:
        raise UserError("sql: not text in UTF-8") from None
    with engine() as connection:
        tree = _parsed(connection, statement)
        with results:
            for table in get_args(TableName):
                if f'"table_name":"{table}"' in tree.lower():
                    connection.register(table, results.table(table, results.columns(table)))
        ((plain,),) = connection.execute("select json_deserialize_sql(?)", [tree]).fetchall()
        try:
            return fetch(connection, plain)
        except UserError as error:
            if unknown := _UNKNOWN_TABLE.search(str(error)):
                there = ", ".join(get_args(TableName))
                raise UserError(f"sql: no table {unknown[1]!r}; there are: {there}") from None
            raise


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
