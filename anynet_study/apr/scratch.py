"""Working memory that is used again: getting and clearing it anew took longer than the sums."""

import threading
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray


class Scratch(threading.local):
    """Arrays by name, of each thread its own, that are overwritten when asked for again."""

    def __init__(self) -> None:
        self._bytes: dict[str, NDArray[np.uint8]] = {}

    def array(self, name: str, shape: Sequence[int], dtype: DTypeLike) -> NDArray[Any]:
        """An array with unknown content, valid until the next one of that name."""
        size = int(np.prod(shape)) * np.dtype(dtype).itemsize
        if name not in self._bytes or self._bytes[name].size < size:
            self._bytes[name] = np.empty(size, dtype=np.uint8)
        return self._bytes[name][:size].view(dtype).reshape(shape)
