"""Texts as attributes of HDF5 objects.

They are of fixed length: HDF5 checks these when it reads them, where a damaged text of varying
length may keep it busy for ever.
"""

from collections.abc import Sequence
from typing import Any

import h5py
import numpy as np


def fixed_texts(texts: str | Sequence[str]) -> Any:
    """A text, or several, as an array of fixed length in UTF-8; NUL becomes a backslash 0."""
    some = [texts] if isinstance(texts, str) else list(texts)
    storable = [text.replace("\0", "\\0").encode() for text in some]
    array = np.array(storable, h5py.string_dtype("utf-8", max([1, *map(len, storable)])))
    return array[0] if isinstance(texts, str) else array


def set_text(item: h5py.HLObject, name: str, value: str | Sequence[str]) -> None:
    """Write an attribute."""
    item.attrs.create(name, fixed_texts(value))


def get_text(item: h5py.HLObject, name: str, default: str | None = None) -> str:
    """Read an attribute. Raises KeyError where it is missing and there is no default."""
    if default is not None and name not in item.attrs:
        return default
    return _text(item.attrs[name])


def get_texts(item: h5py.HLObject, name: str) -> list[str]:
    """Read an attribute of several texts. Raises KeyError where it is missing."""
    return [_text(value) for value in np.atleast_1d(item.attrs[name])]


def _text(value: Any) -> str:
    return value.decode() if isinstance(value, bytes) else str(value)
