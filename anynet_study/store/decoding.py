"""The columns of many frames at once."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from anynet_study.store.kind import RecordKind
from anynet_study.store.skeleton import Skeleton, skeletons
from anynet_study.store.writing import offsets_of


class OddFrameError(Exception):
    """A frame that is not laid out as usual; Arrow may be able to read it, or not."""


class Columns:
    """The columns of whole frames, each of one row.

    Of older ones, later columns are as `RecordKind.completed` has them.
    """

    def __init__(self, kind: RecordKind[Any], messages: Sequence[bytes]) -> None:
        """Raises OddFrameError unless every frame is as one version of this package writes it."""
        shape = next((s for s in skeletons(kind) if all(map(s.fits, messages))), None)
        if shape is None:
            raise OddFrameError
        self._schema = kind.schema
        self._there = set(shape.schema.names)
        #: Whose elements later lists have as many of.
        self._first_list = next(f.name for f in shape.schema if pa.types.is_list(f.type))
        self._data = memoryview(b"".join(messages))
        sizes = np.array([len(message) for message in messages], np.int64)
        self._body = np.cumsum(sizes) - sizes + shape.metadata_end
        nulls = shape.table(messages, shape.nodes)[:, :, 1]
        buffers = shape.table(messages, shape.buffers)
        ends = buffers.sum(axis=2)[..., None]
        most = (sizes - shape.metadata_end)[:, None, None]
        # Bodies and buffers begin at multiples of 8, so that offsets and numbers are whole words.
        if nulls.any() or (sizes % 8).any() or (buffers[:, :, 0] % 8).any():
            raise OddFrameError
        if (buffers < 0).any() or (ends > most).any():
            raise OddFrameError
        self._words = np.frombuffer(self._data, np.int64)
        self._bytes = np.frombuffer(self._data, np.uint8)
        #: Of every column: where each row's value begins in `data`, and its length in bytes.
        self._places = self._located(shape, buffers)
        self._texts: dict[str, pa.StringArray] = {}

    def __len__(self) -> int:
        return len(self._body)

    def numbers(self, name: str) -> NDArray[Any]:
        """The values of a column of numbers."""
        kind = np.dtype(self._schema.field(name).type.to_pandas_dtype())
        if name not in self._there:
            return np.full(len(self), np.nan, kind)
        starts, _ = self._places[name]
        values: NDArray[Any] = self._words[starts // 8].view(kind)
        return values.reshape(len(self), 8 // kind.itemsize)[:, 0]

    def lengths(self, name: str) -> NDArray[np.int64]:
        """Bytes of each text, or elements of each list, of a column."""
        if name not in self._there and pa.types.is_list(self._schema.field(name).type):
            name = self._first_list
        return self._places[name][1] // self._item(name).itemsize

    def values(self, name: str) -> NDArray[Any]:
        """The bytes of a column of texts, or the elements of one of lists, end to end."""
        if name not in self._there and pa.types.is_list(self._schema.field(name).type):
            return np.full(self.lengths(name).sum(), np.nan, self._item(name))
        starts, sizes = self._places[name]
        if sizes.size and sizes[0] and (sizes == sizes[0]).all():
            windows = np.lib.stride_tricks.sliding_window_view(self._bytes, sizes[0])
            return windows[starts].reshape(-1).view(self._item(name))
        ends = (starts + sizes).tolist()
        parts = [self._data[start:end] for start, end in zip(starts.tolist(), ends, strict=True)]
        return np.frombuffer(b"".join(parts), self._item(name))

    def texts(self, name: str) -> pa.StringArray:
        """A column of texts. Raises OddFrameError where one is not UTF-8."""
        if name not in self._texts:
            self._texts[name] = self._text(name)
        return self._texts[name]

    def _text(self, name: str) -> pa.StringArray:
        buffers = [offsets_of(self.lengths(name)).astype(np.int32), self.values(name)]
        texts = pa.Array.from_buffers(pa.string(), len(self), [None, *map(pa.py_buffer, buffers)])
        try:
            texts.validate(full=True)
        except pa.ArrowInvalid as error:
            raise OddFrameError from error
        return texts

    def _located(
        self, shape: Skeleton, buffers: NDArray[np.int64]
    ) -> dict[str, tuple[NDArray[np.int64], NDArray[np.int64]]]:
        nothing = np.zeros_like(self._body)
        places, first = dict.fromkeys(self._schema.names, (nothing, nothing)), 0
        for field in shape.schema:
            if pa.types.is_primitive(field.type):  # validity, values
                start, size = buffers[:, first + 1].T
                if (size < self._item(field.name).itemsize).any():
                    raise OddFrameError
                places[field.name] = (self._body + start, size)
                first += 2
            else:  # validity, offsets, values (of a list: of its elements, after their validity)
                values = first + 3 if pa.types.is_list(field.type) else first + 2
                width = self._item(field.name).itemsize
                places[field.name] = self._slices(buffers[:, first + 1], buffers[:, values], width)
                first = values + 1
        return places

    def _slices(
        self, offsets: NDArray[np.int64], values: NDArray[np.int64], width: int
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Where the one text or list of each row is, by its two offsets of 32 bits."""
        if (offsets[:, 1] < 8).any():
            raise OddFrameError
        words = self._words[(self._body + offsets[:, 0]) // 8]
        begin, end = width * words.view(np.int32).reshape(-1, 2).T.astype(np.int64)
        if (begin < 0).any() or (end < begin).any() or (end > values[:, 1]).any():
            raise OddFrameError
        return self._body + values[:, 0] + begin, end - begin

    def _item(self, name: str) -> np.dtype[Any]:
        kind = self._schema.field(name).type
        if pa.types.is_list(kind):
            kind = kind.value_type
        return np.dtype(np.uint8 if pa.types.is_string(kind) else kind.to_pandas_dtype())
