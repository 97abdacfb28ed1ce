"""Groups of rows and what is computed of each: `count()`, `mean(error)` and so on."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from anynet_study.errors import UserError
from anynet_study.store.sql import engine, fetch
from anynet_study.store.tables import check_columns

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
    """One row a group of equal keys, in the order of their first rows; without keys, one row.

    Missing keys are a group of their own; an aggregate of no values is missing. Raises UserError
    for a number of a text.
    """
    check_columns([one.column for one in aggregates if one.column], rows.column_names)
    for one in aggregates:
        if one.function != "count" and not _is_number(rows.schema.field(one.column).type):
            raise UserError(f"aggregate {one.name}: {one.column} is not a number")
    names = dict.fromkeys([*keys, *(one.column for one in aggregates if one.column)])
    # DuckDB takes names that differ in case only for one.
    places = {name: f"c{place}" for place, name in enumerate(names)}
    table = pa.table({places[name]: rows[name] for name in names} | {"row": np.arange(len(rows))})
    by = [places[key] for key in keys]
    computed = [_expression(one, places) for one in aggregates]
    order = f"group by {', '.join(by)} order by min(row)" if by else ""
    with engine() as connection:
        connection.register("rows", table)
        found = fetch(connection, f"select {', '.join([*by, *computed])} from rows {order}")
    return found.rename_columns([*keys, *(one.name for one in aggregates)])


def _expression(one: Aggregate, places: Mapping[str, str]) -> str:
    return f"{FUNCTIONS[one.function]}({places[one.column] if one.column else '*'})"


def _is_number(kind: pa.DataType) -> bool:
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind))
