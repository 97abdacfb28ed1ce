"""Several stores as one: which of their runs and evaluations count, and where stores disagree."""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
import pyarrow as pa
from numpy.typing import NDArray

from anynet_study.store.errors import Labels, Selection
from anynet_study.store.hdf5 import read_column
from anynet_study.store.opening import StoreFile

Mask = NDArray[np.bool_]


@dataclass(frozen=True)
class Member:
    """One of several stores."""

    name: str
    file: StoreFile
    #: Whether each of its runs counts: every run does so in one of the stores that have it.
    kept: Mask
    #: Whether the sweep of any store asks for each of its runs.
    planned: Mask


@dataclass(frozen=True)
class Union:
    """Stores read as one."""

    members: list[Member]
    #: One line about runs whose error is not the same in all of them; "" if there are none.
    conflict: str


class StoreFiles:
    """Results files that are opened for every reading anew, or held open together."""

    def __init__(self, files: Sequence[StoreFile], names: Sequence[str]) -> None:
        self.files = files
        self.names = names
        self._union: Union | None = None
        self._holders = 0
        self._stack = ExitStack()

    def hold(self) -> None:
        """Keep the files open, so that what is read is one state; as often as `release`."""
        if self._holders == 0:
            with ExitStack() as holding:
                for file in self.files:
                    file.hold()
                    holding.callback(file.release)
                self._union = unite(self.files, self.names)
                self._stack = holding.pop_all()
        self._holders += 1

    def release(self) -> None:
        self._holders -= 1
        if self._holders == 0:
            self._union = None
            self._stack.close()

    @contextmanager
    def open(self) -> Iterator[Union]:
        """The stores, held meanwhile. Raises UserError as `open_store`."""
        self.hold()
        try:
            assert self._union is not None
            yield self._union
        finally:
            self.release()


@dataclass(frozen=True)
class _Runs:
    """Of all stores' runs, one after the other."""

    ids: NDArray[np.bytes_]
    planned: Mask
    failed: Mask
    error: NDArray[np.float64]


def unite(files: Sequence[StoreFile], names: Sequence[str]) -> Union:
    """Settle which record of every run counts: not a failed one if another is there; the first."""
    parts = [_runs(file) for file in files]
    every = _Runs(*(np.concatenate(column) for column in zip(*parts, strict=True)))
    run = pa.array(every.ids, pa.binary()).dictionary_encode().indices.to_numpy()
    order = np.lexsort((every.failed, run))  # stable: the first store's first
    winner = order[np.unique(run[order], return_index=True)[1]][run]
    kept = winner == np.arange(len(run))
    planned = (np.bincount(run, every.planned) > 0)[run]
    differ = np.flatnonzero(~every.failed & (every.error != every.error[winner]))
    counts = [len(part[0]) for part in parts]
    ends = np.cumsum(counts)[:-1]
    masks = zip(names, files, np.split(kept, ends), np.split(planned, ends), strict=True)
    conflict = ""
    if differ.size:
        store = np.repeat(np.arange(len(files)), counts)
        places = (winner[differ[0]], differ[0])
        told = [f"{every.error[place]:.6g} in {names[store[place]]}" for place in places]
        conflict = (
            f"runs whose error is not the same in all stores: {len(set(run[differ]))}, such as "
            f"{every.ids[differ[0]].decode()}: {', '.join(told)}; the first counts"
        )
    return Union([Member(*each) for each in masks], conflict)


def _runs(source: StoreFile) -> tuple[NDArray[np.bytes_], Mask, Mask, NDArray[np.float64]]:
    with source.open() as file:
        statuses = read_column(file["labels"], "status") == "failed"
        runs = file["runs"]
        return (
            runs["run_id"][()],
            runs["planned"][()].astype(bool),
            statuses[runs["status"][()]].astype(bool),
            runs["error"][()],
        )


@dataclass(frozen=True)
class Merged:
    """A table with one row a key, of the first store that has it."""

    table: pa.Table
    #: Keys whose rows differ between stores, and the columns in which they do.
    differing: dict[str, list[str]]
    #: One line about them; "" if there are none.
    conflict: str


def merged(key: str, tables: Sequence[pa.Table], names: Sequence[str]) -> Merged:
    """Merge tables by a column. What a store does not know ("" or missing) is no difference."""
    frames = [table.to_pandas().set_index(key) for table in tables]
    first: dict[str, int] = {}
    differing: dict[str, list[str]] = {}
    example = ""
    for number, frame in enumerate(frames):
        for other in range(number):
            mine = frame.index[[first.get(name) == other for name in frame.index]]
            for name, columns in _differences(frames[other].loc[mine], frame.loc[mine]).items():
                told = [f"{frames[n].at[name, columns[0]]} in {names[n]}" for n in (other, number)]
                example = example or f"{name}: {columns[0]} is {', '.join(told)}"
                differing.setdefault(name, []).extend(columns)
        for name in frame.index:
            first.setdefault(name, number)
    keep = [[first[name] == n for name in frame.index] for n, frame in enumerate(frames)]
    kept = [table.filter(pa.array(rows)) for table, rows in zip(tables, keep, strict=True)]
    line = f"{key}s that are not the same in all stores: {len(differing)}, such as {example}"
    return Merged(stacked(kept), differing, line if differing else "")


def _differences(one: pd.DataFrame, other: pd.DataFrame) -> dict[str, list[str]]:
    """Rows of two tables of the same index that differ, with the columns in which they do."""
    found: dict[str, list[str]] = {}
    for column in one.columns.intersection(other.columns):
        a, b = one[column], other[column]
        known = a.notna() & b.notna() & (a.astype(str) != "") & (b.astype(str) != "")
        for name in one.index[(known & (a != b)).to_numpy(bool)]:
            found.setdefault(str(name), []).append(column)
    return found


def stacked(tables: Sequence[pa.Table]) -> pa.Table:
    """Tables below each other; what one of them lacks is missing, a missing text is ""."""
    table = pa.concat_tables(tables, promote_options="permissive").unify_dictionaries()
    for number, field in enumerate(table.schema):
        column = table.column(number)
        text = pa.types.is_dictionary(field.type) or pa.types.is_string(field.type)
        if text and column.null_count:
            filled = column.cast(pa.string()).fill_null("")
            filled = filled.dictionary_encode() if pa.types.is_dictionary(field.type) else filled
            table = table.set_column(number, field.name, filled)
    return table


def with_store(table: pa.Table, name: str) -> pa.Table:
    """The table with a first column `store` that says `name`."""
    codes = pa.array(np.zeros(len(table), np.int32))
    column = pa.DictionaryArray.from_arrays(codes, pa.array([name], pa.string()))
    return table.add_column(0, "store", column)


def joint(selections: Sequence[Selection]) -> Selection:
    """The runs of several selections, in the order of the merged labels."""
    architectures, of_architecture = _joint_labels([one.architectures for one in selections])
    datasets, of_dataset = _joint_labels([one.datasets for one in selections])
    numbered = [
        replace(one, architecture=a[one.architecture], dataset=d[one.dataset])
        for one, a, d in zip(selections, of_architecture, of_dataset, strict=True)
    ]
    everything = Selection(
        architectures,
        datasets,
        *(
            np.concatenate([getattr(one, name) for one in numbered])
            for name in ("architecture", "dataset", "replicate", "error")
        ),
    )
    keys = (everything.replicate, everything.dataset, everything.architecture)
    return everything[np.lexsort(keys)]


def _joint_labels(parts: Sequence[Labels]) -> tuple[Labels, list[np.ndarray]]:
    """All names, those of the studies first, and the place of every part's names among them."""
    of_studies = [name for part in parts for name in part.names[: part.of_study]]
    others = [name for part in parts for name in part.names[part.of_study :]]
    names = list(dict.fromkeys([*of_studies, *others]))
    place = {name: number for number, name in enumerate(names)}
    places = [np.array([place[name] for name in part.names], np.int32) for part in parts]
    return Labels(np.array(names, object), len(set(of_studies))), places
