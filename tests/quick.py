"""Of many cases of one thing, the quick tests try some."""

from collections.abc import Container, Iterable
from typing import Any

import pytest


def slow_but(quick: Container[Any], cases: Iterable[Any]) -> list[Any]:
    """The cases for `pytest.mark.parametrize`; those that are not among `quick` are slow."""
    return [
        pytest.param(
            *(case if isinstance(case, tuple) else (case,)),
            marks=() if case in quick else pytest.mark.slow,
        )
        for case in cases
    ]
