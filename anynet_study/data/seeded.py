"""Seeded randomness that stays the same for ever, whatever the machine or library version.

Only the raw stream of a bit generator is used: numpy promises that it never changes, which it
does not promise for the methods of `Generator`.
"""

import hashlib

import numpy as np
from numpy.typing import NDArray


def _raw(count: int, key: tuple[object, ...]) -> NDArray[np.uint64]:
    seed = hashlib.sha256("\0".join(map(str, key)).encode()).digest()
    stream = np.random.PCG64(int.from_bytes(seed[:16], "big"))
    return np.asarray(stream.random_raw(count), dtype=np.uint64)


def seeded_order(count: int, *key: object) -> NDArray[np.int64]:
    """A random permutation of 0..count-1, a function of `key` only."""
    return np.argsort(_raw(count, key), kind="stable")


def seeded_uniform(shape: tuple[int, ...], *key: object) -> NDArray[np.float64]:
    """Numbers in [0, 1) of `shape`, a function of `key` only."""
    raw = _raw(int(np.prod(shape)), key) >> np.uint64(11)
    return np.asarray(raw * 2.0**-53, np.float64).reshape(shape)
