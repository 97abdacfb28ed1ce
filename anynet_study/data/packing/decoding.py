"""Decoding a block of images, the unit of work of a process, into memory that others share."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from anynet_study.data.packed.form import Form
from anynet_study.data.packed.jpeg_files import stored_jpeg
from anynet_study.data.packing.encoded import CONTENT_BYTES, Decoded, Decoder, Encoded
from anynet_study.data.packing.moments import moments_of
from anynet_study.data.packing.pixels import UnreadableImageError
from anynet_study.data.packing.stamps import stamp_of

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
    """How many images make a block: a matter of the form only."""
    return max(1, min(BLOCK_IMAGES, BLOCK_BYTES // form.image_bytes))


def block_bytes(form: Form) -> int:
    """The most that a block of images takes."""
    return images_of_a_block(form) * form.image_bytes


def decode_block(images: Sequence[Encoded], form: Form, out: NDArray[np.uint8]) -> Block:
    """Decode images to `form` and write them one after the other into `out` (bytes,)."""
    stamp = stamp_of(images)
    decoder = Decoder(form.size, form.resize)
    lengths = np.zeros(len(images), np.int64)
    moments = np.zeros((len(images), 2, 3), np.int64)
    contents = np.zeros((len(images), CONTENT_BYTES), np.uint8)
    broken: dict[int, str] = {}
    end = 0
    for place, image in enumerate(images):
        row = place - len(broken)
        try:
            decoded, stored = _stored(decoder.decode(image), form)
        except (UnreadableImageError, OSError, ValueError) as error:
            broken[place] = str(error)
            continue
        out[end : end + len(stored)] = stored
        end += len(stored)
        lengths[row] = len(stored)
        # At once: images that are kept make every block take fresh memory.
        moments[row] = moments_of(decoded.image)
        contents[row] = np.frombuffer(decoded.content, np.uint8)
    rows = len(images) - len(broken)
    return Block(lengths[:rows], moments[:rows], contents[:rows], broken, stamp)


def _stored(decoded: Decoded, form: Form) -> tuple[Decoded, NDArray[np.uint8]]:
    """The bytes to store, and the image that they will be decoded to."""
    if form.store == "raw":
        return decoded, np.asarray(decoded.image).reshape(-1)
    image, file = stored_jpeg(decoded, form)
    return decoded._replace(image=image), np.frombuffer(file, np.uint8)
