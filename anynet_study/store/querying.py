"""Select rows of the tables of results: filter, columns, grouping, order, limit."""

from collections.abc import Sequence
from typing import Any, get_args

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from anynet_study.errors import UserError
from anynet_study.filters import parse_filter
from anynet_study.store.grouping import Aggregate, grouped, parse_aggregates
from anynet_study.store.results import Results, TableName
from anynet_study.store.tables import ON_REQUEST, check_columns, to_pandas


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
) -> pd.DataFrame:
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

    `columns` None: all but those that must be named (ON_REQUEST). `group_by` and `aggregate` (see
    `grouping`; default: count()) make them one row a group, in the order of their first rows; then
    the columns are the keys and the aggregates, which `sort` can name too. `-name` sorts
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
    return _ordered(rows, sort).select(shown).slice(0, limit)


def _shown(
    legal: list[str],
    columns: Sequence[str] | None,
    group_by: Sequence[str],
    aggregates: Sequence[Aggregate],
) -> list[str]:
    """The columns that are needed for what is shown."""
    if aggregates:
        return [*group_by, *(one.column for one in aggregates if one.column)]
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
