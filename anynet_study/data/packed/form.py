"""In which form a dataset's images are stored."""

from dataclasses import dataclass
from typing import Literal

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
