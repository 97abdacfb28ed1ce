"""An image of a source before it is decoded: a file, a part of one, several files, or pixels."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from anynet_study.data.source.member import Member

#: Bytes of the hash of what an image is made from.
CONTENT_BYTES = 16


class UnreadableImageError(Exception):
    """An image that cannot be decoded whole; the message says why."""


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
class Crop:
    """A part of an image file."""

    member: Member
    area: Area


@dataclass(frozen=True, slots=True)
class Channels:
    """Grey image files, the channels of one image: red, green, blue, and yellow (red and green).

    Yellow is added half to red and half to green; what exceeds the range is cut off.
    """

    members: tuple[Member, ...]


#: An image file, a part of one, several in one, or (height, width, 3) uint8.
Encoded = Member | Crop | Channels | NDArray[np.uint8]


def members_of(image: Member | Crop | Channels) -> tuple[Member, ...]:
    """The files that an image is made from."""
    if isinstance(image, Channels):
        return image.members
    return (image.member,) if isinstance(image, Crop) else (image,)
