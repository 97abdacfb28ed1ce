"""Writing packed datasets: every image is decoded once, straight into its place on the disk.

The images of a split are written shard by shard. What is known of the images of a shard is kept in
a file of its own, which is renamed to its name when the images are on the disk for good: a packing
that was interrupted goes on after the last such shard, and ends with the same bytes.
"""

import dataclasses
import hashlib
import json
import shutil
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, closing, suppress
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Literal
from zipfile import BadZipFile

import numpy as np
import PIL
from numpy.typing import NDArray
from PIL import features

from anynet_study.data.packed.form import Form, Store
from anynet_study.data.packed.images import stored_images
from anynet_study.data.packed.manifest import FILE as MANIFEST
from anynet_study.data.packed.manifest import count_duplicates, write_manifest
from anynet_study.data.packed.meta import SPLITS, Broken, Split
from anynet_study.data.packed.root import NoRoomError
from anynet_study.data.packing.decoding import ARRAYS, Chunk, stamps_of
from anynet_study.data.packing.meta_file import (
    Origin,
    Packed,
    check_classes,
    describe_packed,
    label_array,
    manifest_rows,
)
from anynet_study.data.packing.pool import decoder
from anynet_study.data.packing.writers import ImageWriter, image_writer
from anynet_study.data.readers.listing import Example, Listing
from anynet_study.data.source.images import Encoded
from anynet_study.data.source.source import Source
from anynet_study.errors import UserError, printable
from anynet_study.files import replacing, write_text
from anynet_study.progress import progress

StoreOption = Literal["auto", "raw", "jpeg"]
#: Of itself, only a dataset with more bytes of pixels is stored as JPEG files.
RAW_BYTES = 100 * 10**9
#: A JPEG file takes about this share of its pixels, at least.
JPEG_SHARE = 0.1
#: Raised when the same source is packed to other bytes.
VERSION = 3
#: The file that says of which packing the shards are.
KEY = "packing.json"


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
    bounded by a few chunks of images and 150 bytes per image. Unreadable images are left out and
    listed in the meta data; UserError if they are more than the share `max_broken` of all.

    Where `folder` and the folder of shards beside it hold the beginning of the same packing, as an
    interruption leaves it, this goes on from there; whatever else they hold is removed.
    """
    resize = resize or size
    examples: dict[Split, list[Example]] = {"train": listing.train, "test": listing.test or []}
    images = sum(map(len, examples.values()))
    shards = folder.with_name(f"{folder.name}-shards")
    key = _packing_key(source, listing, size, resize, store)
    kept = _kept_store(shards, key)
    if kept is None:
        for old in (folder, shards):
            shutil.rmtree(old, ignore_errors=True)
            old.mkdir()
        kept = choose_store(store, images * size**2 * 3, folder)
        write_text(shards / KEY, json.dumps({"key": key, "store": kept}))
    form = Form(size, resize, kept)
    quarantine = _Quarantine(images, max_broken)
    task = _Task(source, listing, form, folder, shards, quarantine)
    with ExitStack() as opened:
        thread = opened.enter_context(ThreadPoolExecutor(1, thread_name_prefix="shards"))
        splits = {
            split: opened.enter_context(
                closing(_SplitPacking(task, split, examples[split], thread))
            )
            for split in SPLITS
        }
        done = sum(part.done for part in splits.values())
        check_space(form.store, (images - done) * form.image_bytes, folder)
        decode = opened.enter_context(decoder(form, images - done, workers))
        report = opened.enter_context(progress(f"packing {origin.name}", images, done))
        for part in splits.values():
            for chunk, data in decode(part.encoded()):
                part.append(chunk, data)
                done += chunk.count
                report(done)
            part.finish()
    _describe(task, origin, splits)
    shutil.rmtree(shards)


def _packing_key(source: Source | None, listing: Listing, *options: object) -> str:
    """A hash of the decoder, the options, the source and every example, 64 hexadecimal digits.

    Whether the files have changed is for `stamps_of` to say.
    """
    header = (
        VERSION,
        PIL.__version__,
        features.version("libjpeg_turbo"),
        options,
        listing.layout,
        listing.root,
        listing.classes,
        listing.multi_label,
        None if source is None else str(source.path.resolve()),
    )
    key = hashlib.sha256(repr(header).encode("utf-8", "surrogateescape"))
    for examples in (listing.train, listing.test or []):
        key.update(b"split")
        for example in examples:
            whole = repr(dataclasses.replace(example, pixels=None))
            key.update(whole.encode("utf-8", "surrogateescape"))
    return key.hexdigest()


def _kept_store(shards: Path, key: str) -> Store | None:
    """In which form the shards of the packing `key` are stored; None where there are none."""
    try:
        known = json.loads((shards / KEY).read_bytes())
    except (OSError, ValueError):
        return None
    stores: dict[str, Store] = {"raw": "raw", "jpeg": "jpeg"}
    return stores[known["store"]] if known["key"] == key else None


@dataclass
class _Quarantine:
    """Unreadable images, against the share of all `images` that is allowed."""

    images: int
    share: float
    found: dict[Split, list[Broken]] = field(default_factory=lambda: {"train": [], "test": []})

    def add(self, split: Split, example: Example, reason: str) -> None:
        """UserError when they have become too many, or for an image asked for by its content."""
        image, reason = printable(example.name), printable(reason)
        if example.content:
            raise UserError(f"{image}: the manifest has it, but it is unreadable ({reason})")
        self.found[split].append(Broken(split=split, image=image, reason=reason))
        count = len(self.all())
        if count > self.share * self.images:
            worst = self.all()[0]
            raise UserError(
                f"{worst.image}: unreadable image ({worst.reason}); {count} of {self.images} so "
                f"far, and --max-broken allows a share of {self.share:g}"
            )

    def all(self) -> list[Broken]:
        """In the order of the examples."""
        return self.found["train"] + self.found["test"]


@dataclass(frozen=True)
class _Task:
    """What is packed to where."""

    source: Source | None
    listing: Listing
    form: Form
    folder: Path
    #: The folder of what is known of each shard.
    shards: Path
    quarantine: _Quarantine


class _SplitPacking:
    """One split as it is packed, shard by shard, from its beginning or from where it was left."""

    def __init__(
        self, task: _Task, split: Split, examples: Sequence[Example], thread: ThreadPoolExecutor
    ) -> None:
        """`thread`: waits for the disk."""
        self._task, self._split, self._thread = task, split, thread
        self.examples = examples
        #: Those that are readable, in the order in which they are stored.
        self.readable: list[Example] = []
        #: Images decoded so far, the unreadable included.
        self.done = 0
        #: What is known of the images: by shard, and by chunk of the shard to come.
        self.shards: list[Chunk] = []
        self._chunks: list[Chunk] = []
        self._pending: Future[None] | None = None
        self._writer = self._resumed()

    def _resumed(self) -> ImageWriter:
        """Take the shards that are kept; returns what goes on after them."""
        task, kept = self._task, self._kept()
        for path in sorted(task.shards.glob(f"{self._split}-*.npz"))[len(kept) :]:
            path.unlink()
        place = task.folder, self._split, task.form
        try:
            rows = sum(len(shard.lengths) for shard in kept)
            files = sum(len(shard.lengths) > 0 for shard in kept)
            writer = image_writer(*place, rows, files)
        except (OSError, ValueError):  # not as they were left
            kept, writer = [], image_writer(*place)
        for shard in kept:
            self._take(shard)
        self.shards = kept
        return writer

    def _kept(self) -> list[Chunk]:
        """The first shards that are on the disk for good, of images that are still the same."""
        kept: list[Chunk] = []
        images = self._encoded(self.examples)
        while (shard := _read_shard(self._record(len(kept)))) is not None:
            if not np.array_equal(stamps_of(islice(images, shard.count)), shard.stamps):
                break
            kept.append(shard)
        return kept

    def _record(self, number: int) -> Path:
        return self._task.shards / f"{self._split}-{number:05d}.npz"

    def _encoded(self, examples: Sequence[Example]) -> Iterator[Encoded]:
        task = self._task
        return (task.listing.encoded(task.source, example) for example in examples)

    def encoded(self) -> Iterator[Encoded]:
        """What the examples that are left are decoded from."""
        return self._encoded(self.examples[self.done :])

    def append(self, chunk: Chunk, data: NDArray[np.uint8]) -> None:
        """Append the next chunk, whose bytes are `data`; UserError for one that ends the work."""
        self._take(chunk)
        self._writer.append(chunk, data)
        self._chunks.append(chunk)
        if self._writer.full:
            self._end_shard()

    def _take(self, chunk: Chunk) -> None:
        readable = []
        for place, example in enumerate(self.examples[self.done : self.done + chunk.count]):
            if place in chunk.broken:
                self._task.quarantine.add(self._split, example, chunk.broken[place])
            else:
                readable.append(example)
        _check_contents(readable, chunk.contents)
        self.readable += readable
        self.done += chunk.count

    def _end_shard(self) -> None:
        shard, number = Chunk.joined(self._chunks), len(self.shards)
        self._chunks.clear()
        self.shards.append(shard)
        sync = self._writer.end_shard()
        self._wait()
        self._pending = self._thread.submit(_keep_shard, self._record(number), shard, sync)

    def _wait(self) -> None:
        """Raises what keeping the last shard met, such as a full disk."""
        if self._pending is not None:
            self._pending.result()

    def finish(self) -> None:
        """Wait until all that was appended is on the disk for good."""
        if self._chunks:
            self._end_shard()
        else:
            self._writer.end_shard()()
        self._wait()
        self._writer.close()

    def close(self) -> None:
        """Close what is open."""
        with suppress(Exception):  # another error ends the work
            self._wait()
        self._writer.close()


def _keep_shard(path: Path, shard: Chunk, sync: Callable[[], None]) -> None:
    """Write what is known of a shard, once its images would outlive the machine."""
    sync()
    arrays = {name: getattr(shard, name) for name in ARRAYS}
    with replacing(path) as temporary, temporary.open("wb") as file:
        np.savez(file, broken=np.array(json.dumps(shard.broken)), **arrays)


def _read_shard(path: Path) -> Chunk | None:
    """What `_keep_shard` wrote; None where there is no such."""
    try:
        with path.open("rb") as file, np.load(file, allow_pickle=False) as known:
            broken = json.loads(str(known["broken"]))
            arrays = {name: known[name] for name in ARRAYS}
    except (OSError, ValueError, KeyError, BadZipFile):
        return None
    return Chunk(**arrays, broken={int(place): reason for place, reason in broken.items()})


def _check_contents(examples: Sequence[Example], contents: NDArray[np.uint8]) -> None:
    """UserError for the first of `examples` whose content, (N, 16), is not what is expected."""
    for example, content in zip(examples, contents, strict=True):
        if example.content and example.content != (found := content.tobytes().hex()):
            raise UserError(
                f"{printable(example.name)}: not the image of the manifest, whose content is "
                f"{example.content}; this image's is {found}"
            )


def _describe(task: _Task, origin: Origin, splits: Mapping[Split, _SplitPacking]) -> None:
    """Write what a dataset has beside its images."""
    listing, folder = task.listing, task.folder
    packed, moments = {}, {}
    for split, part in splits.items():
        check_classes(listing, split, part.examples, part.readable)
        whole = Chunk.joined(part.shards)
        labels = label_array(part.readable, len(listing.classes), listing.multi_label)
        packed[split] = Packed(part.readable, labels, whole.digests, whole.contents)
        moments[split] = whole.moments
        for name, array in (("labels", labels), ("moments", whole.moments)):
            with (
                replacing(folder / f"{split}_{name}.npy") as temporary,
                temporary.open("wb") as file,
            ):
                np.save(file, array)
    images = {split: stored_images(folder, split, task.form) for split in SPLITS}
    duplicates = count_duplicates(moments, images)
    meta = describe_packed(listing, origin, task.form, packed, task.quarantine.all(), duplicates)
    write_manifest(folder / MANIFEST, manifest_rows(listing, packed))
    write_text(folder / "meta.json", meta.model_dump_json(indent=1) + "\n")


def choose_store(option: StoreOption, pixel_bytes: int, folder: Path) -> Store:
    """`option`, or for auto raw unless that is too large; then says so."""
    if option != "auto":
        return option
    free = shutil.disk_usage(folder).free
    if pixel_bytes <= min(RAW_BYTES, free) or JPEG_SHARE * pixel_bytes > free:
        return "raw"
    why = f"only {_size(free)} are free"
    if pixel_bytes > RAW_BYTES:
        why = f"more than {_size(RAW_BYTES)}"
    print(
        f"{_size(pixel_bytes)} of pixels, {why}: stored as JPEG files (--store raw keeps pixels)",
        file=sys.stderr,
    )
    return "jpeg"


def check_space(store: Store, pixel_bytes: int, folder: Path) -> None:
    """NoRoomError where images that have `pixel_bytes` to come will not fit."""
    needed = pixel_bytes if store == "raw" else int(JPEG_SHARE * pixel_bytes)
    free = shutil.disk_usage(folder).free
    if needed > free:
        raise NoRoomError(
            f"{folder.parent.parent}: {_size(needed)} needed, {_size(free)} free; "
            "free some and run the same command again, or use another disk ($ANYNET_DATA) or a "
            "smaller --size"
        )


def _size(count: int) -> str:
    return f"{count / 1e9:,.1f} GB" if count >= 1e9 else f"{count / 1e6:,.2f} MB"
