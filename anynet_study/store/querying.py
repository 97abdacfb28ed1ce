"""Select rows of the tables of results: filter, columns, grouping, order, limit."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, get_args

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from anynet_study.errors import UserError
from anynet_study.filters import parse_filter
from anynet_study.store.layout import TableName
from anynet_study.store.results import Results
from anynet_study.store.sql import engine, fetch
from anynet_study.store.tables import ON_REQUEST, check_columns, to_pandas

if TYPE_CHECKING:
    import pandas as pd

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

_CALL = re.compile(r"\s*(?P<function>[a-z]+)\s*\((?P<column>.*)\)\s*", re.DOTALL)


@dataclass(frozen=True)
class Aggregate:
    """A function of a column; of count, no column ("") is: of the rows."""

    function: str
    column: str

    @property
    def name(self) -> str:
        return f"{self.function}({self.column})"


def query(
    results: Results,
    table: TableName = "runs",
    where: str | None = None,
    columns: Sequence[str] | None = None,
    sort: Sequence[str] = (),
    limit: int | None = None,
    group_by: Sequence[str] = (),
    aggregate: Sequence[str] = (),
    **options: Any,
) -> "pd.DataFrame":
    """The rows of `select`, for pandas: whole numbers of which some are missing are Int64."""
    rows = select(results, table, where, columns, sort, limit, group_by, aggregate, **options)
    return to_pandas(rows, whole=True)


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
    """Rows of a table that a filter keeps (its language: `filters`), read column by column.

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
        whole = results.table("errors", **options) if table == "errors" else None
        legal = results.columns(table) if whole is None else whole.column_names
        kept = parse_filter(where, legal) if where else None
        shown = _shown(legal, columns, group_by, aggregates)
        keys = [name.removeprefix("-") for name in sort]
        inner = [] if aggregates else keys
        check_columns([*shown, *inner], legal)
        needed = dict.fromkeys([*shown, *inner, *sorted(kept.columns if kept else ())])
        names = list(needed) or legal[:1]  # a table of no columns would have no rows
        rows = whole.select(names) if whole is not None else results.table(table, names, **options)
    if kept:
        rows = rows.filter(kept.mask({name: _cells(rows[name]) for name in kept.columns}))
    if aggregates:
        rows = grouped(rows, group_by, aggregates)
        shown = rows.column_names
        check_columns(keys, shown)
    return _ordered(rows, sort).select(shown).slice(0, min(limit or len(rows), len(rows)))


def _shown(
    legal: list[str],
    columns: Sequence[str] | None,
    group_by: Sequence[str],
    aggregates: Sequence[Aggregate],
) -> list[str]:
    """The columns that are needed for what is shown."""
    if aggregates:
        return [*group_by, *(call.column for call in aggregates if call.column)]
    return list(columns) if columns else [name for name in legal if name not in ON_REQUEST]


def _cells(column: pa.ChunkedArray) -> NDArray[Any]:
    """Values for a filter: a missing number is NaN."""
    if pa.types.is_dictionary(column.type):
        column = column.cast(pa.string())
    if pa.types.is_integer(column.type) and column.null_count:
        column = column.cast(pa.float64())
    return np.asarray(column.to_numpy())


def _ordered(rows: pa.Table, sort: Sequence[str]) -> pa.Table:
    if not sort:
        return rows
    columns, orders = {}, []
    for number, name in enumerate(sort):
        values = rows[name.removeprefix("-")]
        text = pa.types.is_dictionary(values.type)
        columns[str(number)] = values.cast(pa.string()) if text else values
        orders.append((str(number), "descending" if name.startswith("-") else "ascending"))
    return rows.take(pc.sort_indices(pa.table(columns), orders))


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


def grouped(rows: pa.Table, keys: Sequence[str], aggregates: Sequence[Aggregate]) -> pa.Table:
    """One row per group of equal keys, in the order of their first rows; without keys, one row.

    Missing keys are a group of their own; an aggregate of no values is missing. Raises UserError
    for a number of a text.
    """
    check_columns([call.column for call in aggregates if call.column], rows.column_names)
    for call in aggregates:
        if call.function != "count" and not _is_number(rows.schema.field(call.column).type):
            raise UserError(f"aggregate {call.name}: {call.column} is not a number")
    names = dict.fromkeys([*keys, *(call.column for call in aggregates if call.column)])
    # DuckDB takes names that differ in case only for one.
    places = {name: f"c{place}" for place, name in enumerate(names)}
    table = pa.table({places[name]: rows[name] for name in names} | {"row": np.arange(len(rows))})
    by = [places[key] for key in keys]
    computed = [_expression(call, places) for call in aggregates]
    order = f"group by {', '.join(by)} order by min(row)" if by else ""
    with engine() as connection:
        connection.register("rows", table)
        found = fetch(connection, f"select {', '.join([*by, *computed])} from rows {order}")
    return found.rename_columns([*keys, *(call.name for call in aggregates)])


def _expression(call: Aggregate, places: Mapping[str, str]) -> str:
    return f"{FUNCTIONS[call.function]}({places[call.column] if call.column else '*'})"


def _is_number(kind: pa.DataType) -> bool:
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind))
