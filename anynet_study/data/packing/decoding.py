"""Decoding many images on all cores, chunk by chunk in their order, few of them in memory.

Processes decode pixels into memory that is shared with this one: to send them through pipes would
take a third as long as to decode them. JPEG files are short enough to be sent.
"""

import ctypes
import math
import multiprocessing
import os
import signal
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from anynet_study.core.errors import WorkFailedError, keeps_from_reading
from anynet_study.data.packed.form import Form, moments_of
from anynet_study.data.packed.jpeg import stored_jpeg
from anynet_study.data.source.encoded import (
    CONTENT_BYTES,
    Encoded,
    UnreadableImageError,
    members_of,
)
from anynet_study.data.source.images import Decoder

#: Decoded bytes, and images, of one chunk at most: the unit of work of a process.
CHUNK_BYTES, CHUNK_IMAGES = 4 << 20, 256
#: Starting a process pays from about this many images on.
IMAGES_PER_WORKER = 1000
#: Chunks that a process has to do, or has done and that wait for their turn.
AHEAD = 3


@dataclass(frozen=True)
class Chunk:
    """n images in order, of which r are readable."""

    #: n, the unreadable ones included.
    count: int
    #: (bytes,) uint8: the readable ones as they are stored, one after the other.
    data: NDArray[np.uint8]
    #: (r,) int64: bytes of each in `data`.
    lengths: NDArray[np.int64]
    #: (r, 2, 3) int64: per image and channel the sum and the sum of squares of its pixels.
    moments: NDArray[np.int64]
    #: (r, 16) uint8: a hash of what each was made from, such as the bytes of its file.
    contents: NDArray[np.uint8]
    #: Position in the chunk and reason of each unreadable image.
    broken: dict[int, str]


#: Yields the chunks of the images it is given, in order.
Decode = Callable[[Iterable[Encoded]], Iterator[Chunk]]


@contextmanager
def decoder(form: Form, images: int, workers: int | None = None) -> Iterator[Decode]:
    """Yield a function that decodes images on `workers` processes.

    The default is a process for each core, but none for fewer than `IMAGES_PER_WORKER` of the
    `images` to come.
    """
    if workers is None:
        workers = min(len(os.sched_getaffinity(0)), images // IMAGES_PER_WORKER)
    if workers <= 1:
        yield lambda encoded: (decode_chunk(chunk, form) for chunk in _chunks(encoded, form))
        return
    # Spawned, not forked: a fork of a process with threads can hang.
    context = multiprocessing.get_context("spawn")
    places = AHEAD * workers  # one for each chunk that is being decoded, waits, or was yielded
    memory: Any = context.RawArray(ctypes.c_uint8, places * _chunk_images(form) * form.image_bytes)
    shared = np.frombuffer(memory, np.uint8).reshape(places, -1)
    with ProcessPoolExecutor(workers, context, _begin, (memory, places)) as pool:
        try:
            yield partial(_decode_ahead, pool, form, shared)
        finally:
            pool.shutdown(cancel_futures=True)


#: In a decoding process: the shared memory, (places, bytes of a chunk).
_shared: NDArray[np.uint8]


def _begin(memory: Any, places: int) -> None:
    """Ctrl-C is for the parent; where that is killed, its processes end with it."""
    global _shared
    _shared = np.frombuffer(memory, np.uint8).reshape(places, -1)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    assert parent is not None
    parent.join()
    os._exit(1)


def _decode_into(place: int, images: Sequence[Encoded], form: Form) -> Chunk:
    """A chunk; without its pixels, which lie in shared memory."""
    chunk = decode_chunk(images, form, _shared[place])
    return replace(chunk, data=chunk.data[:0]) if form.store == "raw" else chunk


def _decode_ahead(
    pool: ProcessPoolExecutor, form: Form, shared: NDArray[np.uint8], encoded: Iterable[Encoded]
) -> Iterator[Chunk]:
    """Chunks in their order; the pixels of each are there until the next is asked for."""
    remaining = _chunks(encoded, form)
    waiting: deque[tuple[Sequence[Encoded], int, Future[Chunk]]] = deque()
    free = deque(range(len(shared)))
    while True:
        try:
            for images in islice(remaining, len(free)):
                place = free.popleft()
                waiting.append((images, place, pool.submit(_decode_into, place, images, form)))
            if not waiting:
                return
            images, place, decoded = waiting.popleft()
            chunk = decoded.result()
        except BrokenProcessPool as error:
            first = images[0]
            name = "an array" if isinstance(first, np.ndarray) else members_of(first)[0].file
            raise WorkFailedError(
                "a decoding process died, perhaps for want of memory, at one of the images from "
                f"{name} on"
            ) from error
        pixels = shared[place, : chunk.lengths.sum()]
        yield replace(chunk, data=pixels) if form.store == "raw" else chunk
        free.append(place)


def _chunk_images(form: Form) -> int:
    return max(1, min(CHUNK_IMAGES, CHUNK_BYTES // form.image_bytes))


def _chunks(encoded: Iterable[Encoded], form: Form) -> Iterator[Sequence[Encoded]]:
    """The images in chunks; the last may be shorter."""
    remaining = iter(encoded)
    while chunk := list(islice(remaining, _chunk_images(form))):
        yield chunk


def decode_chunk(
    images: Sequence[Encoded], form: Form, memory: NDArray[np.uint8] | None = None
) -> Chunk:
    """Decode images to `form`; their pixels are laid into `memory` (bytes,), if given."""
    decoder = Decoder(form.size, form.resize)
    shape = (len(images), form.size, form.size, 3)
    taken = np.empty(math.prod(shape), np.uint8) if memory is None else memory[: math.prod(shape)]
    pixels = taken.reshape(shape)
    contents: list[bytes] = []
    files: list[bytes] = []
    broken: dict[int, str] = {}
    for place, image in enumerate(images):
        try:
            content, file = _decode(decoder, image, form, pixels[len(contents)])
        except (UnreadableImageError, OSError, ValueError) as error:
            if keeps_from_reading(error):  # the image may be whole
                raise
            broken[place] = str(error)
            continue
        contents.append(content)
        files.append(file)
    pixels = pixels[: len(contents)]
    if form.store == "jpeg":
        data, lengths = np.frombuffer(b"".join(files), np.uint8), [*map(len, files)]
    else:
        data, lengths = pixels.reshape(-1), [form.image_bytes] * len(pixels)
    hashes = np.frombuffer(b"".join(contents), np.uint8).reshape(-1, CONTENT_BYTES)
    moments = moments_of(pixels)
    return Chunk(len(images), data, np.array(lengths, np.int64), moments, hashes, broken)


def _decode(
    decoder: Decoder, image: Encoded, form: Form, pixels: NDArray[np.uint8]
) -> tuple[bytes, bytes]:
    """Fill `pixels` (size, size, 3); the hash of the image's content, and a JPEG file to store.

    Nothing of the image outlives this call: with one kept while the next is decoded, the allocator
    gives memory back and takes fresh pages from the system, image after image.
    """
    decoded = decoder.decode(image)
    stored, file = stored_jpeg(decoded, form) if form.store == "jpeg" else (decoded.image, b"")
    pixels[...] = np.asarray(stored)
    return decoded.content, file
