"""The feeds from which a step takes images: those of a view in memory, or a stream of batches."""

import hashlib
import math
import warnings
from collections import OrderedDict
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Protocol
from weakref import WeakSet

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from anynet_study.data import DatasetView, Decoders, Images, JpegImages, Part, Split

#: Batches read ahead of the step that needs them.
AHEAD = 4
#: Share of a GPU's free memory that datasets may take; the rest is for the networks.
RESIDENT_SHARE = 0.5
#: Images copied at a time.
CHUNK = 1024
#: Images of a packed dataset: its folder, a split, and a digest of their rows in it.
Key = tuple[Path, Split, str]


class Feed(Protocol):
    """Images by step. `batch` runs on the device only, so that it can be part of a CUDA graph."""

    def begin(self, places: Tensor) -> None:
        """Take an epoch's places (steps, batch) among the images of the part, on the CPU."""

    def advance(self, step: int) -> None:
        """Make the images of 0-based `step` ready, before `batch` is called for it."""

    def batch(self, step: Tensor) -> tuple[Tensor, Tensor]:
        """Images (N, H, W, 3) uint8 and the rows (B,) among them that `step` (1,) trains on."""


class ResidentFeed:
    """All images are on the device, or memory-mapped on the CPU."""

    def __init__(
        self, pixels: Tensor, steps: int, batch: int, index: NDArray[np.int64] | None = None
    ) -> None:
        """`index`: the rows of the images in `pixels`, where these have others, too."""
        self._pixels = pixels
        self._index = None if index is None else torch.from_numpy(index)
        self._rows = torch.zeros(steps, batch, dtype=torch.int64, device=pixels.device)

    def begin(self, places: Tensor) -> None:
        self._rows.copy_(places if self._index is None else self._index[places])

    def advance(self, step: int) -> None:
        pass

    def batch(self, step: Tensor) -> tuple[Tensor, Tensor]:
        return self._pixels, self._rows.index_select(0, step)[0]


class BatchStream:
    """Batches of a split too large for the device, read ahead by a thread into host memory.

    Runs that ask for the same rows in the same order share each batch: it is read once. A run
    that has fallen far behind reads for itself again.
    """

    def __init__(self, images: Images, pinned: bool, decoders: Decoders | None = None) -> None:
        """`pinned`: in memory from which a GPU copies by itself; `decoders`: they read `images`."""
        self.side = images.shape[1]
        #: Batches read so far.
        self.reads = 0
        #: Those that read from it; forgotten when they are gone.
        self.feeds: WeakSet[StreamedFeed] = WeakSet()
        self._images, self._pinned, self._decoders = images, pinned, decoders
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
        shape = (len(rows), *self._images.shape[1:])
        batch = torch.empty(shape, dtype=torch.uint8, pin_memory=self._pinned)
        if self._decoders is not None:
            self._decoders.read(rows, batch.numpy())
            return batch
        # Rows in the file's order are read faster; the batch keeps the order asked for.
        ascending = np.argsort(rows, kind="stable")
        batch.numpy()[ascending] = self._images[rows[ascending]]
        return batch


class StreamedFeed:
    """The images of one step at a time, copied into a buffer that a CUDA graph can read.

    The copy is made on the run's own stream, after the step before and before the next. Each run
    copies for itself: device memory that several streams share could be taken for another batch
    while a step that the device has yet to do still reads it.
    """

    def __init__(
        self, stream: BatchStream, batch: int, device: torch.device, index: NDArray[np.int64]
    ) -> None:
        """`index`: the rows of the images in the split that `stream` reads."""
        side = stream.side
        self._stream, self._index = stream, index
        self._buffer = torch.zeros(batch, side, side, 3, dtype=torch.uint8, device=device)
        self._places = torch.arange(batch, device=device)
        self._rows: list[np.ndarray] = []
        stream.feeds.add(self)

    def begin(self, places: Tensor) -> None:
        self._rows = list(self._index[places.numpy()])

    def advance(self, step: int) -> None:
        self._buffer.copy_(self._stream.get(self._rows, step), non_blocking=True)

    def batch(self, step: Tensor) -> tuple[Tensor, Tensor]:
        return self._buffer, self._places


class DeviceImages:
    """The images of views on a device: loaded once, shared by all runs of a process.

    On a CPU these are the memory-mapped files, whose pages all processes of a machine share; on a
    GPU copies of what the views use, where that fits. Otherwise, and on a CPU for images that are
    decoded as they are read, they are streams of batches.
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
        self._streams: dict[tuple[Path, Split], BatchStream] = {}

    def feed(
        self, view: DatasetView, part: Part, steps: int, batch: int, resident: bool = True
    ) -> Feed:
        """The images of a part of a view, for `steps` steps of `batch` images."""
        split, index, _ = view.part(part)
        folder, images = view.dataset.folder, view.images(split)
        if self._mapped and resident and isinstance(images, np.ndarray):
            return ResidentFeed(as_tensor(images), steps, batch, index)
        if resident and not self._mapped:
            key = folder, split, hashlib.sha256(index.tobytes()).hexdigest()
            pixels = self._copy(key, images, index)
            if pixels is not None:
                feed = ResidentFeed(pixels, steps, batch)
                self._feeds.setdefault(key, WeakSet()).add(feed)
                return feed
        if (folder, split) not in self._streams:
            self._streams[folder, split] = self._stream(images)
        return StreamedFeed(self._streams[folder, split], batch, self.device, index)

    def release(self) -> None:
        """Let go of what no feed uses any more."""
        self._resident.clear()
        self._streams.clear()

    def _stream(self, images: Images) -> BatchStream:
        """One for a GPU is decoded by processes; a CPU's cores train, and need few images."""
        on_gpu = self.device.type == "cuda"
        apart = Decoders(images) if on_gpu and isinstance(images, JpegImages) else None
        return BatchStream(images, on_gpu, apart)

    def _copy(self, key: Key, images: Images, index: NDArray[np.int64]) -> Tensor | None:
        """The images at `index` on the device; None where there is no room for them."""
        pixels = self._resident.pop(key, None)
        if pixels is None:
            shape = (len(index), *images.shape[1:])
            if not self._make_room(math.prod(shape)):
                return None
            pixels = torch.empty(shape, dtype=torch.uint8, device=self.device)
            for start in range(0, len(index), CHUNK):  # they may be decoded as they are read
                pixels[start : start + CHUNK] = as_tensor(images[index[start : start + CHUNK]])
        self._resident[key] = pixels
        return pixels

    def _make_room(self, needed: int) -> bool:
        """Tell whether `needed` bytes are free once the least recently used copies have gone.

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


def as_tensor(images: np.ndarray) -> Tensor:
    """A tensor on the memory of `images`, without a copy; it must not be written to."""
    with warnings.catch_warnings():  # the file is mapped read-only, which torch cannot express
        warnings.simplefilter("ignore", UserWarning)
        return torch.from_numpy(images)
