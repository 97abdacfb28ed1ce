"""All records of a study's journals: those of the last collect, and what is new since."""

from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import h5py
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from anynet_study.store.catalogue import Catalogue, joined, read_catalogue
from anynet_study.store.frames import Reading
from anynet_study.store.remembered import ForgottenError, remembered


@dataclass(frozen=True)
class Gathered:
    """The records of one kind of the journals in a folder."""

    #: Of a catalogue, but for records that an earlier collect set aside.
    records: pa.Table
    #: The row of each in the earlier store, -1: none.
    rows: NDArray[np.int64]
    paths: list[Path]
    #: How each journal was read.
    readings: list[Reading]


def gathered(catalogue: Catalogue, folder: Path, earlier: h5py.File | None) -> Gathered:
    """Read the journals of a folder, as far as the earlier store does not know them.

    Raises UserError or OSError as `journal_frames`.
    """
    paths = catalogue.kind.paths(folder)
    if earlier is not None:
        with suppress(ForgottenError):
            return _continued(catalogue, paths, earlier)
    readings = [Reading() for _ in paths]
    records = read_catalogue(catalogue, paths, readings)
    return Gathered(records, np.full(len(records), -1), paths, readings)


def _continued(catalogue: Catalogue, paths: list[Path], earlier: h5py.File) -> Gathered:
    known = remembered(earlier, catalogue, paths)
    new = read_catalogue(catalogue, paths, known.readings)
    records = joined([known.records, new])
    # Work of which only the record that was kept is remembered may have had another one.
    there = pc.is_in(known.keys, value_set=catalogue.keys(records))
    if not pc.all(there, min_count=0).as_py():
        raise ForgottenError
    rows = np.concatenate([known.rows, np.full(len(new), -1)])
    return Gathered(records, rows, paths, known.readings)
