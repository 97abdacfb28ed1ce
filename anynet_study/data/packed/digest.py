"""What identifies the images of a split: a hash of the hashes of each.

The processes that decode hash what they have just written; nobody reads the pixels once more.
"""

from collections.abc import Iterable

from blake3 import blake3

#: Bytes of the hash of an image.
IMAGE_DIGEST_BYTES = 32


def image_digest(stored: bytes | memoryview) -> bytes:
    """BLAKE3 hash of an image as it is stored: of its pixels or of its file."""
    return blake3(stored).digest()


def images_digest(images: Iterable[bytes | memoryview] = ()) -> blake3:
    """The hash of images in order, to go on from."""
    whole = blake3()
    for stored in images:
        whole.update(image_digest(stored))
    return whole
