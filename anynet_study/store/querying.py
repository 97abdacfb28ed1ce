"""Queries of the tables of results: by condition, columns, groups and order, or by a SELECT.

DuckDB selects them, which can reach nothing else (`anynet_study.core.sql`).
"""

import re
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, get_args

import pyarrow as pa

from anynet_study.core.errors import UserError
from anynet_study.core.sql import ROW, Selection, engine, fetch, parsed, written
from anynet_study.store.layout import TableName
from anynet_study.store.results import Results
from anynet_study.store.tables import ON_REQUEST, check_columns

#: Reads columns of a table.
Read = Callable[[list[str]], pa.Table]
#: What can be computed of a column of numbers, missing ones left out, and what SQL calls it. The
#: standard deviation is the sample's (n - 1).
FUNCTIONS = {
    "count": "count",
    "mean": "avg",
    "median": "median",
    "std": "stddev_samp",
    "min": "min",
    "max": "max",
    "sum": "sum",
}

#: Of what DuckDB says of a table that is not there, it guesses at tables of its own.
_UNKNOWN_TABLE = re.compile(r"^sql: Table with name (.+) does not exist!")
_CALL = re.compile(r"\s*(?P<function>[a-z]+)\s*\((?P<column>.*)\)\s*", re.DOTALL)


@dataclass(frozen=True)
class Aggregate:
    """A function of a column; `count` of no column ("") counts rows."""

    function: str
    column: str

    @property
    def name(self) -> str:
        return f"{self.function}({self.column})"


def select(
    results: Results,
    table: TableName = "runs",
    where: str | None = None,
    columns: Sequence[str] | None = None,
    sort: Sequence[str] = (),
    limit: int | None = None,
    group_by: Sequence[str] = (),
    aggregate: Sequence[str] = (),
    **options: Any,
) -> pa.Table:
    """Rows of a table that a condition keeps (SQL: `anynet_study.core.sql`), read column by column.

    `columns` None: all but those that must be named (ON_REQUEST). `group_by` and `aggregate` (calls
    of FUNCTIONS; default: count()) make them one row per group, in the order of their first rows;
    then the columns are the keys and the aggregates, which `sort` can name too. `-name` sorts
    descending; missing values come last.
    `options`: of `Results.table`. Raises UserError for anything that is not there.
    """
    if table not in get_args(TableName):
        raise UserError(f"no table {table!r}; there are: {', '.join(get_args(TableName))}")
    if limit is not None and limit < 1:
        raise UserError(f"limit {limit}: must be 1 or more")
    aggregates = parse_aggregates(aggregate or (["count()"] if group_by else []))
    if aggregates and columns:
        raise UserError("columns of groups are their keys and aggregates: leave out columns")
    with results:
        legal, read = _reader(results, table, options)
        if aggregates:
            rows = _grouped(legal, read, where, group_by, aggregates, sort)
        else:
            shown = list(columns) if columns else [name for name in legal if name not in ON_REQUEST]
            check_columns([*shown, *map(_column, sort)], legal)
            rows = _sorted(legal, read, where, shown, sort) if where or sort else read(shown)
    return rows.slice(0, min(limit or len(rows), len(rows)))


def _reader(results: Results, table: TableName, options: dict[str, Any]) -> tuple[list[str], Read]:
    """The columns of a table, and a function that reads some of them."""
    if table == "errors":
        whole = results.table("errors", **options)
        return whole.column_names, whole.select
    return results.columns(table), lambda names: results.table(table, names, **options)


def _sorted(
    legal: list[str], read: Read, where: str | None, shown: list[str], sort: Sequence[str]
) -> pa.Table:
    """The `shown` columns of the rows that fulfil the condition, sorted."""
    with engine() as connection:
        selection = Selection(connection, legal, where)
        needed = list(dict.fromkeys([*map(_column, sort), *selection.named]))
        order = [_order(key, selection[_column(key)]) for key in sort]
        kept = selection.rows(read(needed or legal[:1]), order)
    # Not before: what DuckDB takes and all that is shown need not be in memory at one time.
    return read(shown).take(kept)


def _column(key: str) -> str:
    """The column that a sorting key names."""
    return key.removeprefix("-")


def _order(key: str, expression: str) -> str:
    return f"{expression} {'desc' if key.startswith('-') else 'asc'} nulls last"


def parse_aggregates(calls: Sequence[str]) -> list[Aggregate]:
    """Read FUNCTION(COLUMN) texts. Raises UserError naming the one that is not legal."""
    found = []
    for call in calls:
        match = _CALL.fullmatch(call)
        if match is None or match["function"] not in FUNCTIONS:
            legal = ", ".join(f"{name}(COLUMN)" for name in FUNCTIONS)
            raise UserError(f"aggregate {call!r}: legal are count(), {legal}")
        one = Aggregate(match["function"], match["column"].strip())
        if not one.column and one.function != "count":
            raise UserError(f"aggregate {call!r}: {one.function} of which column?")
        found.append(one)
    return list(dict.fromkeys(found))


def _grouped(
    legal: list[str],
    read: Read,
    where: str | None,
    keys: Sequence[str],
    aggregates: Sequence[Aggregate],
    sort: Sequence[str],
) -> pa.Table:
    """One row per group of equal keys, in the order of their first rows; without keys, one row.

    Missing keys are a group of their own; an aggregate of no values is missing. Raises UserError
    for a number of a text.
    """
    needed = [*keys, *(call.column for call in aggregates if call.column)]
    check_columns(needed, legal)
    with engine() as connection:
        selection = Selection(connection, legal, where)
        names = list(dict.fromkeys([*needed, *selection.named]))
        rows = read(names or legal[:1])  # a table of no columns would have no rows
        expressions = {key: selection[key] for key in keys}
        for call in aggregates:
            if call.function != "count" and not _is_number(rows.schema.field(call.column).type):
                raise UserError(f"aggregate {call.name}: {call.column} is not a number")
            of = selection[call.column] if call.column else "*"
            expressions[call.name] = f"{FUNCTIONS[call.function]}({of})"
        check_columns(list(map(_column, sort)), list(expressions))
        order = [*(_order(key, expressions[_column(key)]) for key in sort), f"min({ROW})"]
        by = f"group by {', '.join(selection[key] for key in keys)}" if keys else ""
        chosen = ", ".join(expressions.values())
        found = selection.answer(rows, chosen, f"{by} order by {', '.join(order)}")
    return found.rename_columns(list(expressions))


def _is_number(kind: pa.DataType) -> bool:
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind))


def run_sql(results: Results, statement: str) -> pa.Table:
    """What one SELECT over the tables of `Results.table` gives.

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
