"""From a dataset as it was downloaded to a packed one."""

import dataclasses
from contextlib import suppress
from pathlib import Path
from typing import get_args

from anynet_study.core.errors import UserError, counted, printable
from anynet_study.core.files import remove_left
from anynet_study.data import catalog
from anynet_study.data.builtin import BUILT_IN
from anynet_study.data.packed.dataset import PackedDataset
from anynet_study.data.packed.manifest import repeated_images
from anynet_study.data.packed.meta import Holdout, Limit
from anynet_study.data.packed.root import dataset_folder, publish, workspace
from anynet_study.data.packing.packing import Origin, StoreOption, pack
from anynet_study.data.readers.account import Account, account_of
from anynet_study.data.readers.listing import Listing
from anynet_study.data.readers.recognition import looks_like, read_source
from anynet_study.data.source.images import MAX_FILE_BYTES, peculiar
from anynet_study.data.source.member import Member
from anynet_study.data.source.source import NO_CHOICES, Choices, Source, opened
from anynet_study.data.splits import hold_out, limit, split_as

MAX_SIZE = 1024
#: Images that are looked at for pixels of 16 bits, and the highest that is called dark.
LOOKED_AT, DARK = 64, 16383


def add_dataset(
    name: str,
    source: Path,
    *,
    size: int | None = None,
    test_share: float = 0.2,
    seed: int = 0,
    max_broken: float = 0.01,
    max_duplicates: float = 0.05,
    limit_per_class: int | None = None,
    fraction: float | None = None,
    split_from: Path | None = None,
    choices: Choices = NO_CHOICES,
    resize: int | None = None,
    store: StoreOption = "auto",
    force: bool = False,
    workers: int | None = None,
) -> PackedDataset:
    """Recognise the layout of `source` (a folder or archive), pack it, publish it as `name`.

    `size`: height and width in pixels; default: the size in the study's catalog. `test_share`
    and `seed` make the test split where there is no official one. `max_broken`: share of
    unreadable images that is tolerated. `max_duplicates`: the share of test images that may be
    training images as well, and of all images that may be in another class as well.
    `limit_per_class` and `fraction` keep a seeded part of
    each class of each split. `split_from`: the manifest of a split to make again, in place of
    these. `choices`: how to read the source. `resize`: pixels that the shorter side is scaled to
    before the central square of `size` is cut out; default: `size`. `store`: raw keeps pixels, jpeg
    files (see `stored_jpeg`), auto pixels unless they are too many (see `store_choice`). `force`
    replaces a dataset of that name. `workers`: decoding processes, by default one per core.

    Raises UserError in one line for everything that is wrong with the input.
    """
    _check_free(name, force)
    if not source.exists():
        raise UserError(f"{source}: no such file or folder")
    size = _checked_size(name, size)
    if resize is not None and not size <= resize <= MAX_SIZE:
        raise UserError(f"--resize {resize}: legal are {size} (the size) to {MAX_SIZE} pixels")
    if store not in get_args(StoreOption):
        raise UserError(f"--store {store}: legal are {', '.join(get_args(StoreOption))}")
    _check_ranges(test_share, max_broken, max_duplicates, limit_per_class, fraction)
    if split_from is not None and (limit_per_class is not None or fraction is not None):
        raise UserError("--split-from: the manifest says which images; no limit goes with it")
    with workspace(name) as folder, opened(source, folder, choices) as files:
        files, listing = read_source(files, name)
        notes = (*listing.notes, *catalog.NOTES.get(name, ()), *_pixel_notes(files, listing))
        listing = _in_print(dataclasses.replace(listing, notes=notes))
        holdout, limited = None, None
        if split_from is not None:
            listing = split_as(listing, split_from)
        else:
            listing, holdout = _with_test_split(listing, test_share, seed)
            listing, limited = _limited(listing, limit_per_class, fraction, seed)
        origin = Origin(
            name,
            printable(source.resolve().name),
            holdout,
            limited,
            None if split_from is None else printable(split_from.name),
            choices.chosen(),
        )
        packed = folder / "packed"
        pack(files, listing, origin, size, packed, max_broken, workers, resize, store)
        _require_few_duplicates(PackedDataset.open(packed), max_duplicates)
        if not publish(packed, name, force):
            _check_free(name, force=False)
    return PackedDataset.open(dataset_folder(name))


def _require_few_duplicates(dataset: PackedDataset, share: float) -> None:
    """UserError where too many images repeat across the splits, or in several classes."""
    repeats = repeated_images(dataset)
    leaked = [repeat for repeat in repeats if repeat.split != repeat.first_split]
    unclear = [repeat for repeat in repeats if not repeat.same_class]
    tested, trained = dataset.counts("test").images, dataset.counts("train").images
    for rows, count, told in (
        (leaked, tested, "test images are also training images"),
        (unclear, tested + trained, "images are in another class too"),
    ):
        if len(rows) > share * count:
            raise UserError(
                f"{len(rows)} of {count} {told} ({len(rows) / count:.1%}), such as "
                f"{rows[0].image}, which is {rows[0].first}; --max-duplicates allows a share of "
                f"{share:g}: remove the repeats, or allow more"
            )


def _pixel_notes(source: Source, listing: Listing) -> list[str]:
    """Notes on images of 16 bits that use few of them, and on a fourth channel that is no alpha."""
    examples = [*listing.train, *(listing.test or [])]
    ranges, no_alpha = [], 0
    for example in examples[:: max(1, len(examples) // LOOKED_AT)]:
        image = listing.encoded(source, example)
        if isinstance(image, Member):
            with suppress(OSError, ValueError):
                found = peculiar(image.read(MAX_FILE_BYTES))
                ranges += [found.range_of_16_bits] if found.range_of_16_bits else []
                no_alpha += found.has_fourth_channel
    notes = []
    if no_alpha:
        notes.append(
            f"the alpha channel of {counted(no_alpha, 'image')} is neither opaque nor transparent "
            "in most pixels, so it is taken for a fourth band (near infrared?) and left out"
        )
    low, high = (min(low for low, _ in ranges), max(h for _, h in ranges)) if ranges else (0, 65535)
    if high <= DARK:
        told = f"no pixel of {counted(len(ranges), 'image')} of 16 bits exceeds {high} of 65535"
        notes.append(
            f"{told}: as 0 to 65535 are scaled to 0 to 255, they are nearly black; scale the files "
            "to the whole range"
        )
    elif high - low <= DARK:
        told = f"pixels of {counted(len(ranges), 'image')} of 16 bits are from {low} to {high}"
        notes.append(
            f"{told}: as 0 to 65535 are scaled to 0 to 255, they have hardly any contrast; scale "
            "the files to the whole range"
        )
    return notes


def inspect_source(source: Path, choices: Choices = NO_CHOICES) -> Account:
    """Return what `add_dataset` would read of `source`, and from where; nothing is decoded or kept.

    Raises UserError as it would.
    """
    if not source.exists():
        raise UserError(f"{source}: no such file or folder")
    with workspace("inspect") as folder, opened(source, folder, choices) as files:
        account = account_of(*read_source(files))
        likely = [] if choices.layout else looks_like(files)
        return account.model_copy(update={"notes": (*account.notes, *likely)})


def add_images(listing: Listing, origin: Origin, force: bool = False) -> PackedDataset:
    """Pack a listing of arrays of one size, and publish it under the name of `origin`.

    UserError where a dataset of this name exists, unless `force` replaces it.
    """
    _check_free(origin.name, force)
    first = next(iter([*listing.train, *(listing.test or [])]))
    assert first.pixels is not None
    with workspace(origin.name) as folder:
        pack(None, _in_print(listing), origin, len(first.pixels), folder / "packed")
        if not publish(folder / "packed", origin.name, force):
            _check_free(origin.name, force=False)
    return PackedDataset.open(dataset_folder(origin.name))


def _in_print(listing: Listing) -> Listing:
    """Return the listing with class names and notes that a terminal can show."""
    superclasses = {
        printable(name): tuple(map(printable, members))
        for name, members in listing.superclasses.items()
    }
    return dataclasses.replace(
        listing,
        classes=tuple(map(printable, listing.classes)),
        superclasses=superclasses,
        notes=tuple(map(printable, listing.notes)),
    )


def _checked_size(name: str, size: int | None) -> int:
    if size is None:
        if name not in catalog.CATALOG:
            raise UserError(f"--size is needed: {name!r} is not in the catalog (data list)")
        return catalog.CATALOG[name].size
    if not 1 <= size <= MAX_SIZE:
        raise UserError(f"--size {size}: legal are 1..{MAX_SIZE} pixels")
    return size


def _check_ranges(
    test_share: float,
    max_broken: float,
    max_duplicates: float,
    limit_per_class: int | None,
    fraction: float | None,
) -> None:
    if not 0 < test_share < 1:
        raise UserError(f"--test-share {test_share:g}: legal is a share between 0 and 1")
    if not 0 <= max_broken < 1:
        raise UserError(f"--max-broken {max_broken:g}: legal is a share from 0 to below 1")
    if not 0 <= max_duplicates <= 1:
        raise UserError(f"--max-duplicates {max_duplicates:g}: legal is a share from 0 to 1")
    if limit_per_class is not None and limit_per_class < 1:
        raise UserError(f"--limit-per-class {limit_per_class}: at least 1")
    if fraction is not None and not 0 < fraction <= 1:
        raise UserError(f"--fraction {fraction:g}: legal is a share above 0 up to 1")


def _check_free(name: str, force: bool) -> None:
    if name in BUILT_IN:
        raise UserError(f"{name!r} is built in; choose another name")
    folder = dataset_folder(name)
    remove_left(folder.parent)  # also where what follows is refused
    if folder.exists() and not force:
        raise UserError(f"{folder}: the dataset exists; --force replaces it")


def _with_test_split(listing: Listing, share: float, seed: int) -> tuple[Listing, Holdout | None]:
    if listing.test is not None:
        return listing, None
    train, test = hold_out(listing.train, listing.classes, share, seed)
    grouped = any(example.group for example in listing.train)
    split = dataclasses.replace(listing, train=train, test=test)
    return split, Holdout(seed=seed, share=share, grouped=grouped)


def _limited(
    listing: Listing, per_class: int | None, fraction: float | None, seed: int
) -> tuple[Listing, Limit | None]:
    if per_class is None and fraction is None:
        return listing, None
    train, test = (
        limit(examples, listing.classes, per_class, fraction, seed)
        for examples in (listing.train, listing.test or [])
    )
    part = dataclasses.replace(listing, train=train, test=test)
    return part, Limit(seed=seed, per_class=per_class, fraction=fraction)
