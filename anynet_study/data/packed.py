"""A packed dataset: decoded once, memory-mapped ever after."""

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from anynet_study.data.labels import Labels, label_layout
from anynet_study.data.meta import (
    SPLITS,
    Meta,
    Split,
    SplitCounts,
    content_hash,
    damaged,
    read_meta,
)
from anynet_study.errors import UserError


@dataclass(frozen=True)
class PackedDataset:
    """A dataset folder: `meta.json`, and for each split images, labels and moments as .npy."""

    folder: Path
    meta: Meta

    @classmethod
    def open(cls, folder: Path) -> Self:
        """Open a packed dataset; UserError if it is damaged or from a newer version."""
        dataset = cls(folder, read_meta(folder / "meta.json"))
        size = dataset.size
        label_shape, label_type = label_layout(len(dataset.classes), dataset.multi_label)
        for split in SPLITS:
            images = dataset.counts(split).images
            for kind, shape, dtype in (
                ("images", (images, size, size, 3), np.uint8),
                ("labels", (images, *label_shape), label_type),
                ("moments", (images, 2, 3), np.int64),
            ):
                array = dataset._array(split, kind)
                if array.shape != shape or array.dtype != dtype:
                    raise damaged(folder / f"{split}_{kind}.npy", "not what meta.json says")
        return dataset

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

    def images(self, split: Split) -> NDArray[np.uint8]:
        """(N, size, size, 3) uint8 RGB, memory-mapped and read-only."""
        return self._array(split, "images")

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
                hashlib.sha256(np.ascontiguousarray(self.labels(split)).data),
                hashlib.sha256(np.ascontiguousarray(self.images(split)).data),
            )
            for split in SPLITS
        }
        found = content_hash(
            self.size,
            self.classes,
            {
                split: (labels.digest(), pixels.digest())
                for split, (labels, pixels) in hashes.items()
            },
        )
        if found != self.content_hash:
            raise damaged(self.folder, "the data do not have the content hash of meta.json")

    def _array(self, split: Split, kind: str) -> NDArray[Any]:
        path = self.folder / f"{split}_{kind}.npy"
        try:
            array: NDArray[Any] = np.load(path, mmap_mode="r", allow_pickle=False)
        except (OSError, ValueError, EOFError) as error:
            raise damaged(path, str(error)) from error
        return array
