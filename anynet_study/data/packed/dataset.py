"""A packed dataset: decoded once, memory-mapped ever after."""

import json
import sys
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from anynet_study.core.errors import UserError, first_line
from anynet_study.core.files import open_regular
from anynet_study.data.packed.digests import check_files, has_digests, write_digests
from anynet_study.data.packed.form import (
    Form,
    first_images_digest,
    images_digest,
    labels_digest,
    moments_of,
)
from anynet_study.data.packed.images import Images, JpegImages, stored_bytes
from anynet_study.data.packed.meta import (
    SPLITS,
    Meta,
    Split,
    SplitCounts,
    content_hash,
    damaged,
    read_meta,
)

#: (N,) int64, the class of each image; or, multi-label, (N, classes) uint8, 1 where it has it.
Labels = NDArray[Any]
#: The file of captions, if there are any: a list of texts for each training image.
CAPTIONS = "captions.json"
#: How many images are read at a time to sum them.
BLOCK = 256


def class_counts(labels: Labels, classes: int) -> NDArray[np.int64]:
    """(classes,) images of each class; an image of several classes counts for all of them."""
    if labels.ndim == 2:
        return np.asarray(labels.sum(axis=0, dtype=np.int64))
    return np.bincount(labels, minlength=classes)


@dataclass(frozen=True)
class PackedDataset:
    """A dataset folder: `meta.json`, and for each split images, labels and moments; digests.

    All are .npy files, but images may be JPEG files in Arrow files (see `JpegImages`).
    """

    folder: Path
    meta: Meta

    @classmethod
    def open(cls, folder: Path) -> Self:
        """Open a packed dataset. UserError if its meta data are damaged or of a newer version.

        The data are not checked for changes: see `checked`.
        """
        return cls(folder, read_meta(folder / "meta.json"))

    @classmethod
    def checked(cls, folder: Path, whole: bool = False) -> Self:
        """Open and check: UserError also for a file that has changed since the dataset was packed.

        `whole`: read all files, not only those whose size or time of change differs from the last
        check. A dataset of an older version has no digests: the first check compares all of it with
        its content hash, and writes digests.
        """
        if has_digests(folder):
            check_files(folder, whole)
            return cls.open(folder)
        dataset = cls.open(folder)
        dataset._check_content()
        told = "packed by an older version; its data agree with its content hash"
        try:
            write_digests(folder)
        except OSError as error:
            told += (
                f"; as no digests can be written ({first_line(error)}), this is found out each time"
            )
        print(f"{folder}: {told}", file=sys.stderr)
        return dataset

    @property
    def name(self) -> str:
        return self.meta.name

    @property
    def classes(self) -> tuple[str, ...]:
        return self.meta.classes

    @property
    def parts(self) -> tuple["PackedDataset", ...]:
        """The datasets on disk of which this one consists."""
        return (self,)

    @property
    def classes_called(self) -> dict[str, tuple[str, ...]]:
        """The classes of each name, in order. In a union, a name can stand for several classes."""
        return {name: (name,) for name in self.classes}

    @property
    def size(self) -> int:
        """Height and width in pixels."""
        return self.meta.size

    @property
    def form(self) -> Form:
        """Tell how images were fitted and are stored."""
        return Form(self.size, self.meta.resize or self.size, self.meta.store)

    @property
    def content_hash(self) -> str:
        return self.meta.content_hash

    @property
    def multi_label(self) -> bool:
        """Tell whether an image can have several classes."""
        return self.meta.multi_label

    @property
    def test_only(self) -> bool:
        """Tell whether there are no training images."""
        return self.meta.train.images == 0

    def counts(self, split: Split) -> SplitCounts:
        """Images of `split`, in total and by class."""
        return self.meta.train if split == "train" else self.meta.test

    def captions(self) -> list[list[str]]:
        """The captions of each training image; empty lists if the dataset has no captions."""
        path = self.folder / CAPTIONS
        if not path.exists():
            return [[] for _ in range(self.counts("train").images)]
        try:
            with open_regular(path) as file:
                found: list[list[str]] = json.load(file)
        except (OSError, ValueError, RecursionError) as error:
            raise damaged(path, "it cannot be read") from error
        return found

    def images(self, split: Split) -> Images:
        """(N, size, size, 3) uint8 RGB, memory-mapped and read-only.

        An array, or where they are stored as JPEG files what is indexed like one and decodes then.
        """
        if self.form.store == "raw":
            return self._array(split, "images")
        if split not in self._jpeg_images:
            try:
                self._jpeg_images[split] = JpegImages(self.folder, split, self.form)
            except (OSError, ValueError) as error:
                raise damaged(self.folder, first_line(error)) from error
        return self._jpeg_images[split]

    @cached_property
    def _jpeg_images(self) -> dict[Split, JpegImages]:
        """The opened JPEG files of each split, kept because opening takes a while."""
        return {}

    def labels(self, split: Split) -> Labels:
        """(N,) int64 indices into `classes`, memory-mapped and read-only.

        Of a multi-label dataset (N, classes) uint8, 1 where the image has the class.
        """
        return self._array(split, "labels")

    def moments(self, split: Split) -> NDArray[np.int64]:
        """(N, 2, 3) int64: per image and channel the sum and the sum of squares of its bytes."""
        return self._array(split, "moments")

    def statistics(
        self, split: Split = "train", index: NDArray[np.int64] | None = None
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Mean and standard deviation by channel, (3,) each, of the images at `index` (all).

        In units of 0..1, from exact integer sums. A constant channel has standard deviation 1,
        so that normalising it gives zeros.
        """
        moments = self.moments(split)
        if not len(moments):
            raise UserError(f"dataset {self.name!r} has no {split} images")
        chosen = moments if index is None else moments[index]
        pixels = len(chosen) * self.size**2
        sums, squares = chosen.sum(axis=0).tolist()
        mean = [total / pixels / 255 for total in sums]
        # Python integers: n * sum of squares overflows 64 bits.
        spread = [pixels * square - total**2 for total, square in zip(sums, squares, strict=True)]
        std = [(value**0.5) / pixels / 255 if value else 1.0 for value in spread]
        return np.array(mean), np.array(std)

    def verify(self) -> None:
        """Read all the data. UserError names the file that has changed since they were packed."""
        self.checked(self.folder, whole=True)

    def _check_content(self) -> None:
        """UserError if the content hash does not match the data, or sums do not match pixels."""
        hashes = {}
        for split in SPLITS:
            stored = stored_bytes(self.images(split))
            if self.meta.schema_version == 1:
                digest = first_images_digest(stored, self.form.store)
            else:
                digest = images_digest(stored)
            hashes[split] = labels_digest(self.labels(split)), digest
        if content_hash(self.form, self.classes, hashes) != self.content_hash:
            raise damaged(self.folder, "the data do not have the content hash of meta.json")
        for split in SPLITS:
            images, moments = self.images(split), self.moments(split)
            for start in range(0, len(images), BLOCK):
                rows = slice(start, start + BLOCK)
                if not np.array_equal(moments_of(images[rows]), moments[rows]):
                    path = self.folder / f"{split}_moments.npy"
                    raise damaged(path, "the sums are not those of the pixels")

    def _array(self, split: Split, kind: str) -> NDArray[Any]:
        path = self.folder / f"{split}_{kind}.npy"
        try:
            open_regular(path).close()
            array: NDArray[Any] = np.load(path, mmap_mode="r", allow_pickle=False)
        except Exception as error:  # the parser of headers raises nearly anything
            raise damaged(path, first_line(error)) from error
        return array
