"""The form in which the images of a dataset are stored, and the hashes that identify them."""

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from blake3 import blake3
from numpy.typing import NDArray

Store = Literal["raw", "jpeg"]


@dataclass(frozen=True)
class Form:
    """The size of the square that every image is fitted to, and how it is stored."""

    #: Height and width in pixels.
    size: int
    #: Pixels that the shorter side is scaled to before the central square is cut out; at least
    #: `size`.
    resize: int
    #: raw: pixels in one array; jpeg: files, decoded when they are needed.
    store: Store = "raw"

    @property
    def image_bytes(self) -> int:
        """Bytes of a decoded image."""
        return self.size**2 * 3


def image_digest(stored: bytes | memoryview) -> bytes:
    """BLAKE3 hash of an image as it is stored: of its pixels or of its file."""
    return blake3(stored).digest()


def images_digest(images: Iterable[bytes | memoryview]) -> bytes:
    """The hash of images in order."""
    whole = blake3()
    for stored in images:
        whole.update(image_digest(stored))
    return whole.digest()


def first_images_digest(images: Iterable[bytes | memoryview], store: Store) -> bytes:
    """The hash of images in order, as meta data of version 1 have it: SHA-256 of all bytes.

    A file comes after its length, in eight bytes.
    """
    whole = hashlib.sha256()
    for stored in images:
        if store == "jpeg":
            whole.update(len(stored).to_bytes(8, "little"))
        whole.update(stored)
    return whole.digest()


def labels_digest(labels: NDArray[Any]) -> bytes:
    """The hash of an array of labels."""
    return hashlib.sha256(np.ascontiguousarray(labels).data).digest()


def moments_of(images: NDArray[np.uint8]) -> NDArray[np.int64]:
    """(n, 2, 3) int64: of each image and channel the sum and the sum of squares of its bytes.

    `images`: (n, height, width, 3), the height up to 2**15: sums of a column fit 32 bits.
    """
    count, height, width, channels = images.shape
    columns = np.empty((count, 2, width * channels), np.int32)
    # One image at a time, in the same memory: it stays in the cache.
    values = np.empty((height, width * channels), np.int32)
    for image, (sums, squares) in zip(images, columns, strict=True):
        values[...] = image.reshape(height, -1)
        np.add.reduce(values, axis=0, out=sums)
        np.multiply(values, values, out=values)
        np.add.reduce(values, axis=0, out=squares)
    moments: NDArray[np.int64] = columns.reshape(count, 2, width, channels).sum(2, np.int64)
    return moments
