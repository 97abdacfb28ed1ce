"""Where a step takes its images from: the whole split in memory, or a stream of batches."""

import warnings
from collections import OrderedDict
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Protocol
from weakref import WeakSet

import numpy as np
import torch
from torch import Tensor

from anynet_study.data import DatasetView, Images, Split

#: Batches read ahead of the step that needs them.
AHEAD = 4
#: Share of a GPU's free memory that datasets may take; the rest is for the networks.
RESIDENT_SHARE = 0.5
#: Images copied at a time.
CHUNK = 1024
#: A split of a packed dataset: its folder and its name.
Key = tuple[Path, Split]


class Feed(Protocol):
    """Images by step. `batch` runs on the device only, so that it can be part of a CUDA graph."""

    def begin(self, rows: Tensor) -> None:
        """Take the rows (steps, batch) of the packed split that an epoch will use, on the CPU."""

    def advance(self, step: int) -> None:
        """Make the images of 0-based `step` ready, before `batch` is called for it."""

    def batch(self, step: Tensor) -> tuple[Tensor, Tensor]:
        """Images (N, H, W, 3) uint8 and the rows (B,) among them that `step` (1,) trains on."""


class ResidentFeed:
    """All images are on the device, or memory-mapped on the CPU."""

    def __init__(self, pixels: Tensor, steps: int, batch: int) -> None:
        self._pixels = pixels
        self._rows = torch.zeros(steps, batch, dtype=torch.int64, device=pixels.device)

    def begin(self, rows: Tensor) -> None:
        self._rows.copy_(rows)

    def advance(self, step: int) -> None:
        pass

    def batch(self, step: Tensor) -> tuple[Tensor, Tensor]:
        return self._pixels, self._rows.index_select(0, step)[0]


class BatchStream:
    """Batches of a split too large for the device, read ahead by a thread into host memory.

    Runs that ask for the same rows in the same order share each batch: it is read once. A run
    that has fallen far behind reads for itself again.
    """

    def __init__(self, images: Images, pinned: bool) -> None:
        """`pinned`: in memory from which a GPU copies by itself."""
        self.side = images.shape[1]
        #: Batches read so far.
        self.reads = 0
        #: Those that read from it; forgotten when they are gone.
        self.feeds: WeakSet[StreamedFeed] = WeakSet()
        self._images, self._pinned = images, pinned
        #: The last used come last.
        self._ready: OrderedDict[bytes, Future[Tensor]] = OrderedDict()
        self._reader = ThreadPoolExecutor(1, thread_name_prefix="batches")

    def get(self, rows: list[np.ndarray], step: int) -> Tensor:
        """The images (batch, H, W, 3) uint8 at `rows[step]`. Raises what reading them raises."""
        for wanted in rows[step : step + AHEAD]:
            self._request(wanted)
        return self._request(rows[step]).result()

    def _request(self, rows: np.ndarray) -> Future[Tensor]:
        key = rows.tobytes()
        future = self._ready.pop(key, None)
        if future is None or (future.done() and future.exception()):
            future = self._reader.submit(self._read, rows)
        self._ready[key] = future
        # What each reads ahead, even if no two are at the same place, and as much behind.
        while len(self._ready) > AHEAD * (len(self.feeds) + 1):
            self._ready.popitem(last=False)
        return future

    def _read(self, rows: np.ndarray) -> Tensor:
        self.reads += 1
        # Rows in the file's order are read faster; the batch keeps the order asked for.
        ascending = np.argsort(rows, kind="stable")
        shape = (len(rows), *self._images.shape[1:])
        batch = torch.empty(shape, dtype=torch.uint8, pin_memory=self._pinned)
        batch.numpy()[ascending] = self._images[rows[ascending]]
        return batch


class StreamedFeed:
    """The images of one step at a time, copied into a buffer that a CUDA graph can read.

    The copy is made on the run's own stream, after the step before and before the next. Each run
    copies for itself: device memory that several streams share could be taken for another batch
    while a step that the device has yet to do still reads it.
    """

    def __init__(self, stream: BatchStream, batch: int, device: torch.device) -> None:
        side = stream.side
        self._stream = stream
        self._buffer = torch.zeros(batch, side, side, 3, dtype=torch.uint8, device=device)
        self._places = torch.arange(batch, device=device)
        self._rows: list[np.ndarray] = []
        stream.feeds.add(self)

    def begin(self, rows: Tensor) -> None:
        self._rows = list(rows.numpy())

    def advance(self, step: int) -> None:
        self._buffer.copy_(self._stream.get(self._rows, step), non_blocking=True)

    def batch(self, step: Tensor) -> tuple[Tensor, Tensor]:
        return self._buffer, self._places


class DeviceImages:
    """The images of packed datasets on a device: loaded once, shared by all runs of a process.

    On a CPU these are the memory-mapped files, whose pages all processes of a machine share; on a
    GPU copies of whole splits where they fit. Otherwise, and on a CPU for images that are decoded
    as they are read, they are streams of batches.
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
