"""The images of one split as they are written: pixels in one array, or JPEG files in Arrow files.

What was written is for good at the end of a shard, which both writers say when it is `full`.
"""

import io
import os
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
from numpy.lib import format as npy_format
from numpy.typing import NDArray

from anynet_study.data.packed.form import Form
from anynet_study.data.packed.images import SCHEMA, jpeg_file
from anynet_study.data.packed.meta import Split
from anynet_study.data.packing.decoding import Chunk

#: Stored bytes of a shard, at least.
SHARD_BYTES = 256 << 20
#: Bytes of a record batch of JPEG files, at least.
BATCH_BYTES = 8 << 20
#: The header of an array of pixels fills a page of memory.
HEADER_BYTES = 4096


class RawWriter:
    """Appends pixels to `<split>_images.npy`: memory does not depend on its length."""

    def __init__(self, path: Path, form: Form, rows: int = 0) -> None:
        self._form = form
        self._rows = rows
        self._since = 0
        self._file = path.open("r+b" if rows else "wb", buffering=0)
        end = HEADER_BYTES + rows * form.image_bytes
        if rows and self._file.seek(0, os.SEEK_END) < end:
            self._file.close()
            raise ValueError(f"{path}: less than {rows} images")
        self._file.truncate(end)
        self._file.seek(end)

    @property
    def full(self) -> bool:
        """Whether what was appended since the last `end_shard` is enough for a shard."""
        return self._since >= SHARD_BYTES

    def append(self, chunk: Chunk, data: NDArray[np.uint8]) -> None:
        """Append the readable images of `chunk`, whose bytes are `data`."""
        rest = data.data
        while len(rest):  # a write may take less, when a disk is nearly full
            rest = rest[self._file.write(rest) :]
        self._rows += len(chunk.lengths)
        self._since += len(data)

    def end_shard(self) -> Callable[[], None]:
        """End a shard; returns what waits until it would outlive the machine, in any thread."""
        self._since = 0
        os.pwrite(self._file.fileno(), self._header(), 0)
        return lambda: os.fsync(self._file.fileno())

    def _header(self) -> bytes:
        """As NumPy writes it, with more spaces before the end of its line."""
        side = self._form.size
        written = io.BytesIO()
        described = {"descr": "|u1", "fortran_order": False, "shape": (self._rows, side, side, 3)}
        npy_format.write_array_header_1_0(written, described)
        start, text = npy_format.MAGIC_LEN, written.getvalue()[npy_format.MAGIC_LEN + 2 : -1]
        room = HEADER_BYTES - start - 2
        magic = written.getvalue()[:start]
        return magic + room.to_bytes(2, "little") + text.ljust(room - 1) + b"\n"

    def close(self) -> None:
        """Close what is open: the file is whole if the last shard was ended."""
        self._file.close()


class JpegWriter:
    """Writes JPEG files to `<split>_images-00000.arrow` and so on, one Arrow IPC file per shard.

    Its methods are those of `RawWriter`. Each file has one column of bytes. Record batches and
    files end with the chunk of images that makes them long enough: where they end does not depend
    on how often the work was interrupted.
    """

    def __init__(self, folder: Path, split: Split, shards: int = 0) -> None:
        self._folder, self._split = folder, split
        self._number = shards
        kept = [jpeg_file(folder, split, number) for number in range(shards)]
        if not all(path.is_file() for path in kept):
            raise ValueError(f"{folder}: less than {shards} files of {split} images")
        for path in folder.glob(f"{split}_images-*.arrow"):
            if path not in kept:
                path.unlink()
        #: Lengths and bytes of the chunks of the record batch to come.
        self._waiting: list[tuple[NDArray[np.int64], NDArray[np.uint8]]] = []
        self._file: pa.OSFile | None = None
        self._writer: pa.RecordBatchFileWriter | None = None

    @property
    def full(self) -> bool:
        return not self._waiting and self._file is not None and self._file.tell() >= SHARD_BYTES

    def append(self, chunk: Chunk, data: NDArray[np.uint8]) -> None:
        self._waiting.append((chunk.lengths, data.copy()))
        if sum(len(files) for _, files in self._waiting) >= BATCH_BYTES:
            self._write_batch()

    def _write_batch(self) -> None:
        lengths, files = (np.concatenate(parts) for parts in zip(*self._waiting, strict=True))
        self._waiting.clear()
        if self._writer is None:
            self._file = pa.OSFile(str(jpeg_file(self._folder, self._split, self._number)), "wb")
            self._writer = pa.ipc.new_file(self._file, SCHEMA)
        offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)
        buffers = [None, pa.py_buffer(offsets), pa.py_buffer(files)]
        column = pa.Array.from_buffers(pa.binary(), len(lengths), buffers)
        self._writer.write_batch(pa.record_batch([column], schema=SCHEMA))

    def end_shard(self) -> Callable[[], None]:
        if self._waiting:
            self._write_batch()
        if self._writer is None:
            return lambda: None
        self._writer.close()
        self.close()
        path = jpeg_file(self._folder, self._split, self._number)
        self._number += 1

        def sync() -> None:
            with path.open("rb+") as written:
                os.fsync(written.fileno())

        return sync

    def close(self) -> None:
        if self._file is not None:
            self._file.close()
        self._writer = self._file = None


ImageWriter = RawWriter | JpegWriter


def image_writer(
    folder: Path, split: Split, form: Form, rows: int = 0, shards: int = 0
) -> ImageWriter:
    """The writer for `form` that goes on after the first `rows` images, which are in `shards`.

    ValueError or OSError where the files do not hold them; what else they hold is overwritten.
    """
    if form.store == "raw":
        return RawWriter(folder / f"{split}_images.npy", form, rows)
    return JpegWriter(folder, split, shards)
