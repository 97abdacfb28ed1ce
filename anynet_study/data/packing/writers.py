"""The images of one split as they are written: pixels in one array, or JPEG files in Arrow."""

import os
from pathlib import Path

import numpy as np
import pyarrow as pa
from numpy.lib import format as npy_format
from numpy.typing import NDArray

from anynet_study.data.packed.form import Form
from anynet_study.data.packed.images import SCHEMA
from anynet_study.data.packed.meta import Split
from anynet_study.data.packing.decoding import Chunk

#: Bytes of a record batch of JPEG files, at least.
BATCH_BYTES = 8 << 20


class RawWriter:
    """Appends pixels to `<split>_images.npy`: memory does not depend on its length."""

    def __init__(self, folder: Path, split: Split, form: Form) -> None:
        self._side = form.size
        self._rows = 0
        self._file = (folder / f"{split}_images.npy").open("wb")
        self._write_header()

    def _write_header(self) -> None:
        """NumPy leaves room for any number of rows: the header is as long at the end."""
        shape = (self._rows, self._side, self._side, 3)
        described = {"descr": "|u1", "fortran_order": False, "shape": shape}
        npy_format.write_array_header_1_0(self._file, described)

    def append(self, chunk: Chunk) -> None:
        """Append the readable images of `chunk`."""
        self._file.write(chunk.data.data)
        self._rows += len(chunk.lengths)

    def finish(self) -> None:
        """Make the file whole and wait until it is on the disk for good."""
        self._file.seek(0)
        self._write_header()
        self._file.flush()
        os.fsync(self._file.fileno())

    def close(self) -> None:
        """Close the file, finished or not."""
        self._file.close()


class JpegWriter:
    """Writes JPEG files as one column of bytes to an Arrow IPC file, as `RawWriter` does."""

    def __init__(self, folder: Path, split: Split, form: Form) -> None:
        self._path = folder / f"{split}_images-00000.arrow"
        self._file = pa.OSFile(str(self._path), "wb")
        self._writer = pa.ipc.new_file(self._file, SCHEMA)
        #: Lengths and bytes of the chunks of the record batch to come.
        self._waiting: list[tuple[NDArray[np.int64], NDArray[np.uint8]]] = []

    def append(self, chunk: Chunk) -> None:
        self._waiting.append((chunk.lengths, chunk.data))
        if sum(len(files) for _, files in self._waiting) >= BATCH_BYTES:
            self._write_batch()

    def _write_batch(self) -> None:
        lengths, files = (np.concatenate(parts) for parts in zip(*self._waiting, strict=True))
        self._waiting.clear()
        offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)
        buffers = [None, pa.py_buffer(offsets), pa.py_buffer(files)]
        column = pa.Array.from_buffers(pa.binary(), len(lengths), buffers)
        self._writer.write_batch(pa.record_batch([column], schema=SCHEMA))

    def finish(self) -> None:
        if self._waiting:
            self._write_batch()
        self._writer.close()
        self.close()
        with self._path.open("rb+") as written:
            os.fsync(written.fileno())

    def close(self) -> None:
        self._file.close()


def image_writer(folder: Path, split: Split, form: Form) -> RawWriter | JpegWriter:
    """The writer for how `form` stores images."""
    return (RawWriter if form.store == "raw" else JpegWriter)(folder, split, form)
