"""Refusing bad values in one line that says what, where and what is legal."""

import difflib
from collections.abc import Collection, Iterable, Sequence
from typing import Any

import numpy as np

from anynet_study.errors import UserError


def whole_number(value: Any, name: str, low: int, high: int) -> int:
    """Return `value` as an int in [low, high]; anything else (True, 2.5, "3") is refused."""
    whole = isinstance(value, (int, np.integer)) and not isinstance(value, bool)
    if not whole or not low <= value <= high:
        raise UserError(f"{name}: {value!r} is not a whole number from {low:,} to {high:,}")
    return int(value)


def whole_numbers(values: Any, name: str, count: int | None, high: int) -> tuple[int, ...]:
    """Return a sequence of `count` (None: one or more) whole numbers in [1, high] as a tuple."""
    wanted = f"a list of {count}" if count else "a list of one or more"
    if not isinstance(values, Sequence) or isinstance(values, str) or not values:
        raise UserError(f"{name}: {values!r} is not {wanted} whole numbers")
    if count and len(values) != count:
        raise UserError(f"{name}: {list(values)!r} has {len(values)} values, not {count}")
    return tuple(whole_number(value, name, 1, high) for value in values)


def one_of(value: Any, name: str, legal: Collection[str]) -> str:
    """Return `value` if it is one of the `legal` names; otherwise name them and the nearest."""
    if isinstance(value, str) and value in legal:
        return value
    raise UserError(f"{name}: {value!r} is unknown{_nearest(value, legal)}; legal: {_list(legal)}")


def known_keys(keys: Iterable[Any], name: str, legal: Collection[str]) -> None:
    """Refuse a mapping's keys that are not `legal`."""
    for key in keys:
        if key not in legal:
            raise UserError(
                f"{name}: key {key!r} is unknown{_nearest(key, legal)}; legal: {_list(legal)}"
            )


def _nearest(value: Any, legal: Collection[str]) -> str:
    matches = difflib.get_close_matches(str(value), legal, n=1)
    return f" (did you mean {matches[0]!r}?)" if matches else ""


def _list(legal: Collection[str]) -> str:
    return ", ".join(legal)
