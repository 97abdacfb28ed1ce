"""In which form the images of a dataset are stored, and what identifies them.

Either as pixels or as JPEG files. Upright RGB and grey JPEGs of about the size that is needed are
kept byte for byte. All others are fitted to their square and encoded: of an ImageNet photo of 110
kB, a third is left and is decoded four times as fast. What was encoded counts as the image from
then on: its decoded pixels are what is trained on and what statistics are of.
"""

import hashlib
import io
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from blake3 import blake3
from numpy.typing import NDArray
from PIL import Image, UnidentifiedImageError

from anynet_study.data.source.images import Decoded, fitted, is_upright

Store = Literal["raw", "jpeg"]


@dataclass(frozen=True)
class Form:
    """The square that is made of every image, and how it is kept."""

    #: Height and width in pixels.
    size: int
    #: What the shorter side is scaled to before the central square is cut out; at least `size`.
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


QUALITY = 95
#: A file of so many bytes is not too large, however few its pixels: a header alone takes most.
SMALL_BYTES = 1000
#: A file is kept if its longer side is at most so many times what the shorter is scaled to.
LONGEST = 2


def stored_jpeg(decoded: Decoded, form: Form) -> tuple[Image.Image, bytes]:
    """The file to store, and the (size, size) RGB image that it is decoded to."""
    if decoded.file is not None and _is_kept(decoded.file, form):
        return decoded.image, decoded.file
    # Without what came with it, such as a comment, which would be written too.
    bare = Image.fromarray(np.asarray(decoded.image))
    for quality in (QUALITY, 75, 1):  # noise at a small size can exceed its own pixels
        buffer = io.BytesIO()
        bare.save(buffer, "JPEG", quality=quality)
        if buffer.tell() <= max(form.image_bytes, SMALL_BYTES):
            break
    return _opened(buffer.getvalue(), form), buffer.getvalue()


def decode_stored(file: bytes, form: Form) -> NDArray[np.uint8]:
    """(size, size, 3) uint8 of a file of `stored_jpeg`. Any thread may call this."""
    return np.asarray(_opened(file, form))


def _opened(file: bytes, form: Form) -> Image.Image:
    with Image.open(io.BytesIO(file), formats=("JPEG",)) as image:
        image.load()
        colours = image.convert("RGB")
        is_fitted = image.size == (form.size, form.size)
        return colours if is_fitted else fitted(colours, form.size, form.resize)


def _is_kept(file: bytes, form: Form) -> bool:
    if len(file) > form.image_bytes:
        return False
    try:
        with Image.open(io.BytesIO(file), formats=("JPEG",)) as image:
            small = min(image.size) <= form.resize and max(image.size) <= LONGEST * form.resize
            # A square of the size counts as fitted.
            unclear = image.size == (form.size, form.size) and form.resize != form.size
            plain = image.mode in ("RGB", "L") and is_upright(image)
            return small and plain and not unclear
    except UnidentifiedImageError:
        return False
