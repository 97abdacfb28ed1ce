"""The arrays of one split of a packed dataset, written block by block."""

import hashlib
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Self

import numpy as np
from numpy.typing import NDArray

from anynet_study.data.decoding import Block
from anynet_study.data.encoded import CONTENT_BYTES
from anynet_study.data.labels import Labels, label_layout
from anynet_study.data.meta import Split
from anynet_study.data.npy import NpyAppender


class SplitWriter:
    """Writes images, labels and moments, and hashes what it writes."""

    def __init__(
        self, folder: Path, split: Split, size: int, classes: int, multi_label: bool = False
    ) -> None:
        """Begin the arrays of `split`, whose labels are of `classes` classes."""
        with ExitStack() as files:
            self._images, self._labels, self._moments = (
                files.enter_context(NpyAppender(folder / f"{split}_{kind}.npy", shape, dtype))
                for kind, shape, dtype in (
                    ("images", (size, size, 3), np.uint8),
                    ("labels", *label_layout(classes, multi_label)),
                    ("moments", (2, 3), np.int64),
                )
            )
            self._files = files.pop_all()
        self._label_hash, self._pixel_hash = hashlib.sha256(), hashlib.sha256()
        self._digests = [np.empty(0, np.uint64)]
        self._contents = [np.empty((0, CONTENT_BYTES), np.uint8)]

    def append(self, block: Block, labels: Labels) -> None:
        """Append the readable images of `block` with their `labels`."""
        self._images.append(block.images)
        self._labels.append(labels)
        self._moments.append(block.moments)
        self._label_hash.update(labels.data)
        self._pixel_hash.update(block.images.data)
        self._digests.append(block.digests)
        self._contents.append(block.contents)

    @property
    def hashes(self) -> tuple[bytes, bytes]:
        """SHA-256 of the labels and of the pixels so far."""
        return self._label_hash.digest(), self._pixel_hash.digest()

    @property
    def digests(self) -> NDArray[np.uint64]:
        """(N,) a hash of each image so far."""
        return np.concatenate(self._digests)

    @property
    def contents(self) -> NDArray[np.uint8]:
        """(N, 16) a hash of what each image so far was made from."""
        return np.concatenate(self._contents)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._files.__exit__(kind, error, trace)
