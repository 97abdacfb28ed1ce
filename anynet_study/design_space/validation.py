"""Refusing bad values in one line that says what, where and what is legal."""

from collections.abc import Collection, Iterable, Sequence
from typing import Any

import numpy as np

from anynet_study.core.errors import UserError, nearest


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


def whole_range(values: Any, name: str, low: int, high: int) -> tuple[int, int]:
    """Return a lowest and a highest whole number in [low, high]."""
    least, most = whole_numbers(values, f"{name} (lowest, highest)", 2, high)
    if least > most:
        raise UserError(f"{name}: the lowest, {least}, is above the highest, {most}")
    return whole_number(least, name, low, high), most


def grid_range(values: Any, name: str, step: float, low: float, high: float) -> tuple[float, float]:
    """Return a lowest and a highest multiple of `step` in [low, high]."""
    if not isinstance(values, Sequence) or isinstance(values, str) or len(values) != 2:
        raise UserError(f"{name}: {values!r} is not a list of lowest and highest")
    for value in values:
        number = isinstance(value, (int, float)) and not isinstance(value, bool)
        if not number or not low <= value <= high:
            raise UserError(f"{name}: {value!r} is not a number from {low:g} to {high:g}")
        if abs(value / step - round(value / step)) > 1e-6:
            raise UserError(f"{name}: {value!r} is not a multiple of {step:g}")
    if values[0] > values[1]:
        raise UserError(f"{name}: the lowest, {values[0]}, is above the highest, {values[1]}")
    return float(values[0]), float(values[1])


def choices(values: Any, name: str, high: int) -> tuple[int, ...]:
    """Return a set of whole numbers in [1, high] in increasing order."""
    numbers = whole_numbers(values, name, None, high)
    if len(set(numbers)) < len(numbers):
        raise UserError(f"{name}: {list(numbers)} names a value twice")
    return tuple(sorted(numbers))


def divides(divisor: int, value: int, complaint: str) -> None:
    """Refuse a value that is not a multiple of `divisor`, with a complaint that ends with it."""
    if value % divisor:
        raise UserError(f"{complaint} {divisor}")


def fraction(value: Any, name: str) -> float:
    """Return `value` as a float in [0, 1]; anything else is refused."""
    number = isinstance(value, (int, float, np.number)) and not isinstance(value, bool)
    if not number or not 0 <= value <= 1:
        raise UserError(f"{name}: {value!r} is not a number from 0 to 1")
    return float(value)


def one_of(value: Any, name: str, legal: Collection[str]) -> str:
    """Return `value` if it is one of the `legal` names; otherwise name them and the nearest."""
    if isinstance(value, str) and value in legal:
        return value
    raise UserError(f"{name}: {value!r} is unknown{nearest(value, legal)}; legal: {_list(legal)}")


def known_keys(keys: Iterable[Any], name: str, legal: Collection[str]) -> None:
    """Refuse a mapping's keys that are not `legal`."""
    for key in keys:
        if key not in legal:
            raise UserError(
                f"{name}: key {key!r} is unknown{nearest(key, legal)}; legal: {_list(legal)}"
            )


def _list(legal: Collection[str]) -> str:
    return ", ".join(legal)
