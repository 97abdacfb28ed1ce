"""The images of a split as they are read: rows of pixels, however they are stored."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from anynet_study.data.packed.form import Form
from anynet_study.data.packed.jpeg_images import JpegImages
from anynet_study.data.packed.meta import Split


class Images(Protocol):
    """(N, size, size, 3) uint8 RGB: an array, or what is indexed like one."""

    @property
    def shape(self) -> tuple[int, ...]: ...
    @property
    def dtype(self) -> np.dtype[Any]: ...
    @property
    def nbytes(self) -> int:
        """Bytes of the pixels."""

    def __len__(self) -> int: ...
    def __iter__(self) -> Iterator[NDArray[np.uint8]]: ...
    def __getitem__(self, index: Any, /) -> NDArray[np.uint8]:
        """The image at a row (size, size, 3), or those of a slice or at an array of rows."""


def stored_bytes(images: Images) -> Iterator[memoryview]:
    """Of what `stored_images` gives, each image as it is stored: its pixels or its file."""
    if isinstance(images, JpegImages):
        return images.files()
    return (np.ascontiguousarray(image).data for image in images)


def stored_images(folder: Path, split: Split, form: Form) -> Images:
    """The images of a split. OSError or ValueError where they are damaged."""
    if form.store == "jpeg":
        return JpegImages(folder, split, form)
    array: NDArray[np.uint8] = np.load(
        folder / f"{split}_images.npy", mmap_mode="r", allow_pickle=False
    )
    return array
