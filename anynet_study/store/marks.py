"""Records of journals as a results store has them, so that these journals are not decoded again.

A store says of each journal up to where it was read, and the CRC-32 of the bytes before. Where
these are the same still, the store's rows are what reading them again would give. Of any other
journal nothing is taken, so that what is wrong with it is told as ever.
"""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import h5py
import pyarrow as pa

from anynet_study.core import arrow
from anynet_study.core.errors import UserError
from anynet_study.store.hdf5 import checksum, written_checksums
from anynet_study.store.journal import Mark
from anynet_study.store.layout import COLUMNS
from anynet_study.store.opening import open_store
from anynet_study.store.records import KINDS, joined, records_table
from anynet_study.store.tables import evaluations_table, read_table, runs_table

#: Of /journals: whether the store has all records of a journal, and its mark.
_SAID = ("journal", "records", "duplicates", "problem", "end", "crc32")


def collected_records(
    results: Path, journals: Path, columns: Sequence[str]
) -> tuple[pa.Table, Mapping[str, int]]:
    """Return what a store has of the journals in a folder, and up to which byte that is of each.

    The table is as of `read_journals`, with these columns and `journal`, and null in all others;
    runs first, then evaluations, in the order of the store. Of a journal it has all records up to
    that byte, or none: it has them if the journal still begins with the bytes that the store was
    collected from, the store left out none of them, and what is read of it is what was written.

    Raises OSError if a journal cannot be read.
    """
    stored, said = _stored(results, {*columns, "journal"})
    there = {path.name: path for kind in KINDS for path in kind.paths(journals)}
    counts = Counter(stored["journal"].to_pylist())
    ends = {
        name: mark.end
        for name, count, mark in said
        if name in there and counts[name] == count and mark.fits(there[name])
    }
    return stored.filter(arrow.numbers(arrow.among(stored["journal"], ends))), ends


def _stored(
    results: Path, columns: Collection[str]
) -> tuple[pa.Table, Sequence[tuple[str, int, Mark]]]:
    """The records of a store; and the name, the number of records and the mark of each journal of
    which it left out nothing. Nothing of a store that is not there, or not as it was written.
    """
    if not results.exists():
        return joined([]), []
    with suppress(UserError, OSError), open_store(results) as file:
        journals = read_table(file, "journals", _SAID).to_pylist()
        if _is_as_written(file, {*columns, *_SAID, "run"}):
            own = [name for name in COLUMNS["runs"] if name in columns]
            tests = ["run_id", *(name for name in COLUMNS["evaluations"] if name in columns)]
            tables = {"run": runs_table(file, own), "evaluation": evaluations_table(file, tests)}
            return joined(_records(kind, table) for kind, table in tables.items()), [
                (row["journal"], row["records"], Mark(row["end"], row["crc32"]))
                for row in journals
                if not row["duplicates"] and not row["problem"]
            ]
    return joined([]), []


def _is_as_written(file: h5py.File, columns: Collection[str]) -> bool:
    """Tell whether these columns of runs, evaluations and journals have their checksums."""
    written = written_checksums(file)
    return all(
        written[f"{table}/{name}"] == checksum(file[table][name])
        for table in ("runs", "evaluations", "journals")
        for name in columns
        if name in file[table]
    )


def _records(kind: str, table: pa.Table) -> pa.Table:
    """A table of the store as one of RECORDS, in which a number that is not known is NaN."""
    columns: dict[str, Any] = {
        name: arrow.with_nan(table[name]) if pa.types.is_floating(table[name].type) else table[name]
        for name in table.column_names
    }
    return records_table(columns | {"record_kind": kind}, len(table))
