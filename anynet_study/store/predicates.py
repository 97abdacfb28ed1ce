"""What a parsed filter is: a tree of comparisons that says which rows of a table it keeps."""

import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import pandas as pd
from numpy.typing import NDArray

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


class Predicate(Protocol):
    """A part of a filter: the columns it names, and the rows of a table with these it keeps."""

    @property
    def columns(self) -> set[str]: ...

    def mask(self, table: pd.DataFrame) -> Mask: ...


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

    def mask(self, table: pd.DataFrame) -> Mask:
        """Raises UserError where the value is not of the column's type."""
        cells = table[self.column]
        value = self._typed(cells)
        if isinstance(value, float) and np.isnan(value):
            missing = np.asarray(cells.isna(), bool)
            equal = missing & (self.symbol in ("=", "=="))
            return ~missing if self.symbol == "!=" else equal
        return np.asarray(SYMBOLS[self.symbol](cells.to_numpy(), value), bool)

    def _typed(self, cells: "pd.Series[Any]") -> Any:
        if pd.api.types.is_bool_dtype(cells):
            return self._parsed(lambda text: _BOOLEANS[text.lower()], "true or false")
        if pd.api.types.is_integer_dtype(cells) and self.value.lstrip("+-").isdecimal():
            return self._parsed(int, "a number")
        if pd.api.types.is_numeric_dtype(cells):
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

    def mask(self, table: pd.DataFrame) -> Mask:
        combine = np.logical_and if self.every else np.logical_or
        return np.asarray(combine.reduce([part.mask(table) for part in self.parts]))


@dataclass(frozen=True)
class Negation:
    """The rows that the part does not keep."""

    part: Predicate

    @property
    def columns(self) -> set[str]:
        return self.part.columns

    def mask(self, table: pd.DataFrame) -> Mask:
        return ~self.part.mask(table)
