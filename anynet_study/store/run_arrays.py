"""The arrays of records (curves, specifications, predictions), on disk while a store is built.

Whatever a record comes from, a journal, an imported table or another store, its arrays are added
here in the order of the table of records, and read again in the order of the store.
"""

import mmap
import os
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Self

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from anynet_study.files import naming
from anynet_study.metrics import CURVES
from anynet_study.store.records import ARRAYS, lengths_of

Rows = NDArray[np.int64]
#: The type of every array's elements.
ELEMENTS: Mapping[str, np.dtype[Any]] = {
    **dict.fromkeys(CURVES, np.dtype(np.float32)),
    "spec": np.dtype(np.uint8),
    "predictions": np.dtype(np.uint16),
}


class RunArrays:
    """Arrays of records by row: added once, end to end, then read in any order.

    They lie in a temporary file without a name, so that memory is bounded and a kill leaves
    nothing. An OSError, as for a full disk, names `published`, what is being built.
    """

    def __init__(self, published: Path) -> None:
        self._published = published
        self._resources = ExitStack()
        try:
            file = tempfile.TemporaryFile(dir=published.parent, buffering=1 << 20)  # noqa: SIM115
        except OSError as error:
            raise OSError(error.errno, error.strerror, str(published)) from error
        self._file = self._resources.enter_context(file)
        self._written = 0
        self._starts: dict[str, list[Rows]] = {name: [] for name in ARRAYS}
        self._lengths: dict[str, list[Rows]] = {name: [] for name in ARRAYS}
        self._places: dict[str, tuple[Rows, Rows]] = {}
        self._map: mmap.mmap | None = None

    def append(self, values: Mapping[str, tuple[NDArray[Any], Rows]], count: int) -> None:
        """Add the arrays of the next `count` records.

        `values` has for some of ARRAYS the elements of all these records, end to end, and how
        many each record has; of the others they have none.
        """
        for name in ARRAYS:
            elements, lengths = values.get(name, (np.empty(0), np.zeros(count, np.int64)))
            data = np.ascontiguousarray(elements, ELEMENTS[name])
            ends = np.cumsum(lengths) * data.itemsize
            self._starts[name].append(self._written + ends - lengths * data.itemsize)
            self._lengths[name].append(lengths)
            with naming(self._published):
                self._file.write(data.data)
            self._written += data.nbytes

    def append_rows(self, batch: pa.RecordBatch) -> None:
        """Add the arrays of the records in a batch of a journal's schema."""
        values = {}
        for name in ARRAYS:
            if name in batch.schema.names:
                column = batch[name]
                elements = _bytes_of(column) if name == "spec" else column.flatten().to_numpy()
                values[name] = elements, lengths_of(column)
        self.append(values, len(batch))

    def lengths(self, name: str, rows: Rows) -> Rows:
        """How many elements of an array each of these records has."""
        self._finish()
        return self._places[name][1][rows]

    def read(self, name: str, rows: Rows) -> NDArray[Any]:
        """The elements of an array of these records, end to end."""
        data = self._finish()
        starts, lengths = (column[rows] for column in self._places[name])
        ends = starts + lengths * ELEMENTS[name].itemsize
        parts = [data[a:b] for a, b in zip(starts.tolist(), ends.tolist(), strict=True) if b > a]
        return np.frombuffer(b"".join(parts), ELEMENTS[name])

    def forget(self) -> None:
        """Give back the memory that holds what was read; it can be read again."""
        if self._map is not None:
            self._map.madvise(mmap.MADV_DONTNEED)

    def _finish(self) -> mmap.mmap | bytes:
        if not self._places:
            with naming(self._published):
                self._file.flush()
            self._places = {
                name: (_joined(self._starts[name]), _joined(self._lengths[name])) for name in ARRAYS
            }
            if os.fstat(self._file.fileno()).st_size:
                self._map = self._resources.enter_context(
                    mmap.mmap(self._file.fileno(), 0, access=mmap.ACCESS_READ)
                )
        return self._map or b""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._resources.close()


def _joined(parts: Sequence[Rows]) -> Rows:
    return np.concatenate([np.empty(0, np.int64), *parts])


def _bytes_of(texts: pa.StringArray) -> NDArray[np.uint8]:
    """The bytes of texts, end to end."""
    _, offsets, data = texts.buffers()
    ends = np.frombuffer(offsets, np.int32)[texts.offset : texts.offset + len(texts) + 1]
    content = np.frombuffer(data, np.uint8) if data is not None else np.empty(0, np.uint8)
    return content[ends[0] : ends[-1]]
