"""Feeds: a stream gives what a split in memory gives; a device holds what its memory can."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from miniatures import write_miniature
from training_runs import CPU, same, spec

from anynet_study.data import DatasetView, Decoders, JpegImages, Variant, add_dataset, make_view
from anynet_study.engine.training import DeviceImages, train
from anynet_study.engine.training.feeds import (
    AHEAD,
    BatchStream,
    Feed,
    ResidentFeed,
    StreamedFeed,
    as_tensor,
)
from anynet_study.engine.training.options import Engine

BATCH = 6


@pytest.fixture
def images() -> np.ndarray:
    return np.random.default_rng(0).integers(0, 256, (90, 4, 4, 3), dtype=np.uint8)


def orders(seed: int = 0) -> torch.Tensor:
    """An epoch of 15 steps: every image once."""
    generator = torch.Generator().manual_seed(seed)
    return torch.randperm(90, generator=generator).view(-1, BATCH)


def begun(stream: BatchStream, *seeds: int) -> list[StreamedFeed]:
    """Feeds of one stream, each in the order of its seed."""
    feeds = [StreamedFeed(stream, BATCH, CPU, np.arange(90)) for _ in seeds]
    for seed, feed in zip(seeds, feeds, strict=True):
        feed.begin(orders(seed))
    return feeds


def images_of(feed: Feed, step: int) -> torch.Tensor:
    feed.advance(step)
    pixels, rows = feed.batch(torch.tensor([step]))
    return pixels[rows].clone()


@pytest.mark.parametrize(("seeds", "reads"), [((0, 0, 0, 0), 15), ((0, 1, 2, 3), 4 * 15)])
def test_each_batch_is_read_once_for_all_that_train_on_it(
    images: np.ndarray, seeds: tuple[int, ...], reads: int
) -> None:
    stream = BatchStream(images, False)
    feeds = begun(stream, *seeds)
    for step in range(15):
        for seed, feed in zip(seeds, feeds, strict=True):
            assert np.array_equal(images_of(feed, step), images[orders(seed)[step]])
    assert stream.reads == reads


@settings(max_examples=25, deadline=None)
@given(st.lists(st.integers(0, 2), min_size=45, max_size=60), st.integers(0, 14))
def test_whoever_lags_gets_the_right_batch_and_memory_is_bounded(
    turns: list[int], resumed_at: int
) -> None:
    images = np.random.default_rng(0).integers(0, 256, (90, 4, 4, 3), dtype=np.uint8)
    stream = BatchStream(images, False)
    feeds = begun(stream, 0, 0, 0)
    steps = [0, 0, resumed_at]
    for turn in turns:
        step = steps[turn] % 15
        assert np.array_equal(images_of(feeds[turn], step), images[orders()[step]])
        steps[turn] += 1
        assert len(stream._ready) <= AHEAD * 4


def test_a_reading_that_failed_is_tried_again(images: np.ndarray) -> None:
    class Disk:
        shape = images.shape
        broken = True

        def __getitem__(self, rows: np.ndarray) -> np.ndarray:
            if self.broken:
                raise MemoryError("for the moment")
            return images[rows]

    disk = Disk()
    (feed,) = begun(BatchStream(disk, False), 0)  # type: ignore[arg-type]
    with pytest.raises(MemoryError, match="for the moment"):
        feed.advance(0)
    disk.broken = False
    assert np.array_equal(images_of(feed, 0), images[orders()[0]])


# Which splits lie on a device: a budget on a CPU behaves as a GPU's memory does.

SPLIT = 10 * 4 * 4 * 3  # bytes of one of the splits below


@dataclass(frozen=True)
class Packed:
    folder: Path


@dataclass(frozen=True)
class View:
    """As much of a view as device images look at: the last `size` of ten images."""

    dataset: Packed
    size: int = 10

    def part(self, part: str) -> tuple[str, np.ndarray, None]:
        return part, np.arange(10 - self.size, 10), None

    def images(self, split: str) -> np.ndarray:
        seed = sum(f"{self.dataset.folder}{split}".encode())
        return np.random.default_rng(seed).integers(0, 256, (10, 4, 4, 3), dtype=np.uint8)


def ask(there: DeviceImages, name: str, split: str = "train", size: int = 10) -> Feed:
    view = View(Packed(Path(name)), size)
    feed = there.feed(view, split, 2, size // 2)  # type: ignore[arg-type]
    feed.begin(torch.arange(size).view(2, -1))
    assert np.array_equal(images_of(feed, 1), view.images(split)[-(size // 2) :])
    return feed


def held(there: DeviceImages) -> list[str]:
    return [str(folder) for folder, _, _ in there._resident]


def test_the_least_recently_used_goes_first() -> None:
    there = DeviceImages(CPU, budget=3 * SPLIT)
    for name in "abcabd":
        assert isinstance(ask(there, name), ResidentFeed)
    assert held(there) == ["a", "b", "d"]
    ask(there, "c")
    assert held(there) == ["b", "d", "c"]
    there.release()
    assert held(there) == []
    assert isinstance(ask(there, "a"), ResidentFeed)


def test_what_is_in_use_stays_and_the_next_is_streamed() -> None:
    """Two splits of which one does not fit beside the other must not take turns in memory."""
    there = DeviceImages(CPU, budget=SPLIT)
    training = ask(there, "a")
    assert isinstance(ask(there, "a", "test"), StreamedFeed)
    companion = ask(there, "a")
    assert isinstance(companion, ResidentFeed)
    assert companion.batch(torch.tensor([0]))[0] is training.batch(torch.tensor([0]))[0]
    assert isinstance(ask(there, "b"), StreamedFeed)
    del training, companion
    assert isinstance(ask(there, "b"), ResidentFeed)
    assert held(there) == ["b"]


def test_of_a_large_split_what_a_view_uses_is_copied() -> None:
    there = DeviceImages(CPU, budget=SPLIT // 2)
    whole, half = ask(there, "a"), ask(there, "a", size=4)
    assert isinstance(whole, StreamedFeed)
    assert isinstance(half, ResidentFeed)
    pixels = half.batch(torch.tensor([0]))[0]
    assert len(pixels) == 4
    assert ask(there, "a", size=4).batch(torch.tensor([0]))[0] is pixels
    assert isinstance(ask(there, "a", size=2), StreamedFeed)  # another copy has no room beside it


def test_what_never_fits_is_streamed_by_one_stream() -> None:
    there = DeviceImages(CPU, budget=SPLIT - 1)
    first, second = ask(there, "a"), ask(there, "a")
    assert isinstance(first, StreamedFeed)
    assert isinstance(second, StreamedFeed)
    assert first._stream is second._stream
    assert first._stream.reads == 1  # the second found what the first had read
    assert held(there) == []


def test_a_cpu_reads_the_file_where_it_is(view: DatasetView) -> None:
    mapped = view.images("train")
    assert as_tensor(mapped).data_ptr() == mapped.ctypes.data
    there = DeviceImages(CPU)
    assert isinstance(there.feed(view, "train", 1, 4), ResidentFeed)
    assert held(there) == []
    assert isinstance(DeviceImages(CPU).feed(view, "train", 1, 4, resident=False), StreamedFeed)


@pytest.mark.parametrize("engine", ["fast", pytest.param("reference", marks=pytest.mark.slow)])
def test_images_that_are_decoded_as_they_are_read_give_the_same_run(
    data_home: Path, tmp_path: Path, engine: Engine
) -> None:
    source = write_miniature("natural", tmp_path)
    datasets = (add_dataset(store, source, size=24, store=store) for store in ("raw", "jpeg"))
    raw, jpeg = (make_view(dataset, Variant(base=dataset.name)) for dataset in datasets)
    run = spec(raw, epochs=2, batch_size=16)
    assert same(train(run, jpeg, CPU, engine=engine), train(run, raw, CPU, engine=engine))
    for there, kind in (
        (DeviceImages(CPU), StreamedFeed),
        (DeviceImages(CPU, 1 << 30), ResidentFeed),  # decoded once where they fit
    ):
        feed = there.feed(jpeg, "train", 1, 10)
        assert isinstance(feed, kind)
        feed.begin(torch.arange(10)[None])
        assert np.array_equal(images_of(feed, 0), raw.images("train")[:10])
    images = jpeg.images("train")
    assert isinstance(images, JpegImages)
    decoded_apart = BatchStream(images, False, Decoders(images, 2))
    batch = decoded_apart.get([np.arange(10)[::-1]], 0)
    assert np.array_equal(batch, raw.images("train")[9::-1])
    streams = [DeviceImages(torch.device(kind))._stream(images) for kind in ("cpu", "cuda")]
    assert [stream._decoders is not None for stream in streams] == [False, True]
