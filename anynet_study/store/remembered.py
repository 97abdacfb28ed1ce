"""What a store remembers of the journals it was collected from: the group /collected (`layout`).

So the next collect reads only what is new in them, and takes the rest from the store.
"""

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from anynet_study.store.catalogue import NAMES, Catalogue
from anynet_study.store.columns import read_column, write_numbers, write_text
from anynet_study.store.frames import FileBytes, NotAFrameError, Reading, read_frame
from anynet_study.store.kind import RecordKind
from anynet_study.store.layout import SCHEMA_VERSION
from anynet_study.store.opening import DAMAGE

#: Fields of `Reading` that are kept.
PROGRESS = ("end", "last", "crc32", "records")


class ForgottenError(Exception):
    """The store cannot say what the journals held: all of them have to be read."""


@dataclass(frozen=True)
class Remembered:
    """Records of the journals that have lost nothing since the last collect."""

    #: Of a catalogue; and the row of each in the store.
    records: pa.Table
    rows: NDArray[np.int64]
    #: Of every journal of the kind that is there now.
    readings: list[Reading]
    #: `Catalogue.keys` of all records of the store.
    keys: pa.ChunkedArray


def write_remembered(file: h5py.File, runs: pa.Table, readings: Sequence[Reading]) -> None:
    """Write /collected; `runs` in store order, called what the journals call them.

    `readings` of all journals. One in which something is wrong is read anew every time.
    """
    group = file.create_group("collected")
    for name in ("offset", "end", "replicate"):
        write_numbers(group, name, runs[name].to_numpy())
    for name in NAMES:
        write_names(group, name, runs[name])
    kept = [Reading() if reading.problems else reading for reading in readings]
    for name in PROGRESS:
        values = [getattr(reading, name) for reading in kept]
        write_numbers(group, f"journal_{name}", np.array(values, np.int64))


def write_names(group: h5py.Group, name: str, values: pa.ChunkedArray) -> None:
    """Write a column of texts that are coded, and what the codes stand for."""
    texts = values.combine_chunks()
    write_numbers(group, name, texts.indices.to_numpy())
    write_text(group, f"{name}_names", texts.dictionary.to_pylist())


def remembered(file: h5py.File, catalogue: Catalogue, paths: Sequence[Path]) -> Remembered:
    """What a store knows of these journals, all that there are of a kind.

    Raises ForgottenError, also if one that it knew is gone or has changed; OSError if one cannot
    be read.
    """
    kind = catalogue.kind
    if int(file.attrs["schema_version"]) != SCHEMA_VERSION:
        raise ForgottenError
    with recalling():
        names = list(read_column(file["labels"], "journal"))
        progress = dict(zip(names, _progress(file), strict=True))
        records = catalogue.stored(file)
    before = {name: reading for name, reading in progress.items() if kind.owns(Path(name))}
    there = {path.name: path for path in paths}
    for name, reading in before.items():
        if name not in there or not _goes_on(kind, there[name], reading):
            raise ForgottenError
    known = {name for name, reading in before.items() if reading.last}
    numbers = {path.name: number for number, path in enumerate(paths) if path.name in known}
    now = np.array([numbers.get(name, -1) for name in names], np.int32)
    journal = now[records["journal"].to_numpy()]
    column = records.schema.get_field_index("journal")
    renumbered = records.set_column(column, "journal", pa.array(journal))
    rows = np.flatnonzero(journal >= 0)
    readings = [before[path.name] if path.name in known else Reading() for path in paths]
    return Remembered(renumbered.take(rows), rows, readings, catalogue.keys(records))


@contextmanager
def recalling() -> Iterator[None]:
    """Raise ForgottenError where the store of the last collect is damaged."""
    try:
        yield
    except DAMAGE as error:
        raise ForgottenError from error


def _progress(file: h5py.File) -> list[Reading]:
    columns = [file["collected"][f"journal_{name}"][()].tolist() for name in PROGRESS]
    return [Reading(**dict(zip(PROGRESS, row, strict=True))) for row in zip(*columns, strict=True)]


def _goes_on(kind: RecordKind[Any], path: Path, reading: Reading) -> bool:
    """Whether the journal still has the last record that was read of it."""
    if not reading.last:
        return True
    with path.open("rb") as file:
        if os.fstat(file.fileno()).st_size < reading.end:
            return False
        try:
            frame = read_frame(FileBytes(file, reading.end), reading.last, kind.version)
        except NotAFrameError:
            return False
    return frame.crc32 == reading.crc32
