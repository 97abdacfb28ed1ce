"""All records of a study's journals: those of the last collect, and what is new since."""

from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import h5py
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from anynet_study.store.catalogue import joined, read_catalogue
from anynet_study.store.frames import Reading
from anynet_study.store.remembered import ForgottenError, remembered
from anynet_study.store.run_kind import RUN
from anynet_study.store.sources import JournalSource, Lengths, Rows, Source, Sources, StoreSource


@dataclass(frozen=True)
class Gathered:
    """The records of the journals in a folder."""

    #: `catalogue.SCHEMA`, but for records that an earlier collect set aside.
    records: pa.Table
    #: The row of each in the earlier store, -1: none.
    rows: NDArray[np.int64]
    paths: list[Path]
    #: How each journal was read.
    readings: list[Reading]
    earlier: h5py.File | None

    def source(self, runs: pa.Table, rows: Rows, lengths: Lengths) -> Source:
        """Where the arrays of these records come from. Raises ForgottenError."""
        journals = JournalSource(runs, self.paths)
        if self.earlier is None:
            return journals
        return Sources(journals, StoreSource(self.earlier, rows), rows, lengths)


def gathered(folder: Path, earlier: h5py.File | None) -> Gathered:
    """Read the journals of a folder, as far as the earlier store does not know them.

    Raises UserError or OSError as `journal_frames`.
    """
    paths = RUN.paths(folder)
    if earlier is not None:
        with suppress(ForgottenError):
            return _continued(paths, earlier)
    readings = [Reading() for _ in paths]
    records = read_catalogue(paths, readings)
    return Gathered(records, np.full(len(records), -1), paths, readings, None)


def _continued(paths: list[Path], earlier: h5py.File) -> Gathered:
    known = remembered(earlier, paths)
    new = read_catalogue(paths, known.readings)
    records = joined([known.records, new])
    # A run of which only the record that was kept is remembered may have had another one.
    if not pc.all(pc.is_in(known.run_ids, value_set=records["run_id"]), min_count=0).as_py():
        raise ForgottenError
    rows = np.concatenate([known.rows, np.full(len(new), -1)])
    return Gathered(records, rows, paths, known.readings, earlier)
