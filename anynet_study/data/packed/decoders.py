"""Processes that decode JPEG files for a process that trains.

Threads hold Python's lock for a fourth of the time that an image takes them, and take it from the
thread that trains: sixteen threads would do the work of four (`benchmarks/results`).
"""

import ctypes
import math
import multiprocessing
import os
import signal
from collections.abc import Sequence
from contextlib import suppress
from multiprocessing.connection import Connection
from multiprocessing.context import SpawnProcess
from multiprocessing.util import Finalize
from typing import Any

import numpy as np
from numpy.typing import NDArray

from anynet_study.data.packed.images import JpegImages

#: Bytes of pixels that are decoded before they are copied to where they are wanted.
SHARED_BYTES = 64 << 20
#: What a terminal or Slurm sends to all processes of a worker: the worker answers, by saving its
#: runs, and may need images until then.
FOR_WORKER = (signal.SIGINT, signal.SIGTERM, signal.SIGUSR1, signal.SIGUSR2)


class Decoders:
    """A process per core, from the first time that images are read.

    They end with this object and with this process, even if it is killed: each waits for a pipe
    whose other end nobody else has, and the memory that they share has no name. One thread may
    read at a time.
    """

    def __init__(self, images: JpegImages, processes: int | None = None) -> None:
        self._images = images
        self._count = processes or len(os.sched_getaffinity(0))
        #: Each process with the pipe to it.
        self._processes: list[tuple[SpawnProcess, Connection]] = []
        self._shared: NDArray[np.uint8]
        # At the end of this process, before multiprocessing waits for those that it has begun.
        Finalize(self, _end, (self._processes,), exitpriority=10)

    def read(self, rows: NDArray[np.int64], pixels: NDArray[np.uint8]) -> None:
        """Fill `pixels` (len(rows), size, size, 3) with the images at `rows`.

        Raises UserError for a damaged file, as the images do, and MemoryError if a process died,
        as those do that use too much memory; the next call begins with new ones.
        """
        try:
            if not self._processes:
                self._begin()
            order = np.argsort(rows, kind="stable")  # in the order of the files: it is faster
            for start in range(0, len(rows), len(self._shared)):
                places = order[start : start + len(self._shared)]
                self._decode(rows[places])
                pixels[places] = self._shared[: len(places)]
        except BaseException as error:  # an answer may be left in a pipe
            _end(self._processes)
            if isinstance(error, EOFError | ConnectionError):
                raise MemoryError("a decoding process died, perhaps for want of memory") from error
            raise

    def _begin(self) -> None:
        context = multiprocessing.get_context("spawn")  # a fork of a process with threads can hang
        side = self._images.shape[1:]
        shape = (max(1, SHARED_BYTES // math.prod(side)), *side)
        memory: Any = context.RawArray(ctypes.c_uint8, math.prod(shape))
        self._shared = np.frombuffer(memory, np.uint8).reshape(shape)
        for _ in range(self._count):
            own, other = context.Pipe()
            process = context.Process(target=_serve, args=(other, self._images, memory))
            with other:
                process.start()
            self._processes.append((process, own))

    def _decode(self, rows: NDArray[np.int64]) -> None:
        """Decode `rows` to the first places of the shared memory, each process a stretch."""
        edges = np.linspace(0, len(rows), self._count + 1).astype(int).tolist()
        for number, (_, pipe) in enumerate(self._processes):
            start, end = edges[number : number + 2]
            pipe.send((start, rows[start:end].tolist()))
        for error in [pipe.recv() for _, pipe in self._processes]:
            if error is not None:
                raise error


def _end(processes: list[tuple[SpawnProcess, Connection]]) -> None:
    """Close the pipes, upon which the processes leave."""
    for _, pipe in processes:
        pipe.close()
    while processes:
        processes.pop()[0].join()


def _serve(pipe: Connection, images: JpegImages, memory: Any) -> None:
    """Serve the requests of a worker in a decoding process until the pipe is closed."""
    for number in FOR_WORKER:
        signal.signal(number, signal.SIG_IGN)
    shared = np.frombuffer(memory, np.uint8).reshape(-1, *images.shape[1:])
    with suppress(EOFError, ConnectionError):
        while True:
            start, rows = pipe.recv()
            pipe.send(_error_in(images, rows, shared[start:]))


def _error_in(
    images: JpegImages, rows: Sequence[int], places: NDArray[np.uint8]
) -> Exception | None:
    """Decode the images at `rows` to `places`; what that raised, if anything."""
    try:
        for place, row in enumerate(rows):
            places[place] = images[row]
    except Exception as error:
        return error
    return None
