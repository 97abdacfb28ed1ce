"""The filter language of tables of runs and of architectures: comparisons, and, or, not, in.

    dataset = digits and error < 20
    status != completed or (replicate in (0, 1) and not d1 >= 8)
    dataset in ("CIFAR-10", 'sign language') and planned = true and error != nan

    expression = term { "or" term }
    term       = factor { "and" factor }
    factor     = "not" factor | "(" expression ")" | column test
    test       = ( "=" | "!=" | "<" | "<=" | ">" | ">=" ) value
               | [ "not" ] "in" "(" value { "," value } ")"

A column or value is a word without blanks, or quoted text, where a doubled quote stands for one. A
value is read by the type of its column: number, text, or true/false. `nan` is a missing number: it
equals only itself. A filter is data: nothing in it is ever run as code.
"""

import difflib
import operator
import re
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal, Protocol

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

MAX_LENGTH = 10_000
MAX_DEPTH = 50

_TOKEN = re.compile(
    r"""(?P<symbol><=|>=|!=|==|[=<>(),])
      |(?P<quoted>"(?:[^"]|"")*"|'(?:[^']|'')*')
      |(?P<word>[^\s=!<>(),"']+)""",
    re.VERBOSE,
)


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


def parse_filter(text: str, columns: Collection[str]) -> Predicate:
    """Parse a filter over a table with these columns.

    Raises UserError naming the position and what would be legal there.
    """
    if len(text) > MAX_LENGTH:
        raise UserError(f"filter of {len(text)} characters; at most {MAX_LENGTH} are read")
    return _Parser(list(_tokens(text)), columns).whole()


def unknown_column(name: str, columns: Collection[str]) -> str:
    """One line about a column that is not there: the nearest and the legal ones."""
    near = difflib.get_close_matches(name, columns, n=1)
    guess = f" (did you mean {near[0]}?)" if near else ""
    return f"no column {name!r}{guess}; there are: {', '.join(columns)}"


@dataclass(frozen=True)
class _Token:
    """A piece of a filter; `at` is its position, counted from 1."""

    kind: Literal["symbol", "quoted", "word", "end"]
    text: str
    at: int

    def is_word(self, keyword: str) -> bool:
        return self.kind == "word" and self.text.lower() == keyword


def _tokens(text: str) -> Iterator[_Token]:
    at = 0
    while at < len(text):
        if text[at].isspace():
            at += 1
            continue
        match = _TOKEN.match(text, at)
        if match is None:
            what = "a quote is not closed" if text[at] in "\"'" else f"{text[at]!r} is not legal"
            raise UserError(f"filter, position {at + 1}: {what}")
        content = match[0]
        if match.lastgroup == "quoted":
            content = content[1:-1].replace(content[0] * 2, content[0])
        yield _Token(match.lastgroup, content, at + 1)  # type: ignore[arg-type]
        at = match.end()
    yield _Token("end", "the end", len(text) + 1)


class _Parser:
    """Recursive descent over the tokens, one method a rule of the grammar."""

    def __init__(self, tokens: list[_Token], columns: Collection[str]) -> None:
        self.tokens = tokens
        self.columns = columns
        self.depth = 0

    def whole(self) -> Predicate:
        found = self.expression()
        if self.tokens[0].kind != "end":
            raise self.expected("`and`, `or` or the end")
        return found

    def expression(self) -> Predicate:
        parts = [self.term()]
        while self.tokens[0].is_word("or"):
            self.next()
            parts.append(self.term())
        return parts[0] if len(parts) == 1 else Combination(tuple(parts), every=False)

    def term(self) -> Predicate:
        parts = [self.factor()]
        while self.tokens[0].is_word("and"):
            self.next()
            parts.append(self.factor())
        return parts[0] if len(parts) == 1 else Combination(tuple(parts), every=True)

    def factor(self) -> Predicate:
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise UserError(f"filter: nested more than {MAX_DEPTH} deep")
        if self.tokens[0].is_word("not"):
            self.next()
            found: Predicate = Negation(self.factor())
        elif self.tokens[0].text == "(" and self.tokens[0].kind == "symbol":
            self.next()
            found = self.expression()
            self.symbol(")")
        else:
            found = self.test()
        self.depth -= 1
        return found

    def test(self) -> Predicate:
        column = self.operand("a column")
        if column.text not in self.columns:
            where = f"filter, position {column.at}"
            raise UserError(f"{where}: {unknown_column(column.text, self.columns)}")
        negated = self.tokens[0].is_word("not")
        if negated:
            self.next()
        if self.tokens[0].is_word("in"):
            self.next()
            found = self.members(column.text)
            return Negation(found) if negated else found
        if negated or self.tokens[0].text not in SYMBOLS or self.tokens[0].kind != "symbol":
            raise self.expected("`in`" if negated else "one of = != < <= > >= in, not in")
        symbol = self.next().text
        value = self.operand("a value")
        return Comparison(column.text, symbol, value.text, value.at)

    def members(self, column: str) -> Predicate:
        self.symbol("(")
        parts: list[Predicate] = []
        while not parts or self.tokens[0].text == ",":
            if parts:
                self.symbol(",")
            value = self.operand("a value")
            parts.append(Comparison(column, "=", value.text, value.at))
        self.symbol(")")
        return Combination(tuple(parts), every=False)

    def operand(self, what: str) -> _Token:
        if self.tokens[0].kind not in ("word", "quoted"):
            raise self.expected(what)
        return self.next()

    def symbol(self, text: str) -> None:
        if self.tokens[0].kind != "symbol" or self.tokens[0].text != text:
            raise self.expected(f"`{text}`")
        self.next()

    def next(self) -> _Token:
        return self.tokens.pop(0)

    def expected(self, what: str) -> UserError:
        found = self.tokens[0]
        return UserError(f"filter, position {found.at}: expected {what}, found {found.text!r}")
