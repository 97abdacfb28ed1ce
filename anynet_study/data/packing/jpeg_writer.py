"""The JPEG files of one split in Arrow IPC files, as they are written.

`<split>_images-00000.arrow` and so on: one column of bytes. Record batches and files end with the
block of images that makes them long enough: where they end does not depend on how often the work
was interrupted.
"""

import os
from pathlib import Path
from typing import Self

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from anynet_study.data.packed.meta import Split
from anynet_study.data.packing.decoding import Block

SHARD_BYTES = 256 << 20
BATCH_BYTES = 8 << 20
SCHEMA = pa.schema([pa.field("image", pa.binary(), nullable=False)])


def shards(folder: Path, split: Split) -> list[Path]:
    """The files of a split, in order."""
    return sorted(folder.glob(f"{split}_images-*.arrow"))


class JpegWriter:
    """Appends to the Arrow files of a split."""

    def __init__(self, folder: Path, split: Split, rows: int = 0) -> None:
        """`rows`: go on after so many that are in whole files. ValueError if they are not."""
        self._folder, self._split = folder, split
        self._next = self._go_on(rows)
        #: Blocks of the record batch to come, and its bytes.
        self._waiting: list[tuple[NDArray[np.int64], NDArray[np.uint8]]] = []
        self._file: pa.OSFile | None = None
        self._writer: pa.RecordBatchFileWriter | None = None

    @property
    def settled(self) -> bool:
        """Whether all that was appended is in files that are whole."""
        return self._writer is None and not self._waiting

    def append(self, block: Block, data: NDArray[np.uint8]) -> None:
        """Append the files of `block`, whose bytes are `data`."""
        self._waiting.append((block.lengths, data.copy()))
        if sum(len(files) for _, files in self._waiting) >= BATCH_BYTES:
            self._write_batch()
            assert self._file is not None
            if self._file.tell() >= SHARD_BYTES:
                self.finish()

    def sync(self) -> None:
        """Nothing to wait for: whole files are synced when they are finished."""

    def _path(self, number: int) -> Path:
        return self._folder / f"{self._split}_images-{number:05d}.arrow"

    def _go_on(self, rows: int) -> int:
        """How many Arrow files hold the first `rows`; what is beyond them is removed."""
        kept = 0
        for path in shards(self._folder, self._split):
            if rows == 0:
                path.unlink()
                continue
            with pa.memory_map(str(path)) as file:
                reader = pa.ipc.open_file(file)
                batches = range(reader.num_record_batches)
                rows -= sum(reader.get_batch(number).num_rows for number in batches)
            kept += 1
            if rows < 0:
                break
        if rows:
            raise ValueError(f"{self._folder}: files end elsewhere than was noted")
        return kept

    def _write_batch(self) -> None:
        lengths, files = (np.concatenate(parts) for parts in zip(*self._waiting, strict=True))
        self._waiting.clear()
        batch = _batch(lengths, files)
        if self._writer is None:
            self._file = pa.OSFile(str(self._path(self._next)), "wb")
            self._writer = pa.ipc.new_file(self._file, SCHEMA)
        self._writer.write_batch(batch)

    def finish(self) -> None:
        """Make what was appended settled."""
        if self._waiting:
            self._write_batch()
        if self._writer is None or self._file is None:
            return
        self._writer.close()
        self._file.close()
        with self._path(self._next).open("rb+") as written:
            os.fsync(written.fileno())
        self._writer = self._file = None
        self._next += 1

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is None:
            self.finish()
        elif self._file is not None:
            self._file.close()


def _batch(lengths: NDArray[np.int64], files: NDArray[np.uint8]) -> pa.RecordBatch:
    """A record batch on the memory of `files`, one after the other."""
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)
    buffers = [None, pa.py_buffer(offsets), pa.py_buffer(files)]
    column = pa.Array.from_buffers(pa.binary(), len(lengths), buffers)
    return pa.record_batch([column], schema=SCHEMA)
