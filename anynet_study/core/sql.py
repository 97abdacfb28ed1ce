"""SQL over Arrow tables, in a DuckDB that can reach nothing else.

A condition of `query --where`, `analyze --where` or `Population.filter` is what may follow WHERE:

    dataset = 'digits' and error < 20
    status != 'completed' or (replicate in (0, 1) and not d1 >= 8)
    error is null and "CIFAR-10" < 50

Text stands in single quotes; a name that is no plain word, such as "CIFAR-10", in double quotes. As
always in SQL, no comparison with a missing value holds: `is null` finds these.
"""

import json
import re
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from threading import Event, Timer
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from anynet_study.core import arrow
from anynet_study.core.errors import UserError, nearest_or_all
from anynet_study.core.files import within_memory

if TYPE_CHECKING:  # importing it takes 0.1 s, which those who select nothing need not wait for
    import duckdb

#: What DuckDB may hold for a statement of the user's, results included.
MEMORY = "1GiB"
#: In bytes: what it may take in all, that included.
MOST_MEMORY = 5 << 28
#: How long a SELECT may take.
SECONDS = 300.0
#: Of a condition, in characters.
MAX_LENGTH = 10_000
#: One thread: the last bits of a sum do not depend on the machine. Nothing outside can be read,
#: written or loaded, Python's variables included, and no statement can change that.
_SETTINGS = {
    "threads": "1",
    "temp_directory": "",
    "python_enable_replacements": "false",
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
    "enable_external_access": "false",
    "lock_configuration": "true",
}
#: A column of the table of a `Selection`: the number of a row.
ROW = '"(row)"'
#: What a condition follows when DuckDB parses it.
_BEFORE = "from rows where "
_WORD = re.compile(rb"[^\s=!<>(),]+")


@contextmanager
def engine(memory: str = MEMORY) -> Iterator["duckdb.DuckDBPyConnection"]:
    """A DuckDB in memory that has no tables and can get at none but those it is given.

    `memory` is what it may hold, results included; more than MEMORY is for statements of our own.
    """
    import duckdb

    with duckdb.connect(":memory:") as connection:
        for name, value in {"memory_limit": memory, **_SETTINGS}.items():
            connection.execute(f"set {name} = '{value}'")
        yield connection


def fetch(
    connection: "duckdb.DuckDBPyConnection",
    statement: str,
    what: str = "sql",
    most: int | None = MOST_MEMORY,
) -> pa.Table:
    """The rows of a SELECT, in which decimals without a fraction are int64.

    `most`: bytes of memory that it may take in all; None for statements of our own. Raises
    UserError for what DuckDB refuses; the message begins with `what`.
    """
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
        # DuckDB does not count what some functions hold, such as histogram.
        with within_memory(what, most) if most else nullcontext():
            connection.execute(f"create or replace temp table answer as {statement}")
            return _plain(connection.sql("from answer").to_arrow_table())
    except (duckdb.InterruptException, RuntimeError) as error:
        if late.is_set():
            raise UserError(f"{what}: takes longer than {SECONDS} s: select less") from None
        raise KeyboardInterrupt from error
    except duckdb.OutOfMemoryException:
        raise UserError(f"{what}: more than {MEMORY} needed: select less, or use LIMIT") from None
    except (duckdb.Error, OSError, pa.ArrowException) as error:
        raise UserError(f"{what}: {_one_line(error)}") from None
    finally:
        timer.cancel()


def parsed(
    connection: "duckdb.DuckDBPyConnection", statement: str, what: str = "sql"
) -> dict[str, Any]:
    """The tree that DuckDB makes of a statement; it makes one of SELECT only.

    Raises UserError for anything but one SELECT; the message begins with `what`.
    """
    try:
        statement.encode()
    except UnicodeError:
        raise UserError(f"{what}: not text in UTF-8") from None
    ((text,),) = connection.execute("select json_serialize_sql(?)", [statement]).fetchall()
    tree: dict[str, Any] = json.loads(text)
    if tree["error"]:
        syntax = tree["error_type"] == "parser"
        reason = tree["error_message"] if syntax else "only SELECT is legal"
        raise UserError(f"{what}: {' '.join(reason.split())}")
    if len(tree["statements"]) != 1:
        raise UserError(f"{what}: {len(tree['statements'])} statements; legal is one SELECT")
    return tree


def written(connection: "duckdb.DuckDBPyConnection", tree: dict[str, Any]) -> str:
    """The statement of a tree of `parsed`."""
    ((text,),) = connection.execute("select json_deserialize_sql(?)", [json.dumps(tree)]).fetchall()
    return str(text)


class Selection:
    """The rows of a table that fulfil a condition, in SQL.

    `columns` are those that the table may have; None for the condition keeps all rows. Raises
    UserError in one line for what is no condition, and for a name in it that is no column.
    """

    def __init__(
        self,
        connection: "duckdb.DuckDBPyConnection",
        columns: Sequence[str],
        condition: str | None = None,
    ) -> None:
        self.connection = connection
        # SQL takes `Cars` and `cars` for one name.
        alike = Counter(name.lower() for name in columns)
        self._called = {
            name: name if alike[name.lower()] == 1 else f"{name} ({place})"
            for place, name in enumerate(columns)
        }
        #: The columns that the condition names.
        self.named: list[str] = []
        self._statement = "from rows" if condition is None else self._parsed(condition)

    def rows(self, table: pa.Table) -> pa.ChunkedArray:
        """The numbers of the rows that are kept, ascending; `table` has the columns `named`."""
        called = table.rename_columns([self._called[name] for name in table.column_names])
        row = arrow.numbers(np.arange(len(table)))
        self.connection.register("rows", called.append_column(ROW.strip('"'), row))
        statement = f"select {ROW} from ({self._statement}) order by {ROW}"
        return fetch(self.connection, statement, "condition")[0]

    def _parsed(self, condition: str) -> str:
        """A SELECT of the rows that are kept."""
        if len(condition) > MAX_LENGTH:
            raise UserError(
                f"condition: {len(condition)} characters; at most {MAX_LENGTH} are read"
            )
        try:
            tree = parsed(self.connection, _BEFORE + condition, "condition")
        except UserError as error:
            hint = "text stands in single quotes, such as dataset = 'digits'"
            raise UserError(f"{error}; {hint}") from None
        rest = parsed(self.connection, _BEFORE + "true")
        (node,), (plain,) = tree["statements"], rest["statements"]
        if node["node"] | {"where_clause": None} != plain["node"] | {"where_clause": None}:
            raise UserError(f"condition: {condition!r} is more than what may follow WHERE")
        lower = {name.lower(): name for name in reversed(self._called)}
        for found, compared in _names(node["node"]["where_clause"]):
            name = ".".join(found["column_names"])
            column = name if name in self._called else lower.get(name.lower())
            if column is None:
                word = _word_at(condition, found["query_location"]) if compared else ""
                raise UserError(f"condition: {_no_column(name, list(self._called), word)}")
            self.named.append(column)
            found["column_names"] = [self._called[column]]
        return written(self.connection, tree)


def rows_where(table: pa.Table, condition: str) -> NDArray[np.int64]:
    """The numbers of the rows of a table that a condition keeps, ascending.

    Raises UserError in one line for what is no condition on the table's columns.
    """
    with engine() as connection:
        return arrow.to_numpy(Selection(connection, table.column_names, condition).rows(table))


def unknown_column(name: str, columns: Collection[str]) -> str:
    """One line about a column that is not there: the nearest one, or else all that are."""
    return f"no column {name!r}{nearest_or_all(name, list(columns), 'there are: ')}"


def _no_column(name: str, columns: Sequence[str], word: str) -> str:
    """Explain an unknown name in a condition; `word` is how it is written if text may be meant."""
    if word.lower() == "nan":
        return "a missing number is found by `is null`, such as error is null"
    if word:
        text = word.strip('"').replace("'", "''")
        return f"{word} is no column; text stands in single quotes: '{text}'"
    return unknown_column(name, columns)


def _names(node: Any, compared: bool = False) -> Iterator[tuple[dict[str, Any], bool]]:
    """Every name of a column in a tree, and whether it stands on the right of a comparison."""
    if isinstance(node, list):
        for part in node:
            yield from _names(part, compared)
    elif isinstance(node, dict):
        if node.get("class") == "COLUMN_REF":
            yield node, compared
            return
        joins = node.get("class") == "CONJUNCTION"
        for key, part in node.items():
            if isinstance(part, list) and not joins:
                yield from _names(part[:1], compared)
                yield from _names(part[1:], True)
            else:
                yield from _names(part, compared or key in ("right", "lower", "upper"))


def _word_at(text: str, location: int) -> str:
    """The word of a condition that begins at this byte of the statement."""
    found = _WORD.match(text.encode()[location - len(_BEFORE) :])
    return found[0].decode(errors="replace") if found else ""


def _one_line(error: Exception) -> str:
    """DuckDB's message without its kind, the excerpt of the statement and lists of functions."""
    text = str(error).partition("\n\nLINE ")[0].partition(": ")[2] or str(error)
    return " ".join(text.partition(" You might need to add explicit")[0].split())


def _plain(table: pa.Table) -> pa.Table:
    """The table with whole numbers in place of decimals, which sums of whole numbers are."""
    for number, field in enumerate(table.schema):
        if pa.types.is_decimal(field.type) and field.type.scale == 0:
            table = table.set_column(number, field.name, _whole(table.column(number)))
    return table


def _whole(column: pa.ChunkedArray) -> pa.ChunkedArray:
    try:
        return column.cast(pa.int64())
    except pa.ArrowInvalid:
        return column.cast(pa.float64())
