"""Decoding many images on all cores, in order, with a bounded number of them in memory.

Processes write what they decode into memory that is shared with this one: the images are never
sent. Nothing is left of it when the processes are killed.
"""

import ctypes
import multiprocessing
import os
import signal
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from itertools import islice
from multiprocessing.connection import Connection, wait
from typing import Any

import numpy as np
from numpy.typing import NDArray

from anynet_study.data.packed.form import Form
from anynet_study.data.packing.decoding import Block, block_bytes, decode_block, images_of_a_block
from anynet_study.data.source.images import Encoded, members_of
from anynet_study.errors import WorkFailedError

#: Starting a process pays from about this many images on.
IMAGES_PER_WORKER = 1000
#: Blocks that a process has to do, or has done and that wait for their turn.
AHEAD = 3

#: Yields the blocks of the images it is given, in order, and the bytes of each until the next.
Decode = Callable[[Iterable[Encoded]], Iterator[tuple[Block, NDArray[np.uint8]]]]


@contextmanager
def decoder(form: Form, images: int, workers: int | None = None) -> Iterator[Decode]:
    """Yield a function that decodes images block by block, in order, on `workers` processes.

    The default is a process for each core, but none for fewer than `IMAGES_PER_WORKER` of the
    `images` to come.
    """
    if workers is None:
        workers = min(cores(), images // IMAGES_PER_WORKER)
    if workers <= 1:
        yield lambda encoded: _decode_here(encoded, form)
        return
    with ExitStack() as stack:
        pool = _Pool(form, workers, stack)
        yield pool.decode


def cores() -> int:
    """The cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def blocks_of(encoded: Iterable[Encoded], form: Form) -> Iterator[Sequence[Encoded]]:
    """The images in blocks; the last may be shorter."""
    remaining = iter(encoded)
    while block := list(islice(remaining, images_of_a_block(form))):
        yield block


def _decode_here(
    encoded: Iterable[Encoded], form: Form
) -> Iterator[tuple[Block, NDArray[np.uint8]]]:
    out = np.empty(block_bytes(form), np.uint8)
    for images in blocks_of(encoded, form):
        block = decode_block(images, form, out)
        yield block, out[: block.size]


class _Pool:
    """Processes, each with a pipe, and places in shared memory, each for a block."""

    def __init__(self, form: Form, workers: int, stack: ExitStack) -> None:
        # Spawned, not forked: a fork of a process with threads can hang.
        context = multiprocessing.get_context("spawn")
        self._form = form
        self._places = AHEAD * workers
        shared: Any = context.RawArray(ctypes.c_uint8, self._places * block_bytes(form))
        self._shared = np.frombuffer(shared, np.uint8).reshape(self._places, -1)
        self._pipes: list[Connection] = []
        for _ in range(workers):
            ours, theirs = context.Pipe()
            process = context.Process(
                target=_work, args=(theirs, shared, self._places, form), daemon=True
            )
            process.start()
            theirs.close()
            stack.callback(process.join)
            stack.callback(process.terminate)
            stack.callback(ours.close)
            self._pipes.append(ours)

    def decode(self, encoded: Iterable[Encoded]) -> Iterator[tuple[Block, NDArray[np.uint8]]]:
        """See `Decode`. An image that ends a process ends the work: its block is named."""
        free = list(range(self._places))
        #: Places in the order of the blocks; by place what was decoded there.
        order: deque[int] = deque()
        done: dict[int, Block] = {}
        busy: list[dict[int, str]] = [{} for _ in self._pipes]
        remaining = blocks_of(encoded, self._form)
        while True:
            while free and (images := next(remaining, None)) is not None:
                place = free.pop()
                order.append(place)
                worker = min(range(len(busy)), key=lambda number: len(busy[number]))
                busy[worker][place] = _first_file(images)
                self._send(worker, (place, images), busy)
            if not order:
                return
            place = order.popleft()
            while place not in done:
                self._receive(done, busy)
            block = done.pop(place)
            yield block, self._shared[place, : block.size]
            free.append(place)

    def _send(self, worker: int, task: Any, busy: list[dict[int, str]]) -> None:
        try:
            self._pipes[worker].send(task)
        except OSError as error:
            raise _died(busy[worker]) from error

    def _receive(self, done: dict[int, Block], busy: list[dict[int, str]]) -> None:
        ready = wait([pipe for pipe, blocks in zip(self._pipes, busy, strict=True) if blocks])
        for pipe in ready:
            assert isinstance(pipe, Connection)
            worker = self._pipes.index(pipe)
            try:
                place, block = pipe.recv()
            except (EOFError, OSError) as error:
                raise _died(busy[worker]) from error
            del busy[worker][place]
            done[place] = block


def _first_file(images: Sequence[Encoded]) -> str:
    first = images[0]
    return "an array" if isinstance(first, np.ndarray) else members_of(first)[0].file


def _died(busy: dict[int, str]) -> WorkFailedError:
    block = next(iter(busy.values()), "")
    return WorkFailedError(
        "a decoding process died, perhaps for want of memory, at one of the images from "
        f"{block} on; run the same command again, which goes on where this ended"
    )


def _work(pipe: Connection, shared: Any, places: int, form: Form) -> None:
    """Decode what comes through the pipe until its other end is closed, if by a kill."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the parent's
    memory = np.frombuffer(shared, np.uint8).reshape(places, -1)
    while True:
        try:
            place, images = pipe.recv()
            pipe.send((place, decode_block(images, form, memory[place])))
        except (EOFError, OSError):
            return
