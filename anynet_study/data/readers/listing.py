"""What a reader finds in a downloaded dataset: every image with its label, nothing decoded yet."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from anynet_study.data.packing.encoded import Area, Encoded, Part, Stains
from anynet_study.data.source.source import Source


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
    #: Which part of the file it is; None: all of it.
    area: Area | None = None
    #: Grey files, paths from the listing's root, that are the channels of the image (see
    #: `Stains`); empty: the file of its name.
    channels: tuple[str, ...] = ()
    #: The file that it is a part of, a path from the listing's root; empty: that of its name.
    file: str = ""
    #: The hash that its content must have, as in a manifest; empty: any.
    content: str = ""


@dataclass(frozen=True)
class Listing:
    """A dataset as it was found."""

    #: Name of the layout, as in the list of known layouts.
    layout: str
    #: The folder that the examples' names are relative to, as a path from the source.
    root: str
    classes: tuple[str, ...]
    #: Empty: a test set only.
    train: list[Example]
    #: None: no official test split.
    test: list[Example] | None
    #: Files that are no labelled image of either split.
    ignored: int = 0
    #: Whether an image can have several classes.
    multi_label: bool = False
    #: Superclasses that the source itself has, by name the classes in each; or none.
    superclasses: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    #: What the user should know about how it was read, a line each.
    notes: tuple[str, ...] = ()

    def encoded(self, source: Source | None, example: Example) -> Encoded:
        """What `example` is decoded from; `source` may be None where it is an array."""
        if example.pixels is not None:
            return example.pixels
        assert source is not None
        if example.channels:
            return Stains(tuple(source.member(self._path(name)) for name in example.channels))
        member = source.member(self._path(example.file or example.name))
        return member if example.area is None else Part(member, example.area)

    def _path(self, name: str) -> str:
        """From the source."""
        return f"{self.root}/{name}" if self.root else name
