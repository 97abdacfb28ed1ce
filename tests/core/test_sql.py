"""Conditions on tables, beside what Python makes of the same rows, and what is wrong with some."""

from collections.abc import Iterator
from contextlib import nullcontext

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anynet_study.core import sql
from anynet_study.core.errors import UserError
from anynet_study.core.sql import MAX_LENGTH, rows_where

NAMES = ["digits", "CIFAR-10-5", "sign language", "it's", "10"]
TABLE = pa.table(
    {
        "name": pa.array(NAMES).dictionary_encode(),
        "error": [20.0, None, 5.5, 100.0, -1.0],
        "d1": pa.array([1, 2, 3, 4, 16], pa.int32()),
        "planned": [True, False, True, True, False],
        "flops": [2**53 + 1, 2**53, 1, 2, 3],
        "CIFAR-10": [1, 2, 3, 4, 5],
        "Cars": [1, 1, 1, 1, 2],
        "cars": [1, 1, 1, 2, 1],
    }
)


@pytest.fixture(scope="module", autouse=True)
def _one_engine() -> Iterator[None]:
    """Beginning one takes most of the time of a condition."""
    with sql.engine() as connection, pytest.MonkeyPatch.context() as patch:
        patch.setattr(sql, "engine", lambda: nullcontext(connection))
        yield


def kept(text: str) -> list[int]:
    return rows_where(TABLE, text).tolist()


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        ("name = 'digits'", [0]),
        ("name = 'it''s'", [3]),
        ("name = '10'", [4]),
        ("name like '% language'", [2]),
        ("name in ('digits', '10')", [0, 4]),
        ("error < 20", [2, 4]),
        ("error is null", [1]),
        ("error != 20", [2, 3, 4]),
        ("not error > 20", [0, 2, 4]),
        ("ERROR between 5 and 20", [0, 2]),
        ("d1 NOT IN (1)", [1, 2, 3, 4]),
        ("flops = 9007199254740993", [0]),
        ("planned", [0, 2, 3]),
        ("planned = false", [1, 4]),
        ("name = 'digits' or d1 > 2 and planned = false", [0, 4]),
        ('"CIFAR-10" > 3', [3, 4]),
        ("Cars = 2", [4]),
        ("cars = 2", [3]),
        ("CARS = 2", [4]),  # the first of those that are alike
        ("d1 + 1 = 3 -- as any SQL", [1]),
        ("1 = 1", [0, 1, 2, 3, 4]),
    ],
)
def test_what_conditions_mean(text: str, rows: list[int]) -> None:
    assert kept(text) == rows


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("", "syntax error"),
        ("eror < 3", r"no column 'eror' \(did you mean 'error'\?\)$"),
        ("error < 1 or (d1 > 3 and nam = 'x')", r"no column 'nam' \(did you mean 'name'\?\)"),
        ("error < ", "syntax error"),
        ("(error < 3", "syntax error"),
        ("name = 'open", "unterminated"),
        ("name = digits", "digits is no column; text stands in single quotes: 'digits'"),
        ("d1 > 2 and name = CIFAR-10-5", "CIFAR-10-5 is no column; .*: 'CIFAR-10-5'"),
        ('name = "it\'s"', "\"it's\" is no column; .*: 'it''s'"),
        ("name != é", "é is no column; .*: 'é'"),
        ("name in (digits, 'b')", "digits is no column; .*: 'digits'"),
        ("name in ('b', digits)", "digits is no column"),
        ("name between a and 'c'", "a is no column"),
        ("name like dig", "dig is no column"),
        ("name = sign language", "syntax error .*; text stands in single quotes, such as"),
        ("error = nan", "a missing number is found by `is null`"),
        ("name = 10", "Could not convert string 'digits' to INT32 .* column name"),
        ("error < 'many'", "Could not convert string 'many' to DOUBLE"),
        ("error + name > 2", r"No function matches .* '\+\(DOUBLE, VARCHAR\)'\.$"),
        ("avg(error) > 3", "WHERE clause cannot contain aggregates"),
        ("error < 3 order by error", "is more than what may follow WHERE"),
        ("error < 3 limit 1", "is more than what may follow WHERE"),
        ("error < 3 union select 1", "is more than what may follow WHERE"),
        ("true; select 1", "2 statements"),
        ("true) or (true", "syntax error"),
        ("(" * 6000 + "1" + ")" * 6000, f"12001 characters; at most {MAX_LENGTH}"),
        ("(" * 4000 + "true" + ")" * 4000, "memory|stack|depth|syntax"),
        ("exists (from read_csv('/etc/passwd'))", "disabled by configuration"),
        ("exists (from runs)", "Table with name runs does not exist"),
        ("list_filter([1], lambda q: q > 0) = [1]", "no column 'q'"),
        ("error = ?", "parameter"),
        ("name = '\udcff'", "not text in UTF-8"),
    ],
)
def test_what_is_wrong_is_said_in_one_line(text: str, complaint: str) -> None:
    with pytest.raises(UserError, match=complaint) as raised:
        kept(text)
    assert str(raised.value).startswith("condition: ")
    assert "\n" not in str(raised.value)


PIECES = [
    *("and", "or", "not", "in", "(", ")", ",", "=", "<", "'", '"', "d1", "error", "is null"),
    *("9e999", "rows", "select", "--", "/*", ";", "$1", "*", "::int", "between", "case", "[", "x"),
]
HOSTILE = st.one_of(
    st.text(max_size=60),
    st.lists(st.sampled_from(PIECES), max_size=25).map(" ".join),
    st.lists(st.one_of(st.sampled_from(PIECES), st.text(max_size=4)), max_size=15).map("".join),
)


@pytest.mark.slow
@given(HOSTILE)
@settings(max_examples=300, deadline=None, derandomize=True)
def test_any_text_is_a_condition_or_one_clear_line(text: str) -> None:
    complaint = "condition: "
    try:
        kept(text)
    except UserError as error:
        complaint = str(error)
    assert complaint.startswith("condition: ")
    assert len(complaint.splitlines()) == 1


def comparisons() -> st.SearchStrategy[tuple[str, str]]:
    """A comparison, and the same as an expression of Python over one row."""
    number = st.integers(-2, 20).map(str)
    symbols = st.sampled_from(["=", "!=", "<", "<=", ">", ">="])
    numeric = st.tuples(st.sampled_from(["flops", "d1"]), symbols, number)
    member = st.lists(number, min_size=1, max_size=3)
    return st.one_of(
        numeric.map(lambda t: (" ".join(t), f"{t[0]} {'==' if t[1] == '=' else t[1]} {t[2]}")),
        member.map(lambda m: (f"d1 in ({', '.join(m)})", f"d1 in ({', '.join(m)},)")),
        st.sampled_from(["digits", "10"]).map(lambda n: (f"name = {n!r}", f"name == {n!r}")),
        st.just(("error is null", "error is None")),
    )


def combine(parts: st.SearchStrategy[tuple[str, str]]) -> st.SearchStrategy[tuple[str, str]]:
    joined = st.tuples(parts, st.sampled_from([" and ", " or "]), parts)
    return st.one_of(
        joined.map(lambda t: (t[0][0] + t[1] + t[2][0], t[0][1] + t[1] + t[2][1])),
        parts.map(lambda p: (f"({p[0]})", f"({p[1]})")),
        parts.map(lambda p: (f"not ({p[0]})", f"not ({p[1]})")),
    )


@pytest.mark.slow
@given(st.recursive(comparisons(), combine, max_leaves=8))
@settings(max_examples=100, deadline=None, derandomize=True)
def test_precedence_and_meaning_are_those_of_python(pair: tuple[str, str]) -> None:
    text, python = pair
    rows = TABLE.to_pylist()
    assert kept(text) == [i for i, row in enumerate(rows) if eval(python, {}, row)]
