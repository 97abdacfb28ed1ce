"""The arrays of one split of a packed dataset, written block by block."""

import hashlib
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Self

import numpy as np
from numpy.typing import NDArray

from anynet_study.data.decoding import Block
from anynet_study.data.meta import Split
from anynet_study.data.npy import NpyAppender


class SplitWriter:
    """Writes images, labels and moments, and hashes what it writes."""

    def __init__(self, folder: Path, split: Split, size: int) -> None:
        with ExitStack() as files:
            self._images, self._labels, self._moments = (
                files.enter_context(NpyAppender(folder / f"{split}_{kind}.npy", shape, dtype))
                for kind, shape, dtype in (
                    ("images", (size, size, 3), np.uint8),
                    ("labels", (), np.int64),
                    ("moments", (2, 3), np.int64),
                )
            )
            self._files = files.pop_all()
        self._label_hash, self._pixel_hash = hashlib.sha256(), hashlib.sha256()
        self._digests: list[NDArray[np.uint64]] = []

    def append(self, block: Block, labels: NDArray[np.int64]) -> None:
        """Append the readable images of `block` with their `labels`."""
        self._images.append(block.images)
        self._labels.append(labels)
        self._moments.append(block.moments)
        self._label_hash.update(labels.data)
        self._pixel_hash.update(block.images.data)
        self._digests.append(block.digests)

    @property
    def hashes(self) -> tuple[bytes, bytes]:
        """SHA-256 of the labels and of the pixels so far."""
        return self._label_hash.digest(), self._pixel_hash.digest()

    @property
    def digests(self) -> NDArray[np.uint64]:
        """(N,) a hash of each image so far."""
        return np.concatenate(self._digests)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._files.__exit__(kind, error, trace)
