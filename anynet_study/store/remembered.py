"""What a store remembers of the journals it was collected from: the group /collected (`layout`).

So the next collect reads only what is new in them, and takes the rest from the store.
"""

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import h5py
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from anynet_study.store import catalogue
from anynet_study.store.columns import read_column, write_numbers, write_text
from anynet_study.store.frames import FileBytes, NotAFrameError, Reading, read_frame
from anynet_study.store.opening import DAMAGE
from anynet_study.store.record import RECORD_VERSION

#: Texts that a sweep may have changed: names of runs.
NAMES = ("dataset", "recipe")
#: Fields of `Reading` that are kept.
PROGRESS = ("end", "last", "crc32", "records")


class ForgottenError(Exception):
    """The store cannot say what the journals held: all of them have to be read."""


@dataclass(frozen=True)
class Remembered:
    """Records of the journals that have lost nothing since the last collect."""

    #: `catalogue.SCHEMA`; and the row of each in the store.
    records: pa.Table
    rows: NDArray[np.int64]
    #: Of every journal that is there now.
    readings: list[Reading]
    #: All runs of the store.
    run_ids: pa.Array


def write_remembered(file: h5py.File, runs: pa.Table, readings: Sequence[Reading]) -> None:
    """Write /collected; `runs` in store order, called what the journals call them.

    A journal in which something is wrong is read anew every time.
    """
    group = file.create_group("collected")
    for name in ("offset", "end", "replicate"):
        write_numbers(group, name, runs[name].to_numpy())
    for name in NAMES:
        texts = runs[name].combine_chunks()
        write_numbers(group, name, texts.indices.to_numpy())
        write_text(group, f"{name}_names", texts.dictionary.to_pylist())
    kept = [Reading() if reading.problems else reading for reading in readings]
    for name in PROGRESS:
        values = [getattr(reading, name) for reading in kept]
        write_numbers(group, f"journal_{name}", np.array(values, np.int64))


def remembered(file: h5py.File, paths: Sequence[Path]) -> Remembered:
    """What a store knows of these journals.

    Raises ForgottenError, also if one that it knew is gone or has changed; OSError if one cannot
    be read.
    """
    with recalling():
        before = dict(zip(read_column(file["labels"], "journal"), _progress(file), strict=True))
        records = _records(file)
    there = {path.name: path for path in paths}
    for name, reading in before.items():
        if name not in there or not _goes_on(there[name], reading):
            raise ForgottenError
    known = [name for name, reading in before.items() if reading.last]
    numbers = {path.name: number for number, path in enumerate(paths)}
    now = np.array([numbers[name] if name in known else -1 for name in before], np.int32)
    journal = now[records["journal"].to_numpy()]
    column = records.schema.get_field_index("journal")
    renumbered = records.set_column(column, "journal", pa.array(journal))
    rows = np.flatnonzero(journal >= 0)
    readings = [before[path.name] if path.name in known else Reading() for path in paths]
    return Remembered(renumbered.take(rows), rows, readings, records["run_id"])


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


def _goes_on(path: Path, reading: Reading) -> bool:
    """Whether the journal still has the last record that was read of it."""
    if not reading.last:
        return True
    with path.open("rb") as file:
        if os.fstat(file.fileno()).st_size < reading.end:
            return False
        try:
            frame = read_frame(FileBytes(file, reading.end), reading.last, RECORD_VERSION)
        except NotAFrameError:
            return False
    return frame.crc32 == reading.crc32


def _records(file: h5py.File) -> pa.Table:
    runs, group = file["runs"], file["collected"]
    found = {"run_id": pa.array(runs["run_id"][()].astype(str).astype(object), pa.string())}
    for name in catalogue.TEXTS:
        codes, texts = (runs, read_column(file["labels"], name))
        if name in NAMES:
            codes, texts = group, read_column(group, f"{name}_names")
        found[name] = pa.DictionaryArray.from_arrays(codes[name][()], pa.array(texts, pa.string()))
    for name in ("error", "seconds", "started", "journal", "epochs", "images"):
        found[name] = pa.array(runs[name][()])
    for name in ("offset", "end", "replicate"):
        found[name] = pa.array(group[name][()])
    found["spec_bytes"] = pa.array(np.diff(file["specs/offsets"][()]))
    return pa.table(found).select(catalogue.SCHEMA.names).cast(catalogue.SCHEMA)
