"""Sources: which splits lie on the device. A budget on a CPU behaves as a GPU's memory does."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
import torch

from anynet_study.data import DatasetView
from anynet_study.data.packed.meta import Split
from anynet_study.training.feeds import DeviceImages, Feed, ResidentFeed, StreamedFeed, as_tensor

CPU = torch.device("cpu")
SPLIT = 10 * 4 * 4 * 3  # bytes of one of the splits below


@dataclass(frozen=True)
class Packed:
    folder: Path


@dataclass(frozen=True)
class View:
    """As much of a view as a source looks at."""

    dataset: Packed

    def images(self, split: Split) -> np.ndarray:
        seed = sum(f"{self.dataset.folder}{split}".encode())
        return np.random.default_rng(seed).integers(0, 256, (10, 4, 4, 3), dtype=np.uint8)


def ask(source: DeviceImages, name: str, split: Split = "train") -> Feed:
    feed = source.feed(View(Packed(Path(name))), split, 2, 5)  # type: ignore[arg-type]
    feed.begin(torch.arange(10).view(2, 5))
    feed.advance(1)
    pixels, rows = feed.batch(torch.tensor([1]))
    assert np.array_equal(pixels[rows], View(Packed(Path(name))).images(split)[5:])
    return feed


def held(source: DeviceImages) -> list[str]:
    return [str(folder) for folder, _ in source._resident]


def test_the_least_recently_used_goes_first() -> None:
    source = DeviceImages(CPU, budget=3 * SPLIT)
    for name in "abcabd":
        assert isinstance(ask(source, name), ResidentFeed)
    assert held(source) == ["a", "b", "d"]
    ask(source, "c")
    assert held(source) == ["b", "d", "c"]


def test_what_is_in_use_stays_and_the_next_is_streamed() -> None:
    """Two splits of which one does not fit beside the other must not take turns in memory."""
    source = DeviceImages(CPU, budget=SPLIT)
    training = ask(source, "a")
    assert isinstance(ask(source, "a", "test"), StreamedFeed)
    companion = ask(source, "a")
    assert isinstance(companion, ResidentFeed)
    assert companion.batch(torch.tensor([0]))[0] is training.batch(torch.tensor([0]))[0]
    assert isinstance(ask(source, "b"), StreamedFeed)
    del training, companion
    assert isinstance(ask(source, "b"), ResidentFeed)
    assert held(source) == ["b"]


def test_what_never_fits_is_streamed_by_one_stream() -> None:
    source = DeviceImages(CPU, budget=SPLIT - 1)
    first, second = ask(source, "a"), ask(source, "a")
    assert isinstance(first, StreamedFeed)
    assert isinstance(second, StreamedFeed)
    assert first._stream is second._stream
    assert first._stream.reads == 1  # the second found what the first had read
    assert held(source) == []


def test_released_it_loads_again() -> None:
    source = DeviceImages(CPU, budget=SPLIT)
    ask(source, "a")
    source.release()
    assert held(source) == []
    assert isinstance(ask(source, "a"), ResidentFeed)


def test_a_cpu_reads_the_file_where_it_is(view: DatasetView) -> None:
    mapped = view.images("train")
    assert as_tensor(mapped).data_ptr() == mapped.ctypes.data
    source = DeviceImages(CPU)
    assert isinstance(source.feed(view, "train", 1, 4), ResidentFeed)
    assert held(source) == []
    assert isinstance(DeviceImages(CPU).feed(view, "train", 1, 4, resident=False), StreamedFeed)


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")
def test_a_gpu_holds_what_a_share_of_its_memory_can(view: DatasetView) -> None:
    source = DeviceImages(torch.device("cuda"))
    feed = source.feed(view, "train", 1, 4)
    assert isinstance(feed, ResidentFeed)
    assert feed.batch(torch.zeros(1, dtype=torch.int64, device="cuda"))[0].is_cuda
