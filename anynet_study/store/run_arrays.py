"""The arrays of records (curves, specifications, predictions), on disk while a store is built.

Whatever a record comes from, a journal, an imported table or another store, its arrays are added
here in the order of the table of records, and read again in the order of the store.
"""

import tempfile
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Self

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from anynet_study.core import arrow
from anynet_study.core.files import naming
from anynet_study.core.metrics import CURVES
from anynet_study.store.records import ARRAYS, lengths_of

Rows = NDArray[np.int64]
#: The type of every array's elements.
ELEMENTS: Mapping[str, np.dtype[Any]] = {
    **dict.fromkeys(CURVES, np.dtype(np.float32)),
    "spec": np.dtype(np.uint8),
    "predictions": np.dtype(np.uint16),
}


class RunArrays:
    """The arrays of records: they are added one after the other, then read in any order.

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
        #: Where in the file the elements of each record begin and end.
        self._places = {name: [np.empty((0, 2), np.int64)] for name in ARRAYS}

    def append(self, values: Mapping[str, tuple[NDArray[Any], Rows]], count: int) -> None:
        """Add the arrays of the next `count` records.

        `values` has for some of ARRAYS the elements of all these records, end to end, and how
        many each record has; of the others they have none.
        """
        for name in ARRAYS:
            if name not in values:  # a view, which takes no memory
                self._places[name].append(np.broadcast_to(np.int64(self._written), (count, 2)))
                continue
            elements, lengths = values[name]
            data = np.ascontiguousarray(elements, ELEMENTS[name])
            ends = self._written + np.cumsum(lengths, dtype=np.int64) * data.itemsize
            self._places[name].append(np.stack([ends - lengths * data.itemsize, ends], axis=1))
            with naming(self._published):
                self._file.write(data.data)
            self._written += data.nbytes

    def append_rows(self, batch: pa.RecordBatch) -> None:
        """Add the arrays of the records in a batch of a journal's schema."""
        values = {}
        for name in ARRAYS:
            if name in batch.schema.names:
                column = batch[name]
                elements = _bytes_of(column) if name == "spec" else arrow.to_numpy(column.flatten())
                values[name] = elements, lengths_of(column)
        self.append(values, len(batch))

    def lengths(self, name: str, rows: Rows) -> Rows:
        """Return how many elements of an array each of these records has."""
        begins, ends = self._of(name, rows).T
        return np.asarray((ends - begins) // ELEMENTS[name].itemsize, np.int64)

    def read(self, name: str, rows: Rows) -> NDArray[Any]:
        """The elements of an array of these records, end to end."""
        with naming(self._published):
            self._file.flush()
        # A mapping of its own, as one that stays would fill the memory.
        mapped = np.memmap(self._file, np.uint8, "r") if self._written else np.empty(0, np.uint8)
        data, places = np.asarray(mapped), self._of(name, rows)
        if len(places) and (places[1:, 0] == places[:-1, 1]).all():  # as they were added
            return np.array(data[places[0, 0] : places[-1, 1]]).view(ELEMENTS[name])
        parts = [data[begin:end] for begin, end in places.tolist()]
        return np.concatenate([data[:0], *parts]).view(ELEMENTS[name])

    def _of(self, name: str, rows: Rows) -> NDArray[np.int64]:
        places = np.concatenate(self._places[name])
        self._places[name] = [places]
        return np.asarray(places[rows])

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._resources.close()


def _bytes_of(texts: pa.StringArray) -> NDArray[np.uint8]:
    """The bytes of texts, end to end."""
    _, offsets, data = texts.buffers()
    ends = np.frombuffer(offsets, np.int32)[texts.offset : texts.offset + len(texts) + 1]
    content = np.frombuffer(data, np.uint8) if data is not None else np.empty(0, np.uint8)
    return content[ends[0] : ends[-1]]
