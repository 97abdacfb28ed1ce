"""A packed dataset: decoded once, memory-mapped ever after."""

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from anynet_study.data.packed.form import Form, images_digest, labels_digest
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
from anynet_study.errors import UserError

#: (N,) int64, the class of each image; or, multi-label, (N, classes) uint8, 1 where it has it.
Labels = NDArray[Any]


def class_counts(labels: Labels, classes: int) -> NDArray[np.int64]:
    """(classes,) images of each class; an image of several classes counts for all of them."""
    if labels.ndim == 2:
        return np.asarray(labels.sum(axis=0, dtype=np.int64))
    return np.bincount(labels, minlength=classes)


@dataclass(frozen=True)
class PackedDataset:
    """A dataset folder: `meta.json`, and for each split images, labels and moments.

    All are .npy files, but images may be JPEG files in Arrow files (see `JpegImages`).
    """

    folder: Path
    meta: Meta

    @classmethod
    def open(cls, folder: Path) -> Self:
        """Open a packed dataset; UserError if it is damaged or from a newer version."""
        dataset = cls(folder, read_meta(folder / "meta.json"))
        size = dataset.size
        label_shape = (len(dataset.classes),) if dataset.multi_label else ()
        label_type = np.uint8 if dataset.multi_label else np.int64
        for split in SPLITS:
            images = dataset.counts(split).images
            for kind, read, shape, dtype in (
                ("images", dataset.images, (images, size, size, 3), np.uint8),
                ("labels", dataset.labels, (images, *label_shape), label_type),
                ("moments", dataset.moments, (images, 2, 3), np.int64),
            ):
                array = read(split)
                if array.shape != shape or array.dtype != dtype:
                    many = kind == "images" and dataset.form.store == "jpeg"
                    file = f"{split}_{kind}{'-*.arrow' if many else '.npy'}"
                    raise damaged(folder / file, "not what meta.json says")
            dataset._check_labels(split)
        return dataset

    def _check_labels(self, split: Split) -> None:
        """UserError where they are of other classes than `meta.json` counts."""
        labels, many = self.labels(split), len(self.classes)
        most = 1 if self.multi_label else many - 1
        legal = not labels.size or 0 <= labels.min() <= labels.max() <= most
        if not legal or class_counts(labels, many).tolist() != [*self.counts(split).per_class]:
            raise damaged(self.folder / f"{split}_labels.npy", "not what meta.json says")

    @property
    def name(self) -> str:
        return self.meta.name

    @property
    def classes(self) -> tuple[str, ...]:
        return self.meta.classes

    @property
    def size(self) -> int:
        """Height and width in pixels."""
        return self.meta.size

    @property
    def form(self) -> Form:
        """How images were fitted and are stored."""
        return Form(self.size, self.meta.resize or self.size, self.meta.store)

    @property
    def content_hash(self) -> str:
        return self.meta.content_hash

    @property
    def multi_label(self) -> bool:
        """Whether an image can have several classes."""
        return self.meta.multi_label

    @property
    def test_only(self) -> bool:
        """Whether there are no training images."""
        return self.meta.train.images == 0

    def counts(self, split: Split) -> SplitCounts:
        """Images of `split`, in total and by class."""
        return self.meta.train if split == "train" else self.meta.test

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
                raise damaged(self.folder, str(error)) from error
        return self._jpeg_images[split]

    @cached_property
    def _jpeg_images(self) -> dict[Split, JpegImages]:
        """Those that were opened: it takes a while."""
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
        """Read all the data; UserError if they are not what they were when they were packed."""
        hashes = {
            split: (
                labels_digest(self.labels(split)),
                images_digest(stored_bytes(self.images(split))),
            )
            for split in SPLITS
        }
        found = content_hash(self.form, self.classes, hashes)
        if found != self.content_hash:
            raise damaged(self.folder, "the data do not have the content hash of meta.json")

    def _array(self, split: Split, kind: str) -> NDArray[Any]:
        path = self.folder / f"{split}_{kind}.npy"
        try:
            array: NDArray[Any] = np.load(path, mmap_mode="r", allow_pickle=False)
        except Exception as error:  # the parser of headers raises nearly anything
            raise damaged(path, str(error)) from error
        return array
