"""What a reader finds in a downloaded dataset: every image with its label, nothing decoded yet."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class Example:
    """One labelled image."""

    #: Path of the image from the listing's root: sort key and name in messages.
    name: str
    #: Index into the listing's classes.
    label: int
    #: Examples of one group stay on one side of a split; an empty group is a group of its own.
    group: str = ""
    #: (height, width, 3) uint8 where the source holds arrays; None: the file of that name.
    pixels: NDArray[np.uint8] | None = None
    #: Further classes of an image of a multi-label dataset. `label`, by which splits are
    #: stratified, is best its rarest.
    also: tuple[int, ...] = ()


@dataclass(frozen=True)
class Listing:
    """A dataset as it was found."""

    #: Name of the layout, as in the list of known layouts.
    layout: str
    #: The folder that the examples' names are relative to, as a path from the source.
    root: str
    classes: tuple[str, ...]
    train: list[Example]
    #: None: no official test split.
    test: list[Example] | None
    #: Files that are no labelled image of either split.
    ignored: int = 0
    #: Whether an image can have several classes.
    multi_label: bool = False
    #: Superclasses that the source itself has, by name the classes in each; or none.
    superclasses: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def path(self, example: Example) -> str:
        """The path of an example from the source."""
        return f"{self.root}/{example.name}" if self.root else example.name
