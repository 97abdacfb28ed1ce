"""Arrow from memory and back, against pyarrow's own conversion."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from numpy.typing import NDArray

from anynet_study.core import arrow

KINDS = ("?", "u1", "u2", "<i4", ">i4", "i8", "f4", "f8", ">f8")


@given(st.sampled_from(KINDS).flatmap(lambda kind: hnp.arrays(kind, st.integers(0, 20))))
def test_numbers_are_those_of_pyarrow(values: NDArray[np.generic]) -> None:
    native = values.astype(values.dtype.newbyteorder("="))
    found = arrow.numbers(values[::-1])
    found.validate(full=True)
    assert found.equals(pa.array(native[::-1], from_pandas=True))
    np.testing.assert_array_equal(arrow.to_numpy(found), native[::-1])
    pieces = pa.chunked_array([found.slice(3), found.slice(0, 2)], found.type)
    np.testing.assert_array_equal(arrow.to_numpy(pieces), [*native[::-1][3:], *native[::-1][:2]])


@given(st.lists(st.text(st.characters(exclude_categories=["Cs"]))))
def test_texts_are_those_of_pyarrow(values: list[str]) -> None:
    for given_as in (values, [text.encode() for text in values]):
        found = arrow.texts(given_as)
        found.validate(full=True)
        assert found.equals(pa.array(values, pa.string()))


def test_what_is_no_text_or_has_no_number_is_refused() -> None:
    with pytest.raises(pa.ArrowInvalid):
        arrow.texts([b"\xff"])
    with pytest.raises(pa.ArrowInvalid):
        arrow.to_numpy(pa.array([1, None]))


def test_a_column_in_no_pieces_is_empty() -> None:
    coded = pa.dictionary(pa.int32(), pa.string())
    assert arrow.whole(pa.chunked_array([], coded)).type == coded
    assert arrow.to_numpy(pa.chunked_array([], pa.float64())).size == 0
