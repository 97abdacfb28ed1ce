"""What a parsed filter is: a tree of comparisons that says which rows of a table it keeps."""

import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from anynet_study.errors import UserError

Mask = NDArray[np.bool_]

SYMBOLS: Mapping[str, Callable[[Any, Any], Any]] = {
    "=": operator.eq,
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
_BOOLEANS = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}


class Table(Protocol):
    """Columns by name, such as a DataFrame or a mapping of arrays; a missing number is NaN."""

    def __getitem__(self, name: str, /) -> ArrayLike: ...


class Predicate(Protocol):
    """A part of a filter: the columns it names, and the rows of a table with these it keeps."""

    @property
    def columns(self) -> set[str]: ...

    def mask(self, table: Table) -> Mask: ...


@dataclass(frozen=True)
class Comparison:
    """`column symbol value`, the value as written at position `at`."""

    column: str
    symbol: str
    value: str
    at: int

    @property
    def columns(self) -> set[str]:
        return {self.column}

    def mask(self, table: Table) -> Mask:
        """Raises UserError where the value is not of the column's type."""
        cells = np.asarray(table[self.column])
        value = self._typed(cells.dtype.kind)
        if isinstance(value, float) and np.isnan(value):
            missing = np.isnan(cells)
            equal = missing & (self.symbol in ("=", "=="))
            return np.asarray(~missing if self.symbol == "!=" else equal)
        return np.asarray(SYMBOLS[self.symbol](cells, value), bool)

    def _typed(self, kind: str) -> Any:
        """The value as one of NumPy's kinds of types."""
        if kind == "b":
            return self._parsed(lambda text: _BOOLEANS[text.lower()], "true or false")
        if kind in "iu" and self.value.lstrip("+-").isdecimal():
            return self._parsed(int, "a number")
        if kind in "iuf":
            return self._parsed(float, "a number")
        return self.value

    def _parsed(self, read: Callable[[str], Any], what: str) -> Any:
        try:
            return read(self.value)
        except (ValueError, KeyError):
            raise UserError(
                f"filter, position {self.at}: {self.column} is {what}, not {self.value!r}"
            ) from None


@dataclass(frozen=True)
class Combination:
    """The rows that every part keeps, or that any part does."""

    parts: tuple[Predicate, ...]
    every: bool

    @property
    def columns(self) -> set[str]:
        return {name for part in self.parts for name in part.columns}

    def mask(self, table: Table) -> Mask:
        combine = np.logical_and if self.every else np.logical_or
        return np.asarray(combine.reduce([part.mask(table) for part in self.parts]))


@dataclass(frozen=True)
class Negation:
    """The rows that the part does not keep."""

    part: Predicate

    @property
    def columns(self) -> set[str]:
        return self.part.columns

    def mask(self, table: Table) -> Mask:
        return ~self.part.mask(table)
