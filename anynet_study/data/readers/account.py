"""What was understood of a source before anything is decoded: typed, and printed by `inspect`."""

from collections import Counter
from pathlib import PurePosixPath

from pydantic import BaseModel, ConfigDict

from anynet_study.core.errors import counted, printable, some_of
from anynet_study.data.readers.listing import Listing
from anynet_study.data.source.source import Source

#: Classes, and unreadable images, that are shown.
SHOWN = 10


class Account(BaseModel):
    """Where everything of a dataset comes from, and what of the source was not used."""

    model_config = ConfigDict(frozen=True)

    source: str
    layout: str
    #: The folder in the source that was read; empty: the source itself.
    folder: str
    classes: tuple[str, ...]
    #: Images by split; of a source without a test split, one is held out.
    images: dict[str, int]
    multi_label: bool
    classes_from: str
    splits_from: str
    groups_from: str
    groups: int
    #: Tables that were seen and not used, by path: why.
    tables: dict[str, str]
    #: Files that are no labelled image, by ending.
    unused: dict[str, int]
    #: Images that should be there and are not, or that a table repeats: why.
    unreadable: dict[str, str]
    notes: tuple[str, ...]

    def lines(self) -> list[str]:
        """The account for a terminal."""
        classes = ", ".join(some_of(self.classes, SHOWN))
        images = ", ".join(f"{counted(n, 'image')} in {part}" for part, n in self.images.items())
        groups = f"{counted(self.groups, 'group')} from {self.groups_from}"
        lines = [
            f"layout: {self.layout}" + (f", in {self.folder}" if self.folder else ""),
            f"images: {images}",
            f"classes: {len(self.classes)} from {self.classes_from}: {classes}",
            f"splits: from {self.splits_from}",
            f"groups: {groups if self.groups else 'none'}",
        ]
        lines += [f"table not used: {file} {why}" for file, why in self.tables.items()]
        if self.unused:
            kinds = ", ".join(f"{count:,} {kind}" for kind, count in self.unused.items())
            lines.append(f"files not used: {kinds}")
        unreadable = (f"{image} ({why})" for image, why in self.unreadable.items())
        lines += [f"unreadable: {told}" for told in some_of(unreadable, SHOWN)]
        told = {f"{file} {why}" for file, why in self.tables.items()}
        return lines + [f"note: {note}" for note in self.notes if note not in told]


def account_of(source: Source, listing: Listing) -> Account:
    """Return what was understood of `source`."""
    test = listing.test
    examples = [*listing.train, *(test or [])]
    images = {"train": len(listing.train)} | ({} if test is None else {"test": len(test)})
    held_out = "no part of the source: a test split is held out"
    from_layout = f"the layout {listing.layout}"
    return Account(
        source=printable(str(source.path)),
        layout=listing.layout,
        folder=printable(listing.root),
        classes=tuple(map(printable, listing.classes)),
        images=images,
        multi_label=listing.multi_label,
        classes_from=printable(listing.classes_from or from_layout),
        splits_from=printable(listing.splits_from or (held_out if test is None else from_layout)),
        groups_from=printable(listing.groups_from or from_layout),
        groups=len({example.group for example in examples if example.group}),
        tables={printable(file): printable(why) for file, why in listing.tables.items()},
        unused=_unused(source, listing),
        unreadable={printable(i): printable(reason) for i, reason in listing.broken},
        notes=tuple(map(printable, listing.notes)),
    )


def _unused(source: Source, listing: Listing) -> dict[str, int]:
    """Files that are no image of the listing, by ending."""
    examples = [*listing.train, *(listing.test or [])]
    used = {name for e in examples for name in (e.name, e.file, *e.channels) if name}
    prefix = f"{listing.root}/" if listing.root else ""
    found: Counter[str] = Counter()
    for path, _, name in source.tree.below():
        if not path.startswith(prefix) or path[len(prefix) :] not in used:
            found[PurePosixPath(name).suffix.lower() or "without ending"] += 1
    found["ignored, or of operating systems"] = sum(folder.litter for folder in source.tree.walk())
    return {kind: count for kind, count in found.most_common() if count}
