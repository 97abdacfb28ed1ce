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

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from anynet_study.data.encoded import CONTENT_BYTES, Decoder, Encoded
from anynet_study.data.images import UnreadableImageError
from anynet_study.errors import WorkFailedError

#: Decoded bytes of one block, the unit of work of a process.
BLOCK_BYTES = 4 << 20
#: Starting a process pays from about this many images on.
IMAGES_PER_WORKER = 1000


@dataclass(frozen=True)
class Block:
    """Some images in order, decoded."""

    #: (n, size, size, 3) uint8, the readable ones.
    images: NDArray[np.uint8]
    #: (n, 2, 3) int64: per image and channel the sum and the sum of squares of its bytes.
    moments: NDArray[np.int64]
    #: (n,) uint64: a hash of each image's bytes.
    digests: NDArray[np.uint64]
    #: (n, 16) uint8: a hash of what each was made from, such as the bytes of its file.
    contents: NDArray[np.uint8]
    #: Position in the block and reason of each unreadable image.
    broken: dict[int, str]


def decode_block(images: Sequence[Encoded], size: int) -> Block:
    """Decode images to `size` x `size` pixels."""
    decoded = np.empty((len(images), size, size, 3), np.uint8)
    broken: dict[int, str] = {}
    contents = []
    decoder = Decoder(size)
    for place, image in enumerate(images):
        try:
            decoded[place - len(broken)], content = decoder.decode(image)
            contents.append(content)
        except (UnreadableImageError, OSError, ValueError) as error:
            broken[place] = str(error)
    decoded = decoded[: len(images) - len(broken)]
    digests = [hashlib.blake2b(image.data, digest_size=8).digest() for image in decoded]
    return Block(
        decoded,
        _moments(decoded),
        np.frombuffer(b"".join(digests), np.uint64),
        np.frombuffer(b"".join(contents), np.uint8).reshape(-1, CONTENT_BYTES),
        broken,
    )


def _moments(images: NDArray[np.uint8]) -> NDArray[np.int64]:
    """(n, 2, 3) sums and sums of squares, by way of histograms: exact, and fast on bytes."""
    counts = [Image.fromarray(image).histogram() for image in images]
    histograms = np.array(counts, np.int64).reshape(len(images), 3, 256)
    values = np.arange(256)
    return np.stack([histograms @ values, histograms @ values**2], axis=1)


#: Yields, in order, how many of the images it is given come next, and what they decode to.
Decode = Callable[[Iterable[Encoded]], Iterator[tuple[int, Block]]]


@contextmanager
def decoder(size: int, images: int, workers: int | None = None) -> Iterator[Decode]:
    """Yield a function that decodes images block by block, in order, on `workers` processes.

    The default is a process for each core, but none for fewer than `IMAGES_PER_WORKER` of the
    `images` to come.
    """
    if workers is None:
        workers = min(cores(), images // IMAGES_PER_WORKER)
    length = max(1, min(256, BLOCK_BYTES // (size * size * 3)))
    if workers <= 1:
        yield lambda encoded: (
            (len(block), decode_block(block, size)) for block in _blocks(encoded, length)
        )
        return
    # Spawned, not forked: a fork of a process with threads can hang.
    pool = ProcessPoolExecutor(workers, multiprocessing.get_context("spawn"), _start_worker)
    try:
        yield lambda encoded: _in_order(
            (
                (len(block), pool.submit(decode_block, block, size))
                for block in _blocks(encoded, length)
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


def _blocks(encoded: Iterable[Encoded], length: int) -> Iterator[Sequence[Encoded]]:
    remaining = iter(encoded)
    while block := list(islice(remaining, length)):
        yield block


def _in_order(
    submitted: Iterable[tuple[int, Future[Block]]], ahead: int
) -> Iterator[tuple[int, Block]]:
    """The results of futures that are submitted as they are drawn, `ahead` at most at a time."""
    waiting: deque[tuple[int, Future[Block]]] = deque()
    remaining = iter(submitted)
    try:
        while True:
            waiting.extend(islice(remaining, ahead - len(waiting)))
            if not waiting:
                return
            count, future = waiting.popleft()
            yield count, future.result()
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
