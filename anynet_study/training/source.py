"""The images of packed datasets on a device: loaded once, shared by all runs of a process."""

import warnings
from pathlib import Path
from weakref import WeakSet

import numpy as np
import torch
from torch import Tensor

from anynet_study.data import DatasetView
from anynet_study.data.packed.images import Images
from anynet_study.data.packed.meta import Split
from anynet_study.training.feeds import BatchStream, Feed, ResidentFeed, StreamedFeed

#: Share of a GPU's free memory that datasets may take; the rest is for the networks.
RESIDENT_SHARE = 0.5
#: Images copied at a time.
CHUNK = 1024
Key = tuple[Path, Split]


class Source:
    """On a CPU the memory-mapped files, whose pages all processes of a machine share; on a GPU
    copies of whole splits where they fit. Else streams of batches, and so on a CPU for images
    that are decoded as they are read.
    """

    def __init__(self, device: torch.device, budget: int | None = None) -> None:
        """`budget`: bytes of the device's memory that copies may take.

        By default a share of what a GPU has free at the first use; a CPU needs no copies.
        """
        self.device = device
        self._budget = budget
        self._mapped = device.type == "cpu" and budget is None
        #: The last used come last.
        self._resident: dict[Key, Tensor] = {}
        self._feeds: dict[Key, WeakSet[ResidentFeed]] = {}
        self._streams: dict[Key, BatchStream] = {}

    def feed(
        self, view: DatasetView, split: Split, steps: int, batch: int, resident: bool = True
    ) -> Feed:
        """The images of a view's split, for `steps` steps of `batch` images."""
        key, images = (view.dataset.folder, split), view.images(split)
        pixels = self._whole(key, images) if resident else None
        if pixels is not None:
            feed = ResidentFeed(pixels, steps, batch)
            self._feeds.setdefault(key, WeakSet()).add(feed)
            return feed
        if key not in self._streams:
            self._streams[key] = BatchStream(images, pinned=self.device.type == "cuda")
        return StreamedFeed(self._streams[key], batch, self.device)

    def release(self) -> None:
        """Let go of what no feed uses any more."""
        self._resident.clear()
        self._streams.clear()

    def _whole(self, key: Key, images: Images) -> Tensor | None:
        if self._mapped:
            return as_tensor(images) if isinstance(images, np.ndarray) else None
        pixels = self._resident.pop(key, None)
        if pixels is None:
            if not self._make_room(images.nbytes):
                return None
            pixels = _copied(images, self.device)
        self._resident[key] = pixels
        return pixels

    def _make_room(self, needed: int) -> bool:
        """Whether `needed` bytes are free once the least recently used splits have gone.

        Those that a feed uses stay: their memory would not be free.
        """
        if self._budget is None:
            self._budget = int(RESIDENT_SHARE * torch.cuda.mem_get_info(self.device)[0])
        free = self._budget - sum(pixels.nbytes for pixels in self._resident.values())
        idle = [key for key in self._resident if not self._feeds.get(key)]
        if needed > free + sum(self._resident[key].nbytes for key in idle):
            return False
        for key in idle:
            if needed <= free:
                break
            free += self._resident.pop(key).nbytes
        return True


def _copied(images: Images, device: torch.device) -> Tensor:
    """All images on `device`, some at a time: they may be decoded as they are read."""
    pixels = torch.empty(images.shape, dtype=torch.uint8, device=device)
    for start in range(0, len(images), CHUNK):
        pixels[start : start + CHUNK] = as_tensor(images[start : start + CHUNK])
    return pixels


def as_tensor(images: np.ndarray) -> Tensor:
    """A tensor on the memory of `images`, without a copy; it must not be written to."""
    with warnings.catch_warnings():  # the file is mapped read-only, which torch cannot express
        warnings.simplefilter("ignore", UserWarning)
        return torch.from_numpy(images)
