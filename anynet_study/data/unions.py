"""Several packed datasets as one: a view, never a copy."""

import hashlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from anynet_study.core.errors import UserError
from anynet_study.data.packed.dataset import Labels, PackedDataset
from anynet_study.data.packed.images import Images
from anynet_study.data.packed.meta import SPLITS, Duplicates, Meta, Split, SplitCounts


def union_of(datasets: Sequence[PackedDataset]) -> PackedDataset:
    """Join the datasets. UserError if their forms differ, or if one cannot be trained on."""
    return datasets[0] if len(datasets) == 1 else Union.of(datasets)


@dataclass(frozen=True)
class Union(PackedDataset):
    """The images of several packed datasets, those of the first before those of the second.

    Each class of each dataset is a class of its own, called DATASET:CLASS; views join classes. The
    folder does not exist: its path only tells unions apart.
    """

    bases: tuple[PackedDataset, ...]

    @classmethod
    def of(cls, bases: Sequence[PackedDataset]) -> "Union":
        """See `union_of`."""
        first = bases[0]
        for base in bases:
            if base.test_only:
                raise UserError(f"base: {base.name!r} is a test set only, nothing can be trained")
            if base.multi_label:
                raise UserError(
                    f"base: images of {base.name!r} have several classes each, and which they have "
                    "of the other dataset's is not known; legal in a union: one class per image"
                )
            if base.size != first.size:
                raise UserError(
                    f"base: images of {base.name!r} have {base.size} pixels, those of "
                    f"{first.name!r} {first.size}; pack it again with: anynet-study data add "
                    f"{base.name} --from SOURCE --size {first.size} --force"
                )
        name = "+".join(base.name for base in bases)
        layouts = {base.meta.layout for base in bases}
        hashes = json.dumps(["union", *(base.content_hash for base in bases)])
        counts = {
            split: SplitCounts(
                images=sum(base.counts(split).images for base in bases),
                per_class=tuple(n for base in bases for n in base.counts(split).per_class),
            )
            for split in SPLITS
        }
        meta = Meta(
            schema_version=first.meta.schema_version,
            name=name,
            classes=tuple(f"{base.name}:{own}" for base in bases for own in base.classes),
            size=first.size,
            content_hash=hashlib.sha256(hashes.encode()).hexdigest(),
            layout=layouts.pop() if len(layouts) == 1 else "union",
            source=name,
            train=counts["train"],
            test=counts["test"],
            holdout=None,
            limit=None,
            duplicates=Duplicates(test_in_train=0, within_train=0, within_test=0),
            quarantined=(),
            ignored=0,
        )
        return cls(first.folder.with_name(name), meta, tuple(bases))

    @property
    def parts(self) -> tuple[PackedDataset, ...]:
        return self.bases

    @property
    def classes_called(self) -> dict[str, tuple[str, ...]]:
        called: dict[str, tuple[str, ...]] = {}
        for base in self.bases:
            for name in base.classes:
                called[name] = (*called.get(name, ()), f"{base.name}:{name}")
        return called

    def images(self, split: Split) -> Images:
        return JoinedImages([base.images(split) for base in self.bases])

    def labels(self, split: Split) -> Labels:
        before = np.cumsum([0, *(len(base.classes) for base in self.bases[:-1])])
        numbered = zip(self.bases, before, strict=True)
        return np.concatenate([base.labels(split) + number for base, number in numbered])

    def captions(self) -> list[list[str]]:
        return [of_image for base in self.bases for of_image in base.captions()]

    def moments(self, split: Split) -> NDArray[np.int64]:
        return np.concatenate([base.moments(split) for base in self.bases])


class JoinedImages:
    """(N, size, size, 3) uint8 RGB of several splits, one after the other; see `Images`."""

    dtype = np.dtype(np.uint8)

    def __init__(self, parts: Sequence[Images]) -> None:
        self._parts = parts
        #: (parts + 1,) the first row of each part, and the number of all.
        self._starts = np.cumsum([0, *map(len, parts)])

    @property
    def shape(self) -> tuple[int, ...]:
        return len(self), *self._parts[0].shape[1:]

    @property
    def nbytes(self) -> int:
        return sum(part.nbytes for part in self._parts)

    def __len__(self) -> int:
        return int(self._starts[-1])

    def __iter__(self) -> Iterator[NDArray[np.uint8]]:
        return (image for part in self._parts for image in part)

    def __getitem__(self, index: Any, /) -> NDArray[np.uint8]:
        rows = np.arange(len(self))[index]
        images = np.empty((*rows.shape, *self.shape[1:]), np.uint8)
        of = np.searchsorted(self._starts, rows, "right") - 1
        for number, part in enumerate(self._parts):
            here = of == number
            if here.any():
                images[here] = part[(rows - self._starts[number])[here]]
        return images
