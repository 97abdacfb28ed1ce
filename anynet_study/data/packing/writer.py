"""The files of one split of a packed dataset, written block by block."""

import hashlib
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from anynet_study.data.packed.dataset import Labels
from anynet_study.data.packed.form import Form, images_digest
from anynet_study.data.packed.images import stored_bytes, stored_images
from anynet_study.data.packed.meta import Split
from anynet_study.data.packing.decoding import Block
from anynet_study.data.packing.jpeg_writer import JpegWriter
from anynet_study.data.packing.npy import NpyAppender
from anynet_study.data.packing.raw_images import RawWriter
from anynet_study.data.readers.listing import Example
from anynet_study.data.source.images import CONTENT_BYTES


class ImageWriter(Protocol):
    """See `RawWriter`."""

    @property
    def settled(self) -> bool: ...
    def append(self, block: Block, data: NDArray[np.uint8]) -> None: ...
    def finish(self) -> None: ...
    def sync(self) -> None: ...


def contents_file(folder: Path, split: Split) -> Path:
    """Where hashes of the sources are while a dataset is packed: they end in its manifest."""
    return folder / f"{split}_contents.npy"


class SplitWriter:
    """Writes images, labels and moments, and keeps the hash of what it writes."""

    def __init__(
        self,
        folder: Path,
        split: Split,
        form: Form,
        classes: int,
        multi_label: bool = False,
        rows: int = 0,
    ) -> None:
        """Begin the files of `split`, whose labels are of `classes` classes.

        `rows`: go on after so many that are there. ValueError or OSError if they are not.
        """
        self._label_hash = hashlib.sha256()
        self.rows = rows
        labels = folder / f"{split}_labels.npy"
        with ExitStack() as files:
            self._images: ImageWriter = (
                files.enter_context(RawWriter(folder / f"{split}_images.npy", form, rows))
                if form.store == "raw"
                else files.enter_context(JpegWriter(folder, split, rows))
            )
            self._labels, self._moments, self._contents = (
                files.enter_context(NpyAppender(path, shape, dtype, rows))
                for path, shape, dtype in (
                    (labels, *label_layout(classes, multi_label)),
                    (folder / f"{split}_moments.npy", (2, 3), np.int64),
                    (contents_file(folder, split), (CONTENT_BYTES,), np.uint8),
                )
            )
            self._image_hash = images_digest()
            if rows:
                self._image_hash = images_digest(stored_bytes(stored_images(folder, split, form)))
                self._label_hash.update(np.load(labels, allow_pickle=False)[:rows].data)
            self._files = files.pop_all()

    def append(self, block: Block, data: NDArray[np.uint8], labels: Labels) -> None:
        """Append the readable images of `block`, whose bytes are `data`, with their `labels`."""
        self._images.append(block, data)
        self._labels.append(labels)
        self._moments.append(block.moments)
        self._contents.append(block.contents)
        self._label_hash.update(labels.data)
        self._image_hash.update(block.digests.data)
        self.rows += len(labels)

    @property
    def settled(self) -> bool:
        """Whether all that was appended can be synced now."""
        return self._images.settled

    def finish(self) -> None:
        """Make what was appended settled."""
        self._images.finish()

    def sync(self) -> None:
        """Wait until what was appended so far would outlive the machine. Any thread may."""
        for file in (self._images, self._labels, self._moments, self._contents):
            file.sync()

    @property
    def hashes(self) -> tuple[bytes, bytes]:
        """The digests of the labels and of the images so far, see `content_hash`."""
        return self._label_hash.digest(), self._image_hash.digest()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *raised: Any) -> None:
        self._files.__exit__(*raised)


def label_array(examples: Sequence[Example], classes: int, multi_label: bool) -> Labels:
    """The labels of `examples` in their order."""
    first = np.array([example.label for example in examples], np.int64)
    if not multi_label:
        return first
    matrix = np.zeros((len(examples), classes), np.uint8)
    matrix[np.arange(len(examples)), first] = 1
    for row, example in enumerate(examples):
        matrix[row, list(example.also)] = 1
    return matrix


def label_layout(classes: int, multi_label: bool) -> tuple[tuple[int, ...], type]:
    """Shape of one image's label in the array on disk, and its type."""
    return ((classes,), np.uint8) if multi_label else ((), np.int64)
