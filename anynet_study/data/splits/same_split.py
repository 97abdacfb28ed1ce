"""Making a split again from its manifest: the same images in the same order, or an error."""

import dataclasses
import shutil
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from anynet_study.data.packed.dataset import PackedDataset
from anynet_study.data.readers.listing import Example, Listing
from anynet_study.data.splits.manifest import BETWEEN, FILE, Row, read_manifest
from anynet_study.errors import UserError, printable
from anynet_study.files import replacing

Item = TypeVar("Item")


def split_as(listing: Listing, path: Path) -> Listing:
    """`listing` with the splits of the manifest at `path`, its order and its groups.

    Images are found by their paths or, as downloads of a dataset differ in their folders, by
    class and file name where there is one such. Those that the manifest does not list are left
    out, and counted as ignored; and so are classes without images then.
    UserError, naming the first image, where one is missing or has another class. What the images
    hold is checked when they are decoded (`check_contents`).
    """
    rows = read_manifest(path)
    examples = _found(rows, listing)
    missing = [row.image for row in rows if row.image not in examples]
    if missing:
        raise UserError(
            f"{path}: {len(missing)} of its {len(rows)} images are not in the source, the first "
            f"is {printable(missing[0])}"
        )
    classes = listing.classes
    if not listing.multi_label:
        listed = {row.label for row in rows}
        classes = tuple(name for name in classes if name in listed)
    number = {name: label for label, name in enumerate(classes)}
    splits: dict[str, list[Example]] = {"train": [], "test": []}
    for row in rows:
        _check_class(path, row, examples[row.image], listing)
        splits[row.split].append(_as_in(row, examples[row.image], listing, number))
    left_out = len(listing.train) + len(listing.test or []) - len(rows)
    elsewhere = sum(example.name != image for image, example in examples.items())
    note = f"{elsewhere} images of {path.name} are in other folders here"
    return dataclasses.replace(
        listing,
        classes=classes,
        train=splits["train"],
        test=splits["test"],
        ignored=listing.ignored + left_out,
        notes=(*listing.notes, *([note] if elsewhere else [])),
    )


def _found(rows: Sequence[Row], listing: Listing) -> dict[str, Example]:
    """The example of each image of a manifest, as far as there is one."""
    examples = {example.name: example for example in (*listing.train, *(listing.test or []))}
    found = {row.image: examples[row.image] for row in rows if row.image in examples}
    lost = _once((row.label, row.image, row) for row in rows if row.image not in found)
    others = (example for name, example in examples.items() if name not in found)
    here = _once((BETWEEN.join(_labels(e, listing)), e.name, e) for e in others)
    found |= {row.image: here[key] for key, row in lost.items() if key in here}
    return found


def _once(items: Iterable[tuple[str, str, Item]]) -> dict[tuple[str, str], Item]:
    """By class and file name the items of (class, path, item) that no other shares these with."""
    by_key: dict[tuple[str, str], list[Item]] = {}
    for label, path, item in items:
        by_key.setdefault((label, path.rpartition("/")[2]), []).append(item)
    return {key: same[0] for key, same in by_key.items() if len(same) == 1}


def _labels(example: Example, listing: Listing) -> list[str]:
    return [listing.classes[label] for label in (example.label, *example.also)]


def _check_class(path: Path, row: Row, example: Example, listing: Listing) -> None:
    found = BETWEEN.join(_labels(example, listing))
    if found != row.label:
        raise UserError(
            f"{path}: {printable(row.image)} is of class {row.label!r}, in the source of {found!r}"
        )


def _as_in(row: Row, example: Example, listing: Listing, number: dict[str, int]) -> Example:
    label, *also = (number[name] for name in _labels(example, listing))
    return dataclasses.replace(
        example, label=label, also=tuple(also), group=row.group, content=row.content
    )


def copy_manifest(dataset: PackedDataset, path: Path) -> None:
    """Write the manifest of `dataset` to `path`, byte for byte; UserError if it is damaged."""
    own = dataset.folder / FILE
    read_manifest(own)
    with replacing(path) as temporary:
        shutil.copyfile(own, temporary)


def check_contents(examples: Sequence[Example], contents: NDArray[np.uint8]) -> None:
    """UserError for the first of `examples` whose content, (N, 16), is not what is expected."""
    for example, content in zip(examples, contents, strict=True):
        if example.content and example.content != (found := content.tobytes().hex()):
            raise UserError(
                f"{printable(example.name)}: not the image of the manifest, whose content is "
                f"{example.content}; this one's is {found}"
            )
