"""What is said of a dataset that has been packed: its labels, its meta data and its manifest."""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from blake3 import blake3
from numpy.typing import NDArray

from anynet_study.data.packed.dataset import Labels, class_counts
from anynet_study.data.packed.form import Form
from anynet_study.data.packed.manifest import BETWEEN, Row
from anynet_study.data.packed.meta import (
    SCHEMA_VERSION,
    Broken,
    Duplicates,
    Holdout,
    Limit,
    Meta,
    Split,
    SplitCounts,
    content_hash,
)
from anynet_study.data.readers.listing import Example, Listing
from anynet_study.errors import UserError


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
class Packed:
    """What was written of one split: its n readable examples in the order of the arrays."""

    examples: Sequence[Example]
    #: As they are stored, see `Labels`.
    labels: Labels
    #: (n, 32) uint8: hashes of the images as they are stored.
    digests: NDArray[np.uint8]
    #: (n, 16) uint8: hashes of what they were made from.
    contents: NDArray[np.uint8]

    @property
    def hashes(self) -> tuple[bytes, bytes]:
        """The digests of the labels and of the images, see `content_hash`."""
        labels = hashlib.sha256(np.ascontiguousarray(self.labels).data).digest()
        return labels, blake3(self.digests.tobytes()).digest()


def check_classes(
    listing: Listing, split: Split, given: Sequence[Example], readable: Sequence[Example]
) -> None:
    """UserError for a class without a readable image; an official test split may lack one."""
    may_lack = split == "test" or not given
    before, after = (
        {n for e in examples for n in (e.label, *e.also)} for examples in (given, readable)
    )
    for label, name in enumerate(listing.classes):
        if label not in after and (label in before or not may_lack):
            raise UserError(f"class {name!r} has no readable image in the {split} split")


def describe_packed(
    listing: Listing,
    origin: Origin,
    form: Form,
    packed: Mapping[Split, Packed],
    broken: Sequence[Broken],
    duplicates: Duplicates,
) -> Meta:
    """The meta data."""
    counts = {
        split: SplitCounts(
            images=len(part.labels),
            per_class=tuple(class_counts(part.labels, len(listing.classes)).tolist()),
        )
        for split, part in packed.items()
    }
    hashes = {split: part.hashes for split, part in packed.items()}
    return Meta(
        schema_version=SCHEMA_VERSION,
        **vars(origin),
        **counts,
        classes=listing.classes,
        size=form.size,
        resize=None if form.resize == form.size else form.resize,
        store=form.store,
        content_hash=content_hash(form, listing.classes, hashes),
        layout=listing.layout,
        duplicates=duplicates,
        quarantined=tuple(broken),
        ignored=listing.ignored,
        multi_label=listing.multi_label,
        superclasses=dict(listing.superclasses),
        notes=listing.notes,
    )


def manifest_rows(listing: Listing, packed: Mapping[Split, Packed]) -> Iterator[Row]:
    """The manifest, in the order of the arrays."""
    for split, part in packed.items():
        for example, content in zip(part.examples, part.contents, strict=True):
            names = [listing.classes[label] for label in (example.label, *example.also)]
            label = BETWEEN.join(names)
            yield Row(example.name, content.tobytes().hex(), split, label, example.group)


def label_array(examples: Sequence[Example], classes: int, multi_label: bool) -> Labels:
    """The labels of `examples` in their order."""
    first = np.array([example.label for example in examples], np.int64)
    if not multi_label:
        return first
    matrix = np.zeros((len(examples), classes), np.uint8)
    matrix[np.arange(len(examples)), first] = 1
    for row, example in enumerate(examples):
        matrix[row, list(example.also)] = 1
    return matrix
