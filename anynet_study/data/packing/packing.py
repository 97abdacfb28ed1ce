"""Writing packed datasets: every image is decoded once, and what it is made from is noted."""

import shutil
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from anynet_study.core.errors import UserError, printable, size_of
from anynet_study.core.files import write_text
from anynet_study.core.progress import progress
from anynet_study.data.packed.dataset import Labels, class_counts
from anynet_study.data.packed.digests import write_digests
from anynet_study.data.packed.form import Form, Store, images_digest, labels_digest
from anynet_study.data.packed.images import stored_bytes, stored_images
from anynet_study.data.packed.manifest import BETWEEN, Row, count_duplicates, write_manifest
from anynet_study.data.packed.manifest import FILE as MANIFEST
from anynet_study.data.packed.meta import (
    SCHEMA_VERSION,
    SPLITS,
    Broken,
    Holdout,
    Limit,
    Meta,
    Split,
    SplitCounts,
    content_hash,
)
from anynet_study.data.packing.decoding import Chunk, decoder
from anynet_study.data.packing.writers import image_writer
from anynet_study.data.readers.listing import Example, Listing
from anynet_study.data.source.encoded import CONTENT_BYTES
from anynet_study.data.source.source import Source

StoreOption = Literal["auto", "raw", "jpeg"]
#: Of itself, only a dataset with more bytes of pixels is stored as JPEG files.
RAW_BYTES = 100 * 10**9
#: What a JPEG file takes at least: so many bytes, and a share of its pixels.
JPEG_BYTES, JPEG_SHARE = 600, 0.1


@dataclass(frozen=True)
class Origin:
    """The source of a dataset, for its meta data."""

    name: str
    source: str
    holdout: Holdout | None = None
    limit: Limit | None = None
    #: Name of the manifest that says the split, if one does.
    split_from: str | None = None
    #: How it was told to be read, by option.
    choices: dict[str, str] = field(default_factory=dict)


@dataclass
class _Quarantine:
    """Unreadable images, against the share of all `images` that is allowed."""

    images: int
    share: float
    found: list[Broken] = field(default_factory=list)

    def add(self, split: Split, example: Example, reason: str) -> None:
        """UserError when they have become too many, or for an image asked for by its content."""
        image, reason = printable(example.name), printable(reason)
        if example.content:
            raise UserError(f"{image}: the manifest has it, but it is unreadable ({reason})")
        self.found.append(Broken(split=split, image=image, reason=reason))
        if len(self.found) > self.share * self.images:
            worst = self.found[0]
            raise UserError(
                f"{worst.image}: unreadable image ({worst.reason}); {len(self.found)} of "
                f"{self.images} so far, and --max-broken allows a share of {self.share:g}"
            )


class _Packed:
    """One split: its n readable examples in the order of the arrays."""

    def __init__(self, split: Split, given: list[Example], quarantine: _Quarantine) -> None:
        self.split, self.given, self._quarantine = split, given, quarantine
        self.examples: list[Example] = []
        self._done = 0
        self._moments = [np.zeros((0, 2, 3), np.int64)]
        self._contents = [np.zeros((0, CONTENT_BYTES), np.uint8)]

    def take(self, chunk: Chunk) -> None:
        """Note what was decoded of the next examples; UserError for what ends the work."""
        contents = iter(chunk.contents)
        for place, example in enumerate(self.given[self._done : self._done + chunk.count]):
            if place in chunk.broken:
                self._quarantine.add(self.split, example, chunk.broken[place])
                continue
            self.examples.append(example)
            found = next(contents).tobytes().hex()
            if example.content not in ("", found):
                raise UserError(
                    f"{printable(example.name)}: not the image of the manifest, whose content is "
                    f"{example.content}; this image's is {found}"
                )
        self._done += chunk.count
        self._moments.append(chunk.moments)
        self._contents.append(chunk.contents)

    @property
    def moments(self) -> NDArray[np.int64]:
        """(n, 2, 3): sums and sums of squares of the pixels by channel."""
        return np.concatenate(self._moments)

    @property
    def contents(self) -> NDArray[np.uint8]:
        """(n, 16): hashes of what they were made from."""
        return np.concatenate(self._contents)


def pack(
    source: Source | None,
    listing: Listing,
    origin: Origin,
    size: int,
    folder: Path,
    max_broken: float = 0.01,
    workers: int | None = None,
    resize: int | None = None,
    store: StoreOption = "auto",
) -> None:
    """Write `listing`, which has both splits, to the new `folder` at `size` x `size` pixels.

    The shorter side is scaled to `resize`, by default `size`, before the centre is cut out.
    `source` holds the files of the examples; None where all of them are arrays. Memory is
    bounded by a few chunks of images and 150 bytes per image. Unreadable images are left out and
    listed in the meta data; UserError if they are more than the share `max_broken` of all.
    """
    folder.mkdir()
    given: dict[Split, list[Example]] = {"train": listing.train, "test": listing.test or []}
    images = sum(map(len, given.values()))
    form = Form(size, resize or size, choose_store(store, images, size, folder))
    check_space(form.store, images, size, folder)
    quarantine = _Quarantine(images + len(listing.broken), max_broken)
    for image, reason in listing.broken:
        quarantine.add("train", Example(image, 0), reason)
    packed = {split: _Packed(split, given[split], quarantine) for split in SPLITS}
    done = 0
    with (
        decoder(form, images, workers) as decode,
        progress(f"packing {origin.name}", images) as report,
    ):
        for split, part in packed.items():
            encoded = (listing.encoded(source, example) for example in part.given)
            with closing(image_writer(folder, split, form)) as writer:
                for chunk in decode(encoded):
                    part.take(chunk)
                    writer.append(chunk)
                    done += chunk.count
                    report(done)
                writer.finish()
    for part in packed.values():
        _check_classes(listing, part)
    _describe(listing, origin, form, packed, quarantine.found, folder)


def _check_classes(listing: Listing, part: _Packed) -> None:
    """UserError for a class without a readable image; an official test split may lack one."""
    may_lack = part.split == "test" or not part.given
    before, after = (
        {n for e in examples for n in (e.label, *e.also)}
        for examples in (part.given, part.examples)
    )
    for label, name in enumerate(listing.classes):
        if label not in after and (label in before or not may_lack):
            raise UserError(f"class {name!r} has no readable image in the {part.split} split")


def _describe(
    listing: Listing,
    origin: Origin,
    form: Form,
    packed: Mapping[Split, _Packed],
    broken: Sequence[Broken],
    folder: Path,
) -> None:
    """Write what a dataset has beside its images."""
    images = {split: stored_images(folder, split, form) for split in SPLITS}
    hashes, counts = {}, {}
    for split, part in packed.items():
        labels = _label_array(part.examples, len(listing.classes), listing.multi_label)
        np.save(folder / f"{split}_labels.npy", labels)
        np.save(folder / f"{split}_moments.npy", part.moments)
        per_class = class_counts(labels, len(listing.classes)).tolist()
        counts[split] = SplitCounts(images=len(labels), per_class=tuple(per_class))
        hashes[split] = (labels_digest(labels), images_digest(stored_bytes(images[split])))
    write_manifest(folder / MANIFEST, _manifest_rows(listing, packed))
    meta = Meta(
        schema_version=SCHEMA_VERSION,
        **vars(origin),
        **counts,
        classes=listing.classes,
        size=form.size,
        resize=None if form.resize == form.size else form.resize,
        store=form.store,
        content_hash=content_hash(form, listing.classes, hashes),
        layout=listing.layout,
        duplicates=count_duplicates({s: part.moments for s, part in packed.items()}, images),
        quarantined=tuple(broken),
        ignored=listing.ignored,
        multi_label=listing.multi_label,
        superclasses=dict(listing.superclasses),
        notes=listing.notes,
    )
    write_text(folder / "meta.json", meta.model_dump_json(indent=1) + "\n")
    write_digests(folder)


def _manifest_rows(listing: Listing, packed: Mapping[Split, _Packed]) -> Iterator[Row]:
    """The manifest, in the order of the arrays."""
    for split, part in packed.items():
        for example, content in zip(part.examples, part.contents, strict=True):
            label = BETWEEN.join(listing.class_names(example))
            yield Row(example.name, content.tobytes().hex(), split, label, example.group)


def _label_array(examples: Sequence[Example], classes: int, multi_label: bool) -> Labels:
    """The labels of `examples` in their order."""
    first = np.array([example.label for example in examples], np.int64)
    if not multi_label:
        return first
    matrix = np.zeros((len(examples), classes), np.uint8)
    for row, example in enumerate(examples):
        matrix[row, [example.label, *example.also]] = 1
    return matrix


def _bytes(store: Store, images: int, size: int) -> int:
    """Return what images take on the disk, of JPEG files at least."""
    pixels = size**2 * 3
    return images * (pixels if store == "raw" else JPEG_BYTES + int(JPEG_SHARE * pixels))


def choose_store(option: StoreOption, images: int, size: int, folder: Path) -> Store:
    """`option`, or for auto raw unless that is too large; then says so."""
    if option != "auto":
        return option
    free = shutil.disk_usage(folder).free
    raw, jpeg = _bytes("raw", images, size), _bytes("jpeg", images, size)
    if raw <= min(RAW_BYTES, free) or jpeg > min(raw, free):
        return "raw"
    why = f"more than {size_of(RAW_BYTES)}" if raw > RAW_BYTES else f"only {size_of(free)} are free"
    print(
        f"{size_of(raw)} of pixels, {why}: stored as JPEG files (--store raw keeps pixels)",
        file=sys.stderr,
    )
    return "jpeg"


def check_space(store: Store, images: int, size: int, folder: Path) -> None:
    """UserError where images will not fit on the disk."""
    needed, free = _bytes(store, images, size), shutil.disk_usage(folder).free
    if needed > free:
        raise UserError(
            f"{folder.parent.parent}: {size_of(needed)} needed, {size_of(free)} free; "
            "free some, or use another disk ($ANYNET_DATA) or a smaller --size"
        )
