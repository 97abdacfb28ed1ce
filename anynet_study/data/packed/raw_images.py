"""The pixels of one split in one array on disk, as they are written."""

import hashlib
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from anynet_study.data.packed.form import Form
from anynet_study.data.packing.decoding import Block
from anynet_study.data.source.npy import NpyAppender

CHUNK = 8 << 20


class RawWriter:
    """Appends to `<split>_images.npy` and hashes the pixels, whose SHA-256 identifies them."""

    #: Whether all that was appended can be synced now.
    settled = True

    def __init__(self, path: Path, form: Form, rows: int = 0) -> None:
        """`rows`: go on after so many that are there. ValueError or OSError if they are not."""
        self._shape = (form.size, form.size, 3)
        self._hash = hashlib.sha256()
        self._file = NpyAppender(path, self._shape, np.uint8, rows, direct=True)
        if rows:
            self._hash_again(np.load(path, mmap_mode="r", allow_pickle=False)[:rows])

    def append(self, block: Block, data: NDArray[np.uint8]) -> None:
        """Append the images of `block`, whose bytes are `data`."""
        self._file.append(data.reshape(-1, *self._shape))
        self._hash.update(data.data)

    def finish(self) -> None:
        """Make what was appended settled."""

    def sync(self) -> None:
        """Wait until what was appended so far would outlive the machine. Any thread may."""
        self._file.sync()

    def digest(self) -> bytes:
        """SHA-256 of the pixels so far."""
        return self._hash.digest()

    def _hash_again(self, images: NDArray[np.uint8]) -> None:
        flat = images.reshape(-1)
        for start in range(0, flat.size, CHUNK):
            self._hash.update(flat[start : start + CHUNK].data)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *raised: Any) -> None:
        self._file.__exit__(*raised)
