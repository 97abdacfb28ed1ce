"""Decoding a block of images, the unit of work of a process, into memory that others share."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from anynet_study.data.packed.form import IMAGE_DIGEST_BYTES, Form, image_digest, stored_jpeg
from anynet_study.data.packing.direct import SECTOR
from anynet_study.data.packing.moments import moments_of
from anynet_study.data.packing.stamps import stamp_of
from anynet_study.data.source.images import CONTENT_BYTES, Decoder, Encoded, UnreadableImageError

#: Decoded bytes of one block.
BLOCK_BYTES = 4 << 20
#: Most images of one block.
BLOCK_IMAGES = 256


@dataclass(frozen=True)
class Block:
    """What is known of some images in order; their bytes are elsewhere."""

    #: (n,) int64: bytes of each readable image as it is stored.
    lengths: NDArray[np.int64]
    #: (n, 2, 3) int64: per image and channel the sum and the sum of squares of its pixels.
    moments: NDArray[np.int64]
    #: (n, 32) uint8: a hash of each as it is stored, see `digest`.
    digests: NDArray[np.uint8]
    #: (n, 16) uint8: a hash of what each was made from, such as the bytes of its file.
    contents: NDArray[np.uint8]
    #: Position in the block and reason of each unreadable image.
    broken: dict[int, str]
    #: Tells whether the files are still the same, see `stamps`.
    stamp: bytes

    @property
    def count(self) -> int:
        """Images, the unreadable ones included."""
        return len(self.lengths) + len(self.broken)

    @property
    def size(self) -> int:
        """Bytes of the readable images."""
        return int(self.lengths.sum())


def images_of_a_block(form: Form) -> int:
    """How many images make a block: a matter of the form only.

    If it can be, so many that their pixels are written without a copy (see `direct`).
    """
    most = max(1, min(BLOCK_IMAGES, BLOCK_BYTES // form.image_bytes))
    fill_sectors = SECTOR // math.gcd(SECTOR, form.image_bytes)
    return most - most % fill_sectors or most


def block_bytes(form: Form) -> int:
    """The most that a block of images takes."""
    return images_of_a_block(form) * form.image_bytes


def decode_block(images: Sequence[Encoded], form: Form, out: NDArray[np.uint8]) -> Block:
    """Decode images to `form` and write them one after the other into `out` (bytes,)."""
    stamp = stamp_of(images)
    decoder = Decoder(form.size, form.resize)
    lengths = np.full(len(images), form.image_bytes, np.int64)
    contents = np.zeros((len(images), CONTENT_BYTES), np.uint8)
    digests = np.zeros((len(images), IMAGE_DIGEST_BYTES), np.uint8)
    broken: dict[int, str] = {}
    memory = out if form.store == "raw" else np.empty(block_bytes(form), np.uint8)
    pixels = memory.reshape(-1, form.size, form.size, 3)
    end = 0
    for place, image in enumerate(images):
        row = place - len(broken)
        try:
            content, file = _decode(decoder, image, form, pixels[row])
        except (UnreadableImageError, OSError, ValueError) as error:
            broken[place] = str(error)
            continue
        contents[row] = np.frombuffer(content, np.uint8)
        stored = pixels[row].data if file is None else file
        digests[row] = np.frombuffer(image_digest(stored), np.uint8)  # now: it is in the cache
        if file is not None:
            out[end : end + len(file)] = np.frombuffer(file, np.uint8)
            end += len(file)
            lengths[row] = len(file)
    rows = len(images) - len(broken)
    moments = moments_of(pixels[:rows])
    return Block(lengths[:rows], moments, digests[:rows], contents[:rows], broken, stamp)


def _decode(
    decoder: Decoder, image: Encoded, form: Form, pixels: NDArray[np.uint8]
) -> tuple[bytes, bytes | None]:
    """Fill `pixels` (size, size, 3); the hash of the image's content, and the file to store.

    Nothing of the image outlives this call: with one kept while the next is decoded, the allocator
    gives memory back and takes fresh pages from the system, image after image.
    """
    decoded = decoder.decode(image)
    if form.store == "raw":
        pixels[...] = np.asarray(decoded.image)
        return decoded.content, None
    stored, file = stored_jpeg(decoded, form)
    pixels[...] = np.asarray(stored)
    return decoded.content, file
