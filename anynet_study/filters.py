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
import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Literal

from anynet_study.errors import UserError
from anynet_study.predicates import SYMBOLS, Combination, Comparison, Negation, Predicate

MAX_LENGTH = 10_000
MAX_DEPTH = 50

_TOKEN = re.compile(
    r"""(?P<symbol><=|>=|!=|==|[=<>(),])
      |(?P<quoted>"(?:[^"]|"")*"|'(?:[^']|'')*')
      |(?P<word>[^\s=!<>(),"']+)""",
    re.VERBOSE,
)


@dataclass(frozen=True)
class Token:
    """A piece of a filter; `at` is its position, counted from 1."""

    kind: Literal["symbol", "quoted", "word", "end"]
    text: str
    at: int

    def is_word(self, keyword: str) -> bool:
        return self.kind == "word" and self.text.lower() == keyword


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


def _tokens(text: str) -> Iterator[Token]:
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
        yield Token(match.lastgroup, content, at + 1)  # type: ignore[arg-type]
        at = match.end()
    yield Token("end", "the end", len(text) + 1)


class _Parser:
    """Recursive descent over the tokens, one method a rule of the grammar."""

    def __init__(self, tokens: list[Token], columns: Collection[str]) -> None:
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

    def operand(self, what: str) -> Token:
        if self.tokens[0].kind not in ("word", "quoted"):
            raise self.expected(what)
        return self.next()

    def symbol(self, text: str) -> None:
        if self.tokens[0].kind != "symbol" or self.tokens[0].text != text:
            raise self.expected(f"`{text}`")
        self.next()

    def next(self) -> Token:
        return self.tokens.pop(0)

    def expected(self, what: str) -> UserError:
        found = self.tokens[0]
        return UserError(f"filter, position {found.at}: expected {what}, found {found.text!r}")
