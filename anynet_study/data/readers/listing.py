"""What a reader is, and what it finds in a download: every image with its label, none decoded."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from anynet_study.core.errors import UserError
from anynet_study.data.source.encoded import Area, Channels, Crop, Encoded
from anynet_study.data.source.source import Source
from anynet_study.data.source.tree import Folder


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
    #: Which part of the file it is; None if it is all of it.
    area: Area | None = None
    #: Grey files, paths from the listing's root, that are the channels of the image (see
    #: `Channels`); empty: the file of its name.
    channels: tuple[str, ...] = ()
    #: The file that it is a part of, a path from the listing's root; empty: that of its name.
    file: str = ""
    #: The hash that its content must have, as in a manifest; empty: any.
    content: str = ""


class Unread(NamedTuple):
    """An image that should be there and is not, or that is there once too often."""

    image: str
    reason: str


def _name(example: Example) -> str:
    return example.name


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
    #: Superclasses that the source itself has: by name the classes in each; or none.
    superclasses: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    #: What the user should know about how it was read, one line each.
    notes: tuple[str, ...] = ()
    #: What counts as unreadable before anything is decoded.
    broken: tuple[Unread, ...] = ()
    #: Where classes, splits and groups come from, in words; empty: the layout says it.
    classes_from: str = ""
    splits_from: str = ""
    groups_from: str = ""
    #: Tables that were seen, by path from the root: what was read of each, or why nothing was.
    tables: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def found(
        cls,
        layout: str,
        root: Folder,
        classes: tuple[str, ...],
        train: list[Example],
        test: list[Example] | None = None,
        *,
        files: int | None = None,
        **more: Any,
    ) -> Self:
        """Return what is in `root`, with the examples sorted by name.

        `files`: how many of its files were read, by default one per example; others are ignored.
        """
        used = len(train) + len(test or []) if files is None else files
        train = sorted(train, key=_name)
        test = None if test is None else sorted(test, key=_name)
        return cls(layout, root.path, classes, train, test, root.count() - used, **more)

    def class_names(self, example: Example) -> list[str]:
        """List the class of an example, and its further ones."""
        return [self.classes[label] for label in (example.label, *example.also)]

    def encoded(self, source: Source | None, example: Example) -> Encoded:
        """Return what `example` is decoded from; `source` may be None where it is an array."""
        if example.pixels is not None:
            return example.pixels
        assert source is not None
        if example.channels:
            return Channels(tuple(source.member(self._path(name)) for name in example.channels))
        member = source.member(self._path(example.file or example.name))
        return member if example.area is None else Crop(member, example.area)

    def _path(self, name: str) -> str:
        """From the source."""
        return f"{self.root}/{name}" if self.root else name


class Reader(NamedTuple):
    """One layout: its names, whether a folder has it, and what is in such a folder."""

    #: What `--layout` calls it.
    key: str
    #: What messages and `meta.json` call it.
    layout: str
    #: Whether a folder of a source has this layout.
    recognises: Callable[[Source, Folder], bool]
    #: What a folder that is recognised holds; UserError if it is damaged.
    read: Callable[[Source, Folder], Listing]
    #: Which of the source's choices it heeds.
    choices: tuple[str, ...] = ()


def require(source: Source, root: Folder, names: Iterable[str]) -> None:
    """UserError for the first file of `names` that `root` lacks."""
    for name in names:
        if name not in root.files:
            raise UserError(f"{source.where(root.join(name))}: the file is missing")
