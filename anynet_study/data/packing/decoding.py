"""Decoding a chunk of images, the unit of work of a process, into memory that others share."""

import os
import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Self

import numpy as np
from numpy.typing import NDArray

from anynet_study.data.packed.form import IMAGE_DIGEST_BYTES, Form, image_digest, stored_jpeg
from anynet_study.data.source.images import (
    CONTENT_BYTES,
    Decoder,
    Encoded,
    UnreadableImageError,
    members_of,
)

#: Decoded bytes of one chunk.
CHUNK_BYTES = 4 << 20
#: Most images of one chunk.
CHUNK_IMAGES = 256
#: The arrays of a `Chunk`: shape of a row, and type.
ARRAYS: Mapping[str, tuple[tuple[int, ...], type]] = MappingProxyType(
    {
        "lengths": ((), np.int64),
        "moments": ((2, 3), np.int64),
        "digests": ((IMAGE_DIGEST_BYTES,), np.uint8),
        "contents": ((CONTENT_BYTES,), np.uint8),
        "stamps": ((2,), np.int64),
    }
)


@dataclass(frozen=True)
class Chunk:
    """What is known of n images in order, of which r are readable; their bytes are elsewhere."""

    #: (r,) int64: bytes of each readable image as it is stored.
    lengths: NDArray[np.int64]
    #: (r, 2, 3) int64: per image and channel the sum and the sum of squares of its pixels.
    moments: NDArray[np.int64]
    #: (r, 32) uint8: a hash of each as it is stored, see `image_digest`.
    digests: NDArray[np.uint8]
    #: (r, 16) uint8: a hash of what each was made from, such as the bytes of its file.
    contents: NDArray[np.uint8]
    #: (n, 2) int64: tells whether what each is made from is still the same, see `stamps_of`.
    stamps: NDArray[np.int64]
    #: Position in the chunk and reason of each unreadable image.
    broken: dict[int, str]

    @classmethod
    def joined(cls, chunks: Sequence[Self]) -> Self:
        """Several in their order as one."""
        arrays = {
            name: np.concatenate([np.zeros((0, *shape), kind), *(getattr(c, name) for c in chunks)])
            for name, (shape, kind) in ARRAYS.items()
        }
        broken: dict[int, str] = {}
        first = 0
        for chunk in chunks:
            broken |= {first + place: reason for place, reason in chunk.broken.items()}
            first += chunk.count
        return cls(**arrays, broken=broken)

    @property
    def count(self) -> int:
        """Images, the unreadable ones included."""
        return len(self.stamps)

    @property
    def size(self) -> int:
        """Bytes of the readable images."""
        return int(self.lengths.sum())


def images_of_a_chunk(form: Form) -> int:
    """How many images make a chunk: a matter of the form only."""
    return max(1, min(CHUNK_IMAGES, CHUNK_BYTES // form.image_bytes))


def chunk_bytes(form: Form) -> int:
    """The most that a chunk of images takes."""
    return images_of_a_chunk(form) * form.image_bytes


def decode_chunk(images: Sequence[Encoded], form: Form, out: NDArray[np.uint8]) -> Chunk:
    """Decode images to `form` and write them one after the other into `out` (bytes,)."""
    stamps = stamps_of(images)
    decoder = Decoder(form.size, form.resize)
    lengths = np.full(len(images), form.image_bytes, np.int64)
    contents = np.zeros((len(images), CONTENT_BYTES), np.uint8)
    digests = np.zeros((len(images), IMAGE_DIGEST_BYTES), np.uint8)
    broken: dict[int, str] = {}
    memory = out if form.store == "raw" else np.empty(chunk_bytes(form), np.uint8)
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
    return Chunk(lengths[:rows], moments, digests[:rows], contents[:rows], stamps, broken)


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


def stamps_of(images: Iterable[Encoded]) -> NDArray[np.int64]:
    """(n, 2) int64: size and time of the files of each image; of an array a checksum.

    A file that is missing has -1 for both.
    """
    return np.array([_stamp(image) for image in images], np.int64).reshape(-1, 2)


def _stamp(image: Encoded) -> tuple[int, int]:
    if isinstance(image, np.ndarray):
        return image.nbytes, zlib.crc32(np.ascontiguousarray(image).data)
    size = time = 0
    for member in members_of(image):
        try:
            status = os.stat(member.file)
        except OSError:
            return -1, -1
        size += status.st_size
        time ^= status.st_mtime_ns
    return size, time
