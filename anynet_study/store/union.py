"""Which runs of several stores count, and where the stores disagree."""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from anynet_study.store.columns import read_column
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
