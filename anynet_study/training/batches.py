"""A dataset view as tensors: resident on a GPU where it fits, read a batch at a time otherwise."""

from collections.abc import Iterator
from typing import Literal

import numpy as np
import torch
from torch import Tensor

from anynet_study.data import DatasetView

#: A split up to this many bytes is kept on the GPU. On a CPU the memory-mapped file is read
#: directly: all workers of a machine share its pages, and memory stays bounded.
RESIDENT_BYTES = 4 << 30


class Split:
    """The images and labels of one split of a view, in the view's order."""

    def __init__(
        self, view: DatasetView, split: Literal["train", "test"], device: torch.device
    ) -> None:
        index = view.train_index if split == "train" else view.test_index
        labels = view.train_labels if split == "train" else view.test_labels
        self.device = device
        self.labels = torch.from_numpy(np.asarray(labels, dtype=np.int64)).to(device)
        self._source = view.images(split)
        self._index = np.asarray(index)
        self._resident: Tensor | None = None
        bytes_per_image = int(np.prod(self._source.shape[1:]))
        if device.type != "cpu" and len(index) * bytes_per_image <= RESIDENT_BYTES:
            self._resident = torch.from_numpy(self._source[self._index]).to(device)

    def __len__(self) -> int:
        return len(self._index)

    def take(self, positions: Tensor) -> tuple[Tensor, Tensor]:
        """Images (N, H, W, 3) uint8 and labels (N,) int64 at CPU `positions`, on the device."""
        labels = self.labels[positions.to(self.device)]
        if self._resident is not None:
            return self._resident[positions.to(self.device)], labels
        rows = self._index[positions.numpy()]
        return torch.from_numpy(self._source[rows]).to(self.device), labels


def steps_per_epoch(images: int, batch_size: int) -> int:
    """Steps of one epoch: whole batches only, but at least one."""
    return max(1, images // batch_size)


def shuffled(images: int, batch_size: int, generator: torch.Generator) -> Iterator[Tensor]:
    """Positions of each training batch of one epoch, in random order."""
    order = torch.randperm(images, generator=generator)
    for step in range(steps_per_epoch(images, batch_size)):
        yield order[step * batch_size : (step + 1) * batch_size]


def in_order(images: int, batch_size: int) -> Iterator[Tensor]:
    """Positions of each evaluation batch, the last one possibly smaller."""
    return iter(torch.arange(images).split(batch_size))
