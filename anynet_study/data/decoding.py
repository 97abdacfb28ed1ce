"""Decoding many images on all cores, in order, with a bounded number of them in memory."""

import hashlib
import multiprocessing
import os
import signal
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from anynet_study.data.images import UnreadableImageError, fit, read_image
from anynet_study.data.readers.listing import Example
from anynet_study.errors import WorkFailedError

#: Decoded bytes of one block, the unit of work of a process.
BLOCK_BYTES = 4 << 20
#: Starting a process pays from about this many images on.
IMAGES_PER_WORKER = 1000


@dataclass(frozen=True)
class Block:
    """Some examples in order, decoded."""

    #: (n, size, size, 3) uint8, the readable ones.
    images: NDArray[np.uint8]
    #: (n, 2, 3) int64: per image and channel the sum and the sum of squares of its bytes.
    moments: NDArray[np.int64]
    #: (n,) uint64: a hash of each image's bytes.
    digests: NDArray[np.uint64]
    #: Position in the block and reason of each unreadable example.
    broken: dict[int, str]


def decode_block(examples: Sequence[Example], root: Path, size: int) -> Block:
    """Decode `examples`, whose names are relative to `root`, to `size` x `size` pixels."""
    images = np.empty((len(examples), size, size, 3), np.uint8)
    broken: dict[int, str] = {}
    for place, example in enumerate(examples):
        row = place - len(broken)
        try:
            if example.pixels is None:
                images[row] = read_image(root / example.name, size)
            else:
                images[row] = fit(Image.fromarray(np.ascontiguousarray(example.pixels)), size)
        except UnreadableImageError as error:
            broken[place] = str(error)
    images = images[: len(examples) - len(broken)]
    wide = images.astype(np.uint32)
    sums = [power.sum(axis=(1, 2), dtype=np.int64) for power in (wide, wide * wide)]
    digests = [hashlib.blake2b(image.data, digest_size=8).digest() for image in images]
    return Block(
        images, np.stack(sums, axis=1), np.frombuffer(b"".join(digests), np.uint64), broken
    )


Examples = Sequence[Example]
#: Yields, in order, some of the examples it is given and what they decode to.
Decode = Callable[[Examples], Iterator[tuple[Examples, Block]]]


@contextmanager
def decoder(root: Path, size: int, images: int, workers: int | None = None) -> Iterator[Decode]:
    """Yield a function that decodes examples block by block, in order, on `workers` processes.

    The default is a process for each core, but none for fewer than `IMAGES_PER_WORKER` of the
    `images` to come.
    """
    if workers is None:
        workers = min(cores(), images // IMAGES_PER_WORKER)
    length = max(1, BLOCK_BYTES // (size * size * 3))
    if workers <= 1:
        yield lambda examples: (
            (block, decode_block(block, root, size)) for block in _blocks(examples, length)
        )
        return
    # Spawned, not forked: a fork of a process with threads can hang.
    pool = ProcessPoolExecutor(workers, multiprocessing.get_context("spawn"), _start_worker)
    try:
        yield lambda examples: _in_order(
            (
                (block, pool.submit(decode_block, block, root, size))
                for block in _blocks(examples, length)
            ),
            ahead=3 * workers,
        )
    finally:
        pool.shutdown(cancel_futures=True)


def cores() -> int:
    """The cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _blocks(examples: Examples, length: int) -> Iterator[Examples]:
    return (examples[start : start + length] for start in range(0, len(examples), length))


def _in_order(
    submitted: Iterable[tuple[Examples, Future[Block]]], ahead: int
) -> Iterator[tuple[Examples, Block]]:
    """The results of futures that are submitted as they are drawn, `ahead` at most at a time."""
    waiting: deque[tuple[Examples, Future[Block]]] = deque()
    remaining = iter(submitted)
    try:
        while True:
            waiting.extend(islice(remaining, ahead - len(waiting)))
            if not waiting:
                return
            examples, future = waiting.popleft()
            yield examples, future.result()
    except BrokenProcessPool as error:
        raise WorkFailedError(
            "a decoding process died, perhaps for want of memory; run the same command again"
        ) from error


def _start_worker() -> None:
    """Leave Ctrl-C to the parent, and do not outlive it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = multiprocessing.parent_process()
    assert parent is not None

    def follow() -> None:
        parent.join()
        os._exit(1)

    threading.Thread(target=follow, daemon=True).start()
