"""Every record of every journal, without its arrays: which run, and where its bytes are."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from anynet_study.store.frames import Frame
from anynet_study.store.journal import journal_paths, journal_rows
from anynet_study.store.record import SCALARS, SCHEMA

# Records are decoded one by one and their scalar columns copied together in blocks of this size,
# so that the arrays of at most one block are in memory.
BLOCK_BYTES = 1 << 25

_LIGHT = tuple(name for name in SCALARS if name != "spec")


Row = tuple[int, Frame, pa.RecordBatch]


@dataclass(frozen=True)
class Catalogue:
    """The records of some journals."""

    #: One row a record, in reading order: its scalars but `spec`; `journal` (number in `paths`),
    #: `offset` and `end` (its bytes there); `spec_bytes`, `epochs`, `images` (lengths).
    records: pa.Table
    paths: list[Path]
    #: What is wrong with each journal, "" if nothing.
    problems: list[str]


def read_catalogue(folder: Path) -> Catalogue:
    """Read the journals of a folder. Raises UserError or OSError as `journal_rows`."""
    paths = journal_paths(folder)
    problems: list[str] = []
    blocks = [_block([]), *map(_block, _in_blocks(_rows(paths, problems)))]
    return Catalogue(pa.concat_tables(blocks).combine_chunks(), paths, problems)


def winners(records: pa.Table) -> NDArray[np.int64]:
    """Row numbers of the one record kept of every run, ascending.

    A completed or diverged record beats a failed one; else the first by (started, journal).
    """
    failed = pc.equal(records["status"], "failed").to_numpy()
    keys = (records["offset"], records["journal"], records["started"])
    order = np.lexsort((*(key.to_numpy() for key in keys), failed))
    run = records["run_id"].combine_chunks().dictionary_encode().indices.to_numpy()
    _, first = np.unique(run[order], return_index=True)
    return np.sort(order[first])


def _rows(paths: list[Path], problems: list[str]) -> Iterator[Row]:
    for number, path in enumerate(paths):
        found: list[str] = []
        for frame, batch in journal_rows(path, found):
            yield number, frame, batch
        problems.append("; ".join(found))


def _in_blocks(rows: Iterator[Row]) -> Iterator[list[Row]]:
    block: list[Row] = []
    held = 0
    for row in rows:
        block.append(row)
        held += len(row[1].message)
        if held > BLOCK_BYTES:
            yield block
            block, held = [], 0
    if block:
        yield block


def _block(rows: list[Row]) -> pa.Table:
    table = pa.Table.from_batches([batch for _, _, batch in rows], SCHEMA).combine_chunks()
    places = {
        "journal": pa.array([journal for journal, _, _ in rows], pa.int32()),
        "offset": pa.array([frame.offset for _, frame, _ in rows], pa.int64()),
        "end": pa.array([frame.end for _, frame, _ in rows], pa.int64()),
        "spec_bytes": pc.cast(pc.binary_length(table["spec"]), pa.int64()),
        "epochs": pc.cast(pc.list_value_length(table["test_top1"]), pa.int32()),
        "images": pc.cast(pc.list_value_length(table["predictions"]), pa.int32()),
    }
    block = table.select(_LIGHT)
    for name, values in places.items():
        block = block.append_column(name, values)
    return block
