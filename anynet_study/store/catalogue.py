"""Every record of every journal, without its arrays: of which run, and where its bytes are."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from anynet_study.store.columns import read_column
from anynet_study.store.decoding import Columns
from anynet_study.store.frames import Frame, Reading
from anynet_study.store.journal import journal_blocks
from anynet_study.store.kind import RecordKind
from anynet_study.store.layout import CODED
from anynet_study.store.run_kind import RUN

NUMBERS = ("replicate", "error", "seconds", "started")
TEXTS = tuple(name for name in CODED if name != "journal")
#: Texts that a sweep may have changed: names of runs.
NAMES = ("dataset", "recipe")
#: Where a record is: number of its journal, and its bytes there.
PLACE = (("journal", pa.int32()), ("offset", pa.int64()), ("end", pa.int64()))

#: A run: its scalars but `spec`; PLACE; `spec_bytes`, `epochs`, `images` (lengths).
SCHEMA = pa.schema(
    [
        ("run_id", pa.string()),
        *((name, pa.dictionary(pa.int32(), pa.string())) for name in TEXTS),
        ("replicate", pa.int32()),
        *((name, pa.float64()) for name in NUMBERS[1:]),
        *((name, pa.int32()) for name in ("epochs", "images")),
        ("spec_bytes", pa.int64()),
        *PLACE,
    ]
)


@dataclass(frozen=True, eq=False)
class Catalogue:
    """How records of a kind are listed."""

    kind: RecordKind[Any]
    #: Of the list, with PLACE.
    schema: pa.Schema
    #: Its columns, but for PLACE, of some records.
    columns: Callable[[Columns], Mapping[str, Any]]
    #: The list of the records that a results store has, as far as it remembers it (/collected).
    stored: Callable[[h5py.File], pa.Table]
    #: What is the same of two records that are of the same work.
    keys: Callable[[pa.Table], pa.ChunkedArray]


def read_catalogue(
    catalogue: Catalogue, paths: Sequence[Path], readings: Sequence[Reading]
) -> pa.Table:
    """Read journals from where each reading ended; a list in reading order.

    Raises UserError or OSError as `journal_frames`.
    """
    blocks = [catalogue.schema.empty_table()]
    for number, (path, reading) in enumerate(zip(paths, readings, strict=True)):
        for frames, columns in journal_blocks(catalogue.kind, path, reading):
            found = dict(catalogue.columns(columns)) | _places(number, frames)
            blocks.append(pa.table(found).select(catalogue.schema.names).cast(catalogue.schema))
    return joined(blocks)


def joined(tables: Sequence[pa.Table]) -> pa.Table:
    """Tables of one schema as one."""
    return pa.concat_tables(tables).unify_dictionaries().combine_chunks()


def _places(journal: int, frames: Sequence[Frame]) -> dict[str, NDArray[np.int64]]:
    return {
        "journal": np.full(len(frames), journal),
        "offset": np.array([frame.offset for frame in frames], np.int64),
        "end": np.array([frame.end for frame in frames], np.int64),
    }


def winners(records: pa.Table) -> NDArray[np.int64]:
    """Row numbers of the one record kept of every run, ascending.

    A completed or diverged record beats a failed one; else the first by (started, journal), and of
    failures the last: it is what became of the run.
    """
    failed = pc.equal(records["status"], "failed").to_numpy()
    started = records["started"].to_numpy()
    order = pa.array(np.where(failed, -started, started))
    place = records.schema.get_field_index("started")
    return first_of_each(records["run_id"], records.set_column(place, "started", order), failed)


def first_of_each(
    keys: pa.ChunkedArray, records: pa.Table, after: NDArray[np.bool_] | None = None
) -> NDArray[np.int64]:
    """Row numbers, ascending, of the first record of every key, by (after, started, journal)."""
    order = np.lexsort(
        (
            *(records[name].to_numpy() for name in ("offset", "journal", "started")),
            *(() if after is None else (after,)),
        )
    )
    key = keys.combine_chunks().dictionary_encode().indices.to_numpy()
    _, first = np.unique(key[order], return_index=True)
    return np.sort(order[first])


def _columns(columns: Columns) -> Mapping[str, Any]:
    found = {"run_id": columns.texts("run_id")}
    found |= {name: columns.texts(name).dictionary_encode() for name in TEXTS}
    found |= {name: columns.numbers(name) for name in NUMBERS}
    lengths = {"spec_bytes": "spec", "epochs": "test_top1", "images": "predictions"}
    return found | {name: columns.lengths(column) for name, column in lengths.items()}


def _stored(file: h5py.File) -> pa.Table:
    runs, group = file["runs"], file["collected"]
    found = {"run_id": pa.array(runs["run_id"][()].astype(str).astype(object), pa.string())}
    for name in TEXTS:
        codes, texts = (runs, read_column(file["labels"], name))
        if name in NAMES:
            codes, texts = group, read_column(group, f"{name}_names")
        found[name] = pa.DictionaryArray.from_arrays(codes[name][()], pa.array(texts, pa.string()))
    for name in ("error", "seconds", "started", "journal", "epochs", "images"):
        found[name] = pa.array(runs[name][()])
    for name in ("offset", "end", "replicate"):
        found[name] = pa.array(group[name][()])
    found["spec_bytes"] = pa.array(np.diff(file["specs/offsets"][()]))
    return pa.table(found).select(SCHEMA.names).cast(SCHEMA)


RUNS = Catalogue(RUN, SCHEMA, _columns, _stored, lambda runs: runs["run_id"])
