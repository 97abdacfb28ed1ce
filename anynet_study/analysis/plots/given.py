"""Check the input of figures: a table of another kind, or without a column, is told in a line."""

import functools
import inspect
import re
import traceback
from collections.abc import Callable, Iterator, Mapping
from types import UnionType
from typing import Any, ParamSpec, TypeVar, get_args, get_origin

import pandas as pd

from anynet_study.core.errors import DoesNotApplyError, UserError, some_of

P = ParamSpec("P")
R = TypeVar("R")
#: A name in the message of a KeyError, but not that of a dtype.
NAME = re.compile(r"(?<!=)'(?:Column not found: )?([^']*)'")


def checked(function: Callable[P, R]) -> Callable[P, R]:
    """The function, which raises UserError for a table that is none, or that lacks a column.

    It ends with the sentence of the function's docstring that says what the table has to be.
    """
    signature = inspect.signature(function)

    @functools.wraps(function)
    def wrapper(*args: P.args, **kwargs: P.kwargs) -> R:
        given = signature.bind(*args, **kwargs).arguments.items()
        kinds = {name: it.annotation for name, it in signature.parameters.items()}
        where = function.__name__
        tables = {
            label: table
            for name, value in given
            for label, table in _tables(where, name, value, kinds[name])
        }
        try:
            return function(*args, **kwargs)
        except KeyError as error:
            if not (told := _lacking(tables, error)):
                raise
            label, reason = told
            wanted = _sentence(function.__doc__ or "", label.partition("[")[0])
            raise DoesNotApplyError(f"{where}: {label}: {reason}{wanted}") from error

    return wrapper


def _tables(where: str, label: str, value: Any, kind: Any) -> Iterator[tuple[str, Any]]:
    """The tables in an argument that is annotated as `kind`, each with what to call it."""
    if isinstance(kind, UnionType):  # with None
        if value is not None:
            yield from _tables(where, label, value, get_args(kind)[0])
        return
    plain = get_origin(kind) or kind
    if plain not in (pd.DataFrame, pd.Series, Mapping):
        return
    if not isinstance(value, plain):
        needed = "dict" if plain is Mapping else f"pandas {plain.__name__}"
        raise UserError(f"{where}: {label}: a {type(value).__name__}; needed is a {needed}")
    if plain is Mapping:
        for key, part in value.items():
            yield from _tables(where, f"{label}[{key!r}]", part, get_args(kind)[1])
    elif plain is pd.DataFrame:
        yield label, value


def _lacking(tables: Mapping[str, pd.DataFrame], error: KeyError) -> tuple[str, str] | None:
    """The table that lacks the column of a KeyError, and in words what there is instead.

    Of several, the one most like the table in which the column was looked for.
    """
    names = NAME.findall(str(error)) or [str(error)]
    looked: set[str] = set()
    for frame, _ in traceback.walk_tb(error.__traceback__):
        it = frame.f_locals.get("self")
        it = getattr(it, "__dict__", {}).get("obj", it)  # of a groupby
        if isinstance(it, pd.DataFrame | pd.Series):  # a row is a Series
            looked = {*map(str, it.axes[-1])}
    found = []
    for label, table in tables.items():
        there = [*map(str, table.columns)]
        absent = [name for name in names if name not in there]
        if absent and (looked & {*there} or table.empty):
            known = ", ".join(some_of(there)) or "none"
            reason = f"no column {', '.join(absent)}; there are {known}"
            found.append((len(looked & {*there}), label, reason))
    return max(found, key=lambda it: it[0])[1:] if found else None


def _sentence(text: str, name: str) -> str:
    """The first sentence of a text on this argument, after a full stop; nothing without one."""
    sentences = re.split(r"(?<=\.)\s+", " ".join(text.split()))
    said = next((one for one in sentences if f"`{name}`" in one), "")
    return f". {said.removesuffix('.')}" if said else ""
