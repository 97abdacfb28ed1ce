"""The images of packed datasets on a device: loaded once, shared by all runs of a process."""

import warnings
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from anynet_study.data import DatasetView
from anynet_study.data.meta import Split
from anynet_study.training.feeds import BatchStream, Feed, ResidentFeed, StreamedFeed

#: Share of a GPU's free memory that datasets may take; the rest is for the networks.
RESIDENT_SHARE = 0.5
Key = tuple[Path, Split]


class Source:
    """On a CPU the memory-mapped files, whose pages all processes of a machine share; on a GPU
    whole splits as uint8 where they fit, else streams of batches.
    """

    def __init__(self, device: torch.device, budget: int | None = None) -> None:
        self.device = device
        #: Bytes of GPU memory that splits may take; None: a share of what is free at first use.
        self._budget = budget
        self._resident: dict[Key, Tensor] = {}
        self._streams: dict[Key, BatchStream] = {}

    def feed(
        self, view: DatasetView, split: Split, steps: int, batch: int, resident: bool = True
    ) -> Feed:
        """The images of a view's split, for `steps` steps of `batch` images."""
        key = (view.dataset.folder, split)
        pixels = self._whole(key, view.images(split)) if resident else None
        if pixels is not None:
            return ResidentFeed(pixels, steps, batch)
        if key not in self._streams:
            self._streams[key] = BatchStream(view.images(split), self.device)
        return StreamedFeed(self._streams[key], batch)

    def release(self) -> None:
        """Let go of the GPU memory that datasets take."""
        self._resident.clear()
        self._streams.clear()

    def _whole(self, key: Key, images: np.ndarray) -> Tensor | None:
        if self.device.type == "cpu":
            return as_tensor(images)
        pixels = self._resident.pop(key, None)
        if pixels is None:
            if not self._make_room(images.nbytes):
                return None
            pixels = as_tensor(images).to(self.device)
        self._resident[key] = pixels  # the last used comes last
        return pixels

    def _make_room(self, needed: int) -> bool:
        if self._budget is None:
            self._budget = int(RESIDENT_SHARE * torch.cuda.mem_get_info(self.device)[0])
        if needed > self._budget:
            return False
        while sum(pixels.nbytes for pixels in self._resident.values()) + needed > self._budget:
            self._resident.pop(next(iter(self._resident)))
        return True


def as_tensor(images: np.ndarray) -> Tensor:
    """A tensor on the memory of `images`, without a copy; it must not be written to."""
    with warnings.catch_warnings():  # the file is mapped read-only, which torch cannot express
        warnings.simplefilter("ignore", UserWarning)
        return torch.from_numpy(images)
