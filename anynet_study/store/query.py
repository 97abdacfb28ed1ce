"""Select rows of a store's tables: filter, columns, order, limit."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import pandas as pd

from anynet_study.errors import UserError
from anynet_study.filters import parse_filter, unknown_column
from anynet_study.store.layout import RUN_COLUMNS
from anynet_study.store.results import ResultStore

TableName = Literal["runs", "architectures", "datasets", "curves", "errors"]


@dataclass(frozen=True)
class _Table:
    """The columns that a table has, and how some of them are read."""

    columns: list[str]
    read: Callable[[Collection[str]], pd.DataFrame]
    #: Columns of whole numbers, also where missing cells made them floats.
    whole: Collection[str] = ()


def query(
    store: ResultStore,
    table: TableName = "runs",
    where: str | None = None,
    columns: Sequence[str] | None = None,
    sort: Sequence[str] = (),
    limit: int | None = None,
) -> pd.DataFrame:
    """Rows of a table that a filter keeps (its language: `filters`), read column by column.

    `runs` also has the columns of its architecture and dataset, and `spec`. `columns` None: all
    but `spec`. `sort` names columns, `-name` descending; missing values come last. What is known of
    an architecture or a dataset in whole numbers is Int64 where some are missing. Raises UserError
    for anything that is not there.
    """
    if table not in get_args(TableName):
        raise UserError(f"no table {table!r}; there are: {', '.join(get_args(TableName))}")
    if limit is not None and limit < 1:
        raise UserError(f"limit {limit}: must be 1 or more")
    with store:
        source = _source(store, table)
        shown = [name for name in source.columns if name != "spec"]
        shown = list(columns) if columns else shown
        keys = [name.removeprefix("-") for name in sort]
        for name in (*shown, *keys):
            if name not in source.columns:
                raise UserError(unknown_column(name, source.columns))
        kept = parse_filter(where, source.columns) if where else None
        rows = source.read({*shown, *keys, *(kept.columns if kept else ())})
    if kept:
        rows = rows[kept.mask(rows)]
    if keys:
        ascending = [not name.startswith("-") for name in sort]
        rows = rows.sort_values(keys, ascending=ascending, kind="stable", na_position="last")
    rows = rows[shown].head(len(rows) if limit is None else limit).reset_index(drop=True)
    made_floats = rows.select_dtypes("float").columns.intersection(list(source.whole))
    return rows.astype(dict.fromkeys(made_floats, "Int64"))


def _source(store: ResultStore, table: TableName) -> _Table:
    if table == "runs":
        return _joined_runs(store)
    whole: set[str] = set()
    if table == "errors":
        found = store.errors().reset_index()
    elif table == "curves":
        found = store.curves()
    else:
        found = store.architectures() if table == "architectures" else store.datasets()
        whole = _whole_numbers(found)
    return _Table(list(found.columns), lambda names: found[[n for n in found if n in names]], whole)


def _whole_numbers(table: pd.DataFrame) -> set[str]:
    """Columns of integers, and those that missing cells made floats (`columns.write_table`)."""
    gappy = table.select_dtypes("float").loc[:, lambda floats: floats.isna().any()]
    whole = gappy.columns[(gappy.isna() | (gappy % 1 == 0)).all()]
    return {*table.select_dtypes("integer").columns, *whole}


def _joined_runs(store: ResultStore) -> _Table:
    """The runs, each with the columns of its architecture and its dataset that it lacks itself."""
    about = {"architecture": store.architectures(), "dataset": store.datasets()}
    whole = {name for table in about.values() for name in _whole_numbers(table)}
    own = [*RUN_COLUMNS, "spec"]
    columns = list(own)
    for key, table in about.items():
        columns += [name for name in table if name not in columns]
        about[key] = table.set_index(key)

    def read(names: Collection[str]) -> pd.DataFrame:
        rows = store.runs([name for name in own if name in {*names, *about}])
        for key, table in about.items():
            wanted = [name for name in table if name in names and name not in rows]
            rows = rows.join(table[wanted], on=key)
            text = rows.select_dtypes(exclude="number").columns.intersection(wanted)
            rows[text] = rows[text].fillna("")  # a run of another sweep's architecture
        return rows

    return _Table(columns, read, whole)
