"""Decoding many images on all cores, in order, with a bounded number of them in memory.

Processes write what they decode into memory that is shared with this one: the images are never
sent. Nothing is left of it when the processes are killed.
"""

import ctypes
import multiprocessing
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
from anynet_study.data.packing.decoding import Chunk, chunk_bytes, decode_chunk, images_of_a_chunk
from anynet_study.data.source.images import Encoded, cores, members_of
from anynet_study.errors import WorkFailedError

#: Starting a process pays from about this many images on.
IMAGES_PER_WORKER = 1000
#: Chunks that a process has to do, or has done and that wait for their turn.
AHEAD = 3

#: Yields the chunks of the images it is given, in order, and the bytes of each until the next.
Decode = Callable[[Iterable[Encoded]], Iterator[tuple[Chunk, NDArray[np.uint8]]]]


@contextmanager
def decoder(form: Form, images: int, workers: int | None = None) -> Iterator[Decode]:
    """Yield a function that decodes images chunk by chunk, in order, on `workers` processes.

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


def chunks_of(encoded: Iterable[Encoded], form: Form) -> Iterator[Sequence[Encoded]]:
    """The images in chunks; the last may be shorter."""
    remaining = iter(encoded)
    while chunk := list(islice(remaining, images_of_a_chunk(form))):
        yield chunk


def _decode_here(
    encoded: Iterable[Encoded], form: Form
) -> Iterator[tuple[Chunk, NDArray[np.uint8]]]:
    out = np.empty(chunk_bytes(form), np.uint8)
    for images in chunks_of(encoded, form):
        chunk = decode_chunk(images, form, out)
        yield chunk, out[: chunk.size]


class _Pool:
    """Processes, each with a pipe, and places in shared memory, each for a chunk."""

    def __init__(self, form: Form, workers: int, stack: ExitStack) -> None:
        # Spawned, not forked: a fork of a process with threads can hang.
        context = multiprocessing.get_context("spawn")
        self._form = form
        self._places = AHEAD * workers
        shared: Any = context.RawArray(ctypes.c_uint8, self._places * chunk_bytes(form))
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

    def decode(self, encoded: Iterable[Encoded]) -> Iterator[tuple[Chunk, NDArray[np.uint8]]]:
        """See `Decode`. An image that ends a process ends the work: its chunk is named."""
        free = list(range(self._places))
        #: Places in the order of the chunks; by place what was decoded there.
        order: deque[int] = deque()
        done: dict[int, Chunk] = {}
        busy: list[dict[int, str]] = [{} for _ in self._pipes]
        remaining = chunks_of(encoded, self._form)
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
            chunk = done.pop(place)
            yield chunk, self._shared[place, : chunk.size]
            free.append(place)

    def _send(self, worker: int, task: Any, busy: list[dict[int, str]]) -> None:
        try:
            self._pipes[worker].send(task)
        except OSError as error:
            raise _died(busy[worker]) from error

    def _receive(self, done: dict[int, Chunk], busy: list[dict[int, str]]) -> None:
        ready = wait([pipe for pipe, chunks in zip(self._pipes, busy, strict=True) if chunks])
        for pipe in ready:
            assert isinstance(pipe, Connection)
            worker = self._pipes.index(pipe)
            try:
                place, chunk = pipe.recv()
            except (EOFError, OSError) as error:
                raise _died(busy[worker]) from error
            del busy[worker][place]
            done[place] = chunk


def _first_file(images: Sequence[Encoded]) -> str:
    first = images[0]
    return "an array" if isinstance(first, np.ndarray) else members_of(first)[0].file


def _died(busy: dict[int, str]) -> WorkFailedError:
    chunk = next(iter(busy.values()), "")
    return WorkFailedError(
        "a decoding process died, perhaps for want of memory, at one of the images from "
        f"{chunk} on; run the same command again, which goes on where this ended"
    )


def _work(pipe: Connection, shared: Any, places: int, form: Form) -> None:
    """Decode what comes through the pipe until its other end is closed, if by a kill."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the parent's
    memory = np.frombuffer(shared, np.uint8).reshape(places, -1)
    while True:
        try:
            place, images = pipe.recv()
            pipe.send((place, decode_chunk(images, form, memory[place])))
        except (EOFError, OSError):
            return
