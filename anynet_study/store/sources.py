"""Where the arrays of records come from: their journals, or the store of the last collect."""

import errno
import os
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, Protocol

import h5py
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from anynet_study.metrics import CURVES
from anynet_study.store.decoding import Columns, OddFrameError
from anynet_study.store.frames import FileBytes, Frame, NotAFrameError, read_frame
from anynet_study.store.kind import RecordKind
from anynet_study.store.layout import prediction_group
from anynet_study.store.ragged import interleaved, places_of
from anynet_study.store.remembered import recalling
from anynet_study.store.sound import records_of

#: Arrays of a run; `spec` is its bytes.
ARRAYS = (*CURVES, "spec", "predictions")
#: Records so near in a file, in bytes, are read together, up to so many bytes.
NEAR, TOGETHER = 1 << 15, 1 << 23

#: Runs are taken from a store if they are at least every so-manieth of a stretch of it.
SPARSE = 8

Rows = NDArray[np.int64]
Lengths = Mapping[str, Rows]


class Source(Protocol):
    """Arrays of runs or evaluations, by their rows in the new store."""

    def arrays(self, rows: Rows) -> Mapping[str, NDArray[Any]]:
        """Each array, the values of these rows end to end."""
        ...


class JournalSource:
    """Records as their journals have them."""

    def __init__(
        self,
        kind: RecordKind[Any],
        records: pa.Table,
        paths: Sequence[Path],
        names: Sequence[str] = ARRAYS,
    ) -> None:
        """`records` of a catalogue, in the order of the new store; `names` of their arrays."""
        place = ("journal", "offset", "end")
        self._journal, self._offset, self._end = (records[name].to_numpy() for name in place)
        self._kind, self._paths, self._names = kind, paths, names

    def arrays(self, rows: Rows) -> Mapping[str, NDArray[Any]]:
        order = np.lexsort((self._offset[rows], self._journal[rows]))
        ordered = rows[order]
        journals = np.flatnonzero(np.diff(self._journal[ordered])) + 1
        frames = [frame for part in np.split(ordered, journals) for frame in self._read(part)]
        found = [frames[place] for place in np.argsort(order).tolist()]
        try:
            columns = Columns(self._kind, [frame.message for frame in found])
        except OddFrameError:
            _, columns = records_of(self._kind, found, [])
        return {name: columns.values(name) for name in self._names}

    def _read(self, rows: Rows) -> Iterator[Frame]:
        """The frames of these runs of one journal, in the order of its bytes."""
        path = self._paths[self._journal[rows[0]]]
        with path.open("rb") as file:
            data = FileBytes(file, os.fstat(file.fileno()).st_size)
            for part in _neighbours(self._offset[rows], self._end[rows]):
                mine = rows[part]
                begin = int(self._offset[mine[0]])
                data.fetch(begin, int(self._end[mine[-1]]) - begin)
                for offset in self._offset[mine].tolist():
                    try:
                        yield read_frame(data, offset, self._kind.version)
                    except NotAFrameError:
                        reason = f"changed at byte {offset} while it was read"
                        raise OSError(errno.EIO, reason, str(path)) from None


def _neighbours(begin: Rows, end: Rows) -> Iterator[slice]:
    """Stretches of records that are near each other."""
    far = (begin[1:] - end[:-1] > NEAR) | (np.diff(begin // TOGETHER) > 0)
    breaks = [0, *(np.flatnonzero(far) + 1).tolist(), len(begin)]
    yield from (slice(a, b) for a, b in pairwise(breaks))


class StoreSource:
    """Runs as an earlier store has them."""

    def __init__(self, file: h5py.File, place: Rows) -> None:
        """`place`: the row of each run in the earlier store. Raises ForgottenError as `arrays`."""
        self._file, self._place = file, place
        with recalling():
            self._offsets = {name: file[name]["offsets"][()] for name in ("curves", "specs")}
            self._images, self._dataset = file["runs/images"][()], file["runs/dataset"][()]
            self._groups = [prediction_group(name) for name in file["labels/dataset"].asstr()]

    def arrays(self, rows: Rows) -> Mapping[str, NDArray[Any]]:
        """Raises ForgottenError where the store is damaged."""
        place = self._place[rows]
        with recalling():
            found = {name: self._ragged("curves", name, place) for name in CURVES}
            found["spec"] = self._ragged("specs", "text", place)
            found["predictions"] = self._predictions(place)
        return found

    def _ragged(self, group: str, name: str, place: Rows) -> NDArray[Any]:
        offsets, low, high = self._offsets[group], place.min(), place.max() + 1
        values = self._file[group][name][offsets[low] : offsets[high]]
        lengths = offsets[place + 1] - offsets[place]
        return np.asarray(values[places_of(offsets[place] - offsets[low], lengths)])

    def _predictions(self, place: Rows) -> NDArray[Any]:
        lengths = self._images[place].astype(np.int64)
        parts = [(np.empty(0, np.int64), np.empty(0, np.uint16))]
        for code in np.unique(self._dataset[place[lengths > 0]]):
            mine = np.flatnonzero((self._dataset[place] == code) & (lengths > 0))
            group = self._file[self._groups[code]]
            lines = np.searchsorted(group["run"][()], place[mine])
            classes = group["classes"][lines.min() : lines.max() + 1][lines - lines.min()]
            there = np.arange(classes.shape[1]) < lengths[mine][:, None]
            parts.append((mine, classes[there]))
        return interleaved(parts, lengths)


class Sources:
    """Records from the store of the last collect where they are in it, near each other."""

    def __init__(self, journals: Source, store: Source, place: Rows, lengths: Lengths) -> None:
        """`place`: the row of each in that store, -1 where it is not in it."""
        self._journals, self._store = journals, store
        self._place, self._lengths = place, lengths

    def arrays(self, rows: Rows) -> Mapping[str, NDArray[Any]]:
        there = np.flatnonzero(self._place[rows] >= 0)
        place = self._place[rows[there]]
        if there.size and np.ptp(place) > SPARSE * there.size:
            there = there[:0]  # what lies between them would be decompressed for nothing
        others = np.setdiff1d(np.arange(len(rows)), there)
        asked = ((there, self._store), (others, self._journals))
        parts = [(mine, source.arrays(rows[mine])) for mine, source in asked if mine.size]
        if len(parts) == 1:
            return parts[0][1]
        return {
            name: interleaved(
                [(mine, arrays[name]) for mine, arrays in parts], self._lengths[name][rows]
            )
            for name in self._lengths
        }
