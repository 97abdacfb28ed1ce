"""Feeds: a stream gives what a split in memory gives, reads once for all, and little ahead."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from anynet_study.training.feeds import (
    AHEAD,
    BatchStream,
    Feed,
    ResidentFeed,
    StreamedFeed,
    as_tensor,
)

CPU = torch.device("cpu")
BATCH = 6


@pytest.fixture
def images() -> np.ndarray:
    return np.random.default_rng(0).integers(0, 256, (90, 4, 4, 3), dtype=np.uint8)


def orders(seed: int = 0) -> torch.Tensor:
    """An epoch of 15 steps: every image once."""
    generator = torch.Generator().manual_seed(seed)
    return torch.randperm(90, generator=generator).view(-1, BATCH)


def streamed(stream: BatchStream) -> StreamedFeed:
    return StreamedFeed(stream, BATCH, CPU)


def images_of(feed: Feed, step: int) -> torch.Tensor:
    feed.advance(step)
    pixels, rows = feed.batch(torch.tensor([step]))
    return pixels[rows].clone()


def test_streamed_is_resident_bit_for_bit(images: np.ndarray) -> None:
    feeds = [ResidentFeed(as_tensor(images), 15, BATCH), streamed(BatchStream(images, False))]
    for seed in (0, 1):
        for feed in feeds:
            feed.begin(orders(seed))
        for step in range(15):
            resident, stream = (images_of(feed, step) for feed in feeds)
            assert torch.equal(resident, stream)
            assert np.array_equal(resident, images[orders(seed)[step]])


def test_in_lock_step_each_batch_is_read_once_however_many_train_on_it(images: np.ndarray) -> None:
    stream = BatchStream(images, False)
    feeds = [streamed(stream) for _ in range(4)]
    for feed in feeds:
        feed.begin(orders())
    for step in range(15):
        for feed in feeds:
            assert np.array_equal(images_of(feed, step), images[orders()[step]])
    assert stream.reads == 15


def test_in_orders_of_their_own_each_reads_its_batches_once(images: np.ndarray) -> None:
    stream = BatchStream(images, False)
    feeds = [streamed(stream) for _ in range(5)]
    for seed, feed in enumerate(feeds):
        feed.begin(orders(seed))
    for step in range(15):
        for seed, feed in enumerate(feeds):
            assert np.array_equal(images_of(feed, step), images[orders(seed)[step]])
    assert stream.reads == 5 * 15


@settings(max_examples=25, deadline=None)
@given(st.lists(st.integers(0, 2), min_size=45, max_size=60), st.integers(0, 14))
def test_whoever_lags_gets_the_right_batch_and_memory_is_bounded(
    turns: list[int], resumed_at: int
) -> None:
    images = np.random.default_rng(0).integers(0, 256, (90, 4, 4, 3), dtype=np.uint8)
    stream = BatchStream(images, False)
    feeds = [streamed(stream) for _ in range(3)]
    steps = [0, 0, resumed_at]
    for feed in feeds:
        feed.begin(orders())
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
    feed = streamed(BatchStream(disk, False))  # type: ignore[arg-type]
    feed.begin(orders())
    with pytest.raises(MemoryError, match="for the moment"):
        feed.advance(0)
    disk.broken = False
    assert np.array_equal(images_of(feed, 0), images[orders()[0]])
