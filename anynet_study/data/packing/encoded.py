"""One image of a dataset before it is decoded: a file, a part of one, several, or an array."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from blake3 import blake3
from numpy.typing import NDArray
from PIL import Image

from anynet_study.data.packing.pixels import UnreadableImageError, fitted, open_image
from anynet_study.data.source.member import Member

#: A larger file is not read into memory: it counts as unreadable.
MAX_FILE_BYTES = 256 << 20
#: Bytes of the hash of what an image is made from.
CONTENT_BYTES = 16

Box = tuple[int, int, int, int]


class Around(NamedTuple):
    """The square of `side` pixels around a point, moved inwards where it leaves the photo."""

    row: int
    column: int
    side: int

    def box(self, width: int, height: int) -> Box:
        """Left, top, right, bottom; UnreadableImageError where the photo has no such square."""
        if not (0 <= self.row < height and 0 <= self.column < width):
            raise UnreadableImageError(f"point {self.row}, {self.column} is outside the photo")
        if self.side > min(width, height):
            raise UnreadableImageError(f"the photo is smaller than a patch of {self.side} pixels")
        left = min(max(self.column - self.side // 2, 0), width - self.side)
        top = min(max(self.row - self.side // 2, 0), height - self.side)
        return left, top, left + self.side, top + self.side


class Inside(NamedTuple):
    """All but a border of so many pixels."""

    border: int

    def box(self, width: int, height: int) -> Box:
        """Left, top, right, bottom; UnreadableImageError where nothing is inside."""
        if 2 * self.border >= min(width, height):
            raise UnreadableImageError(f"nothing inside a border of {self.border} pixels")
        return self.border, self.border, width - self.border, height - self.border


#: Which part of an image.
Area = Around | Inside


@dataclass(frozen=True, slots=True)
class Part:
    """A part of an image file."""

    member: Member
    area: Area


@dataclass(frozen=True, slots=True)
class Stains:
    """Grey image files, the channels of one image: red, green, blue, and yellow (red and green).

    Yellow is added half to red and half to green; what exceeds the range is cut off.
    """

    members: tuple[Member, ...]


#: An image file, a part of one, several in one, or (height, width, 3) uint8.
Encoded = Member | Part | Stains | NDArray[np.uint8]


def members_of(image: Member | Part | Stains) -> tuple[Member, ...]:
    """The files that an image is made from."""
    if isinstance(image, Stains):
        return image.members
    return (image.member,) if isinstance(image, Part) else (image,)


class Decoded(NamedTuple):
    """A decoded image."""

    #: RGB, square.
    image: Image.Image
    #: Hash of what it was made from, `CONTENT_BYTES` long.
    content: bytes
    #: The bytes of its file, if it is the whole of one.
    file: bytes | None = None


class Decoder:
    """Decodes images to one size; remembers the last file, of which the next may be a part."""

    def __init__(self, size: int, resize: int | None = None) -> None:
        """`size` and `resize` as of `images.fitted`."""
        self._size, self._resize = size, resize
        self._last: tuple[Member, Image.Image, bytes] | None = None

    def decode(self, encoded: Encoded) -> Decoded:
        """The (size, size) image.

        UnreadableImageError, OSError or ValueError for what is not whole.
        """
        if isinstance(encoded, Member):
            content = encoded.read(MAX_FILE_BYTES)
            digest = _digest(content)  # first: it is in the cache
            image = open_image(content, self._resize or self._size)
            return Decoded(self._fitted(image), digest, content)
        if isinstance(encoded, Part):
            return self._part(encoded)
        if isinstance(encoded, Stains):
            return self._stains(encoded)
        pixels = np.ascontiguousarray(encoded)
        return Decoded(self._fitted(Image.fromarray(pixels)), _digest(pixels.tobytes()))

    def _fitted(self, image: Image.Image) -> Image.Image:
        return fitted(image, self._size, self._resize)

    def _part(self, part: Part) -> Decoded:
        if self._last is None or self._last[0] != part.member:
            content = part.member.read(MAX_FILE_BYTES)
            self._last = part.member, open_image(content), _digest(content)
        _, image, digest = self._last
        cut = image.crop(part.area.box(*image.size))
        content = _digest(digest + repr(tuple(part.area)).encode())
        return Decoded(self._fitted(cut), content)

    def _stains(self, stains: Stains) -> Decoded:
        contents = [member.read(MAX_FILE_BYTES) for member in stains.members]
        channels = [np.asarray(open_image(content).convert("L")) for content in contents]
        if len({channel.shape for channel in channels}) > 1:
            raise UnreadableImageError("its channels differ in size")
        merged = np.stack(channels[:3], axis=-1).astype(np.uint16)
        for yellow in channels[3:]:
            merged[..., :2] += (yellow // 2)[..., None]
        image = Image.fromarray(np.minimum(merged, 255).astype(np.uint8))
        return Decoded(self._fitted(image), _digest(b"".join(map(_digest, contents))))


def _digest(content: bytes) -> bytes:
    return blake3(content).digest(CONTENT_BYTES)
