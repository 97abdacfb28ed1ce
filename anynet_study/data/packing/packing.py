"""Writing packed datasets: every image is decoded once, straight into the arrays on disk."""

import shutil
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from anynet_study.data.packed.form import Form
from anynet_study.data.packed.images import stored_images
from anynet_study.data.packed.manifest import FILE as MANIFEST
from anynet_study.data.packed.manifest import count_duplicates, write_manifest
from anynet_study.data.packed.meta import SPLITS, Split
from anynet_study.data.packing.key import packing_key
from anynet_study.data.packing.marks import FILE as MARK
from anynet_study.data.packing.marks import Mark, MarkKeeper, read_mark
from anynet_study.data.packing.meta_file import (
    Origin,
    Packed,
    check_classes,
    describe_packed,
    manifest_rows,
)
from anynet_study.data.packing.pool import decoder
from anynet_study.data.packing.quarantine import Quarantine
from anynet_study.data.packing.split import SplitPacking
from anynet_study.data.packing.store_choice import StoreOption, check_space, choose_store
from anynet_study.data.packing.writer import contents_file
from anynet_study.data.readers.listing import Example, Listing
from anynet_study.data.source.source import Source
from anynet_study.files import write_text
from anynet_study.progress import progress

__all__ = ["Origin", "pack"]


@dataclass(frozen=True)
class _Packing:
    """What is packed to where."""

    source: Source | None
    listing: Listing
    folder: Path
    form: Form
    key: str
    quarantine: Quarantine

    @property
    def images(self) -> int:
        return sum(map(len, self.quarantine.examples.values()))

    def mark(self, splits: Mapping[Split, SplitPacking]) -> Mark:
        """How far it has come."""
        settled = {split: part.mark() for split, part in splits.items() if part.writer.settled}
        return Mark(key=self.key, store=self.form.store, splits=settled)


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
    """Write `listing`, which has both splits, to `folder` at `size` x `size` pixels.

    The shorter side is scaled to `resize`, by default `size`, before the centre is cut out.
    `source` holds the files of the examples; None where all of them are arrays. Memory is
    bounded by a few blocks of images. Unreadable images are left out and listed in the meta
    data; UserError if they are more than the share `max_broken` of all.

    Where `folder` holds the beginning of the same packing, as an interruption leaves it, this
    goes on from there; whatever else it holds is removed.
    """
    resize = resize or size
    key = packing_key(source, listing, size, resize, store)
    mark = read_mark(folder, key)
    if mark is None:
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
    for torn in folder.glob(".*"):  # a mark that was being written
        torn.unlink()
    examples: dict[Split, list[Example]] = {"train": listing.train, "test": listing.test or []}
    total = sum(map(len, examples.values()))
    kept = choose_store(store, total * size**2 * 3, folder) if mark is None else mark.store
    form = Form(size, resize, kept)
    packing = _Packing(source, listing, folder, form, key, Quarantine(examples, max_broken))
    with ExitStack() as files:
        splits = _opened(packing, mark)
        for part in splits.values():
            files.enter_context(part)
        _pack_splits(packing, splits, origin.name, workers)
        packed = {split: _packed(packing, part) for split, part in splits.items()}
    _publishable(packing, origin, packed)


def _opened(packing: _Packing, mark: Mark | None) -> dict[Split, SplitPacking]:
    """The splits from `mark` on; from their beginning where the files are not what it says."""
    with ExitStack() as opened:
        splits: dict[Split, SplitPacking] = {}
        try:
            for split in SPLITS:
                place = packing.folder, split, packing.source, packing.listing, packing.form
                begun = None if mark is None else mark.splits.get(split)
                part = SplitPacking(*place, packing.quarantine, begun)
                splits[split] = opened.enter_context(part)
        except (OSError, ValueError) as error:
            if mark is None:
                raise
            opened.__exit__(type(error), error, None)
            packing.quarantine.clear()
            return _opened(packing, None)
        opened.pop_all()
    return splits


def _pack_splits(
    packing: _Packing, splits: Mapping[Split, SplitPacking], name: str, workers: int | None
) -> None:
    done = sum(part.done for part in splits.values())
    rest = packing.images - done
    check_space(packing.form.store, rest * packing.form.image_bytes, packing.folder)
    with (
        decoder(packing.form, rest, workers) as decode,
        progress(f"packing {name}", packing.images, done) as report,
        MarkKeeper(packing.folder) as keeper,
    ):
        for part in splits.values():
            for block, data in decode(part.encoded()):
                part.append(block, data)
                done += block.count
                report(done)
                if part.writer.settled:
                    keeper.offer(lambda: packing.mark(splits), part.writer.sync)
            part.writer.finish()


def _packed(packing: _Packing, part: SplitPacking) -> Packed:
    readable = packing.quarantine.readable(part.split, 0, part.done)
    check_classes(packing.listing, part.split, part.examples, readable)
    return Packed(readable, part.writer.hashes)


def _publishable(packing: _Packing, origin: Origin, packed: Mapping[Split, Packed]) -> None:
    """Write what a dataset has beside its arrays, and remove what it does not have."""
    folder, form = packing.folder, packing.form
    moments = {split: np.load(folder / f"{split}_moments.npy") for split in SPLITS}
    images = {split: stored_images(folder, split, form) for split in SPLITS}
    duplicates = count_duplicates(moments, images)
    broken = packing.quarantine.found()
    meta = describe_packed(packing.listing, origin, form, packed, broken, duplicates)
    contents = {split: np.load(contents_file(folder, split)) for split in SPLITS}
    write_manifest(folder / MANIFEST, manifest_rows(packing.listing, packed, contents))
    write_text(folder / "meta.json", meta.model_dump_json(indent=1) + "\n")
    for split in SPLITS:
        contents_file(folder, split).unlink()
    (folder / MARK).unlink(missing_ok=True)
