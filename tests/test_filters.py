import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anynet_study.errors import UserError
from anynet_study.filters import MAX_LENGTH, parse_filter

TABLE = pd.DataFrame(
    {
        "name": ["digits", "CIFAR-10-5", "sign language", "it's", "10"],
        "error": [20.0, np.nan, 5.5, 100.0, -1.0],
        "d1": np.array([1, 2, 3, 4, 16], np.int32),
        "planned": [True, False, True, True, False],
        "flops": [2**53 + 1, 2**53, 1, 2, 3],
    }
)


def kept(text: str) -> list[int]:
    return np.flatnonzero(parse_filter(text, list(TABLE.columns)).mask(TABLE)).tolist()


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        ("name = digits", [0]),
        ("name==CIFAR-10-5", [1]),
        ("name = 'sign language'", [2]),
        ("name = \"it's\" or name = 'it''s'", [3]),
        ("name = 10", [4]),
        ("name >= d and name < j", [0, 3]),
        ("error<20", [2, 4]),
        ("error <= 2e1", [0, 2, 4]),
        ("error = nan", [1]),
        ("error != NaN", [0, 2, 3, 4]),
        ("error < nan", []),
        ("error > -inf", [0, 2, 3, 4]),
        ("error != 20", [1, 2, 3, 4]),
        ("not error > 20", [0, 1, 2, 4]),
        ("d1 > 1.5 and d1 < 4", [1, 2]),
        ("d1 in (1, 16,3)", [0, 2, 4]),
        ("d1 NOT IN (1)", [1, 2, 3, 4]),
        ("flops = 9007199254740993", [0]),
        ("planned = true", [0, 2, 3]),
        ("planned != YES", [1, 4]),
        ("name = digits or d1 > 2 and planned = false", [0, 4]),
        ("(name = digits or d1 > 2) and planned = false", [4]),
        ("not not (d1 = 1)", [0]),
        ('"d1" = "1"', [0]),
    ],
)
def test_what_filters_mean(text: str, rows: list[int]) -> None:
    assert kept(text) == rows


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("", "position 1: expected a column, found 'the end'"),
        ("eror < 3", r"position 1: no column 'eror' \(did you mean error\?\); there are: name, er"),
        ("error < ", "position 9: expected a value, found 'the end'"),
        ("error 3", "position 7: expected one of = != < <= > >= in, not in, found '3'"),
        ("error < 3 error > 2", "position 11: expected `and`, `or` or the end, found 'error'"),
        ("(error < 3", r"position 11: expected `\)`"),
        ("error < 3)", r"position 10: expected `and`"),
        ("d1 in 3", r"position 7: expected `\(`"),
        ("d1 in ()", "position 8: expected a value"),
        ("d1 in (1 2)", r"position 10: expected `\)`"),
        ("d1 not 3", "position 8: expected `in`"),
        ("name = 'open", "position 8: a quote is not closed"),
        ("d1 = many", "position 6: d1 is a number, not 'many'"),
        ("d1 = 1 and planned = maybe", "position 22: planned is true or false, not 'maybe'"),
        ("name ! digits", "position 6: '!' is not legal"),
        ("(" * 60 + "d1 = 1" + ")" * 60, "nested more than 50 deep"),
        ("not " * 60 + "d1 = 1", "nested more than 50 deep"),
        ("d1 = 1 or " * 2000, f"20000 characters; at most {MAX_LENGTH}"),
        ("__import__('os').system('x')", "position 1: no column '__import__'"),
        ("d1 = @name", "d1 is a number, not '@name'"),
    ],
)
def test_what_is_wrong_is_said_in_one_line_with_its_position(text: str, complaint: str) -> None:
    with pytest.raises(UserError, match=complaint) as raised:
        kept(text)
    assert "\n" not in str(raised.value)


PIECES = [
    "and",
    "or",
    "not",
    "in",
    "(",
    ")",
    ",",
    "=",
    "<",
    "'",
    '"',
    "d1",
    "error",
    "nan",
    "9e999",
]
HOSTILE = st.one_of(
    st.text(max_size=60),
    st.lists(st.sampled_from(PIECES), max_size=25).map(" ".join),
    st.lists(st.one_of(st.sampled_from(PIECES), st.text(max_size=4)), max_size=15).map("".join),
)


@pytest.mark.slow
@given(HOSTILE)
@settings(max_examples=400, deadline=None)
def test_any_text_is_a_filter_or_one_clear_line(text: str) -> None:
    complaint = "filter"
    try:
        kept(text)
    except UserError as error:
        complaint = str(error)
    assert complaint.startswith("filter")


def comparisons() -> st.SearchStrategy[tuple[str, str]]:
    """A comparison, and the same as an expression of Python over one row."""
    number = st.integers(-2, 20).map(str)
    symbols = st.sampled_from(["=", "!=", "<", "<=", ">", ">="])
    numeric = st.tuples(st.sampled_from(["error", "d1"]), symbols, number)
    member = st.lists(number, min_size=1, max_size=3)
    return st.one_of(
        numeric.map(lambda t: (" ".join(t), f"{t[0]} {'==' if t[1] == '=' else t[1]} {t[2]}")),
        member.map(lambda m: (f"d1 in ({', '.join(m)})", f"d1 in ({', '.join(m)},)")),
        st.sampled_from(["digits", "10"]).map(lambda n: (f"name = {n}", f"name == {n!r}")),
    )


def combine(parts: st.SearchStrategy[tuple[str, str]]) -> st.SearchStrategy[tuple[str, str]]:
    joined = st.tuples(parts, st.sampled_from([" and ", " or "]), parts)
    return st.one_of(
        joined.map(lambda t: (t[0][0] + t[1] + t[2][0], t[0][1] + t[1] + t[2][1])),
        parts.map(lambda p: (f"({p[0]})", f"({p[1]})")),
        parts.map(lambda p: (f"not {p[0]}", f"not {p[1]}")),
    )


@pytest.mark.slow
@given(st.recursive(comparisons(), combine, max_leaves=8))
@settings(max_examples=200, deadline=None)
def test_precedence_and_meaning_are_those_of_python(pair: tuple[str, str]) -> None:
    text, python = pair
    rows = TABLE.to_dict("records")
    assert kept(text) == [i for i, row in enumerate(rows) if eval(python, {}, row)]
