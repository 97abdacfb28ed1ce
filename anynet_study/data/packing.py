"""Writing packed datasets: every image is decoded once, straight into the arrays on disk."""

import shutil
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from anynet_study.data.decoding import Block, decoder
from anynet_study.data.labels import class_counts, label_array
from anynet_study.data.manifest import BETWEEN, FILE, Row, write_manifest
from anynet_study.data.meta import (
    SCHEMA_VERSION,
    SPLITS,
    Broken,
    Duplicates,
    Holdout,
    Limit,
    Meta,
    Split,
    SplitCounts,
    content_hash,
    printable,
)
from anynet_study.data.readers.listing import Example, Listing
from anynet_study.data.same_split import check_contents
from anynet_study.data.source import Source
from anynet_study.data.split_writer import SplitWriter
from anynet_study.errors import UserError
from anynet_study.files import write_text
from anynet_study.progress import Report, progress


@dataclass(frozen=True)
class Origin:
    """Where a dataset comes from, for its meta data."""

    name: str
    source: str
    holdout: Holdout | None = None
    limit: Limit | None = None
    #: Name of the manifest that says the split, if one does.
    split_from: str | None = None
    #: How it was told to be read, by option.
    choices: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class _Packed:
    """What was written of one split."""

    examples: list[Example]
    digests: NDArray[np.uint64]
    #: (N, 16) uint8, see `Block.contents`.
    contents: NDArray[np.uint8]
    hashes: tuple[bytes, bytes]


@dataclass
class _Quarantine:
    """Unreadable images, against the share of `total` that is allowed."""

    total: int
    share: float
    found: list[Broken] = field(default_factory=list)

    def readable(self, split: Split, examples: Sequence[Example], block: Block) -> list[Example]:
        """The examples that could be decoded; UserError when too many could not."""
        for place, reason in block.broken.items():
            image = printable(examples[place].name)
            if examples[place].content:
                raise UserError(f"{image}: the manifest has it, but it is unreadable ({reason})")
            self.found.append(Broken(split=split, image=image, reason=printable(reason)))
        if len(self.found) > self.share * self.total:
            first = self.found[0]
            raise UserError(
                f"{first.image}: unreadable image ({first.reason}); {len(self.found)} of "
                f"{self.total} so far, and --max-broken allows a share of {self.share:g}"
            )
        return [example for place, example in enumerate(examples) if place not in block.broken]


def pack(
    source: Source | None,
    listing: Listing,
    origin: Origin,
    size: int,
    folder: Path,
    max_broken: float = 0.01,
    workers: int | None = None,
) -> None:
    """Write `listing`, which has both splits, to the new `folder` at `size` x `size` pixels.

    `source` holds the files of the examples; None where all of them are arrays. Memory is
    bounded by a few blocks of images. Unreadable images are left out and listed in the meta
    data; UserError if they are more than the share `max_broken` of all.
    """
    examples = {"train": listing.train, "test": listing.test or []}
    total = sum(map(len, examples.values()))
    folder.mkdir()
    _check_space(folder, total * size * size * 3)
    quarantine = _Quarantine(total, max_broken)
    with (
        decoder(size, total, workers) as decode,
        progress(f"packing {origin.name}", total) as report,
    ):
        packed: dict[Split, _Packed] = {}
        for split in SPLITS:
            width = len(listing.classes), listing.multi_label
            with SplitWriter(folder, split, size, *width) as writer:
                blocks = decode(listing.encoded(source, image) for image in examples[split])
                packed[split] = _write(
                    writer, split, examples[split], width, blocks, quarantine, report
                )
    for split in SPLITS:
        _check_classes(listing, split, examples[split], packed[split].examples)
    meta = _describe(listing, origin, size, packed, quarantine)
    write_manifest(folder / FILE, _rows(listing, packed))
    write_text(folder / "meta.json", meta.model_dump_json(indent=1) + "\n")


def _write(
    writer: SplitWriter,
    split: Split,
    examples: Sequence[Example],
    width: tuple[int, bool],
    blocks: Iterable[tuple[int, Block]],
    quarantine: _Quarantine,
    report: Report,
) -> _Packed:
    written: list[Example] = []
    before = 0 if split == "train" else quarantine.total - len(examples)
    done = 0
    for count, block in blocks:
        readable = quarantine.readable(split, examples[done : done + count], block)
        check_contents(readable, block.contents)
        writer.append(block, label_array(readable, *width))
        written += readable
        done += count
        report(before + done)
    return _Packed(written, writer.digests, writer.contents, writer.hashes)


def _check_space(folder: Path, needed: int) -> None:
    free = shutil.disk_usage(folder).free
    if needed > free:
        raise UserError(
            f"{folder.parent.parent}: {needed / 1e6:,.2f} MB needed, {free / 1e6:,.2f} MB free; "
            "free some, or use another disk ($ANYNET_DATA) or a smaller --size"
        )


def _check_classes(
    listing: Listing, split: Split, given: Sequence[Example], readable: Sequence[Example]
) -> None:
    """UserError for a class without a readable image; an official test split may lack one."""
    may_lack = split == "test" or not given
    counts = zip(_counts(listing, given), _counts(listing, readable), strict=True)
    for name, (before, after) in zip(listing.classes, counts, strict=True):
        if not after and (before or not may_lack):
            raise UserError(f"class {name!r} has no readable image in the {split} split")


def _describe(
    listing: Listing,
    origin: Origin,
    size: int,
    packed: dict[Split, _Packed],
    quarantine: _Quarantine,
) -> Meta:
    counts = {}
    for split, part in packed.items():
        per_class = tuple(_counts(listing, part.examples))
        counts[split] = SplitCounts(images=len(part.examples), per_class=per_class)
    hashes = {split: part.hashes for split, part in packed.items()}
    return Meta(
        schema_version=SCHEMA_VERSION,
        name=origin.name,
        classes=listing.classes,
        size=size,
        content_hash=content_hash(size, listing.classes, hashes),
        layout=listing.layout,
        source=origin.source,
        train=counts["train"],
        test=counts["test"],
        holdout=origin.holdout,
        limit=origin.limit,
        duplicates=_duplicates(packed["train"].digests, packed["test"].digests),
        quarantined=tuple(quarantine.found),
        ignored=listing.ignored,
        multi_label=listing.multi_label,
        superclasses=dict(listing.superclasses),
        notes=listing.notes,
        split_from=origin.split_from,
        choices=origin.choices,
    )


def _counts(listing: Listing, examples: Sequence[Example]) -> list[int]:
    """Images of each class."""
    labels = label_array(examples, len(listing.classes), listing.multi_label)
    counts: list[int] = class_counts(labels, len(listing.classes)).tolist()
    return counts


def _duplicates(train: NDArray[np.uint64], test: NDArray[np.uint64]) -> Duplicates:
    return Duplicates(
        test_in_train=int(np.isin(test, train).sum()),
        within_train=len(train) - len(np.unique(train)),
        within_test=len(test) - len(np.unique(test)),
    )


def _rows(listing: Listing, packed: dict[Split, _Packed]) -> Iterator[Row]:
    """The manifest, in the order of the arrays."""
    for split, part in packed.items():
        for example, content in zip(part.examples, part.contents, strict=True):
            names = [listing.classes[label] for label in (example.label, *example.also)]
            label = BETWEEN.join(names)
            yield Row(example.name, content.tobytes().hex(), split, label, example.group)
