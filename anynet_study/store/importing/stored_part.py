"""A results store as a part of another."""

from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from anynet_study.metrics import CURVES
from anynet_study.store.attributes import get_text
from anynet_study.store.columns import absent_curve, read_coded
from anynet_study.store.importing.part import RUNS, Part, Truth
from anynet_study.store.importing.table_part import entry
from anynet_study.store.layout import CODED
from anynet_study.store.predictions import prediction_groups
from anynet_study.store.results import ResultStore

#: Elements of an array that are read at a time, around the one that is asked for.
READ_AT_ONCE = 1 << 18


def stored_part(path: Path, file: h5py.File) -> Part:
    """The store at `path`, open as `file` until the part is used up."""
    store = ResultStore(path)
    return Part(
        name=str(path),
        runs=_runs(file),
        arrays=StoredRuns(file),
        architectures=_known(store.table("architectures")),
        datasets=_known(store.table("datasets")),
        journals=store.table("journals"),
        provenance={**entry(path, {}), "provenance": store.provenance},
        truth=_truth(file),
        evaluations=file if "evaluations" in file else None,
    )


class StoredRuns:
    """The arrays of a store's runs, read as they are asked for."""

    def __init__(self, file: h5py.File) -> None:
        self._spec = _Ragged(file["specs"], "text")
        there = [name for name in CURVES if not absent_curve(file, name)]
        self._curves = {name: _Ragged(file["curves"], name) for name in there}
        self._images = file["runs/images"][()]
        self._places: dict[int, tuple[h5py.Dataset, int]] = {
            int(run): (group["classes"], row)
            for group in prediction_groups(file)
            for row, run in enumerate(group["run"][()])
        }

    def spec(self, row: int) -> bytes:
        return self._spec.read(row).tobytes()

    def curve(self, name: str, row: int) -> NDArray[np.float32]:
        if name not in self._curves:
            return np.full(len(self.curve("test_loss", row)), np.nan, np.float32)
        return self._curves[name].read(row)

    def predictions(self, row: int) -> NDArray[np.uint16]:
        classes, place = self._places[row]
        return np.asarray(classes[place][: self._images[row]])


class _Ragged:
    """One array of a ragged group; asked for in order, it is read once."""

    def __init__(self, group: h5py.Group, name: str) -> None:
        self._values: h5py.Dataset = group[name]
        self._offsets = group["offsets"][()]
        self._first = 0
        self._held: NDArray[Any] = np.empty(0)

    def read(self, row: int) -> NDArray[Any]:
        start, stop = int(self._offsets[row]), int(self._offsets[row + 1])
        if start < self._first or stop > self._first + len(self._held):
            self._first = start
            self._held = self._values[start : max(stop, start + READ_AT_ONCE)]
        return self._held[start - self._first : stop - self._first]


def _runs(file: h5py.File) -> pa.Table:
    columns = []
    for name, kind in zip(RUNS.names, RUNS.types, strict=True):
        if name in CODED:
            codes, texts = read_coded(file, name)
            labels = pa.array(texts, pa.string())
            columns.append(pa.DictionaryArray.from_arrays(pa.array(codes, pa.int32()), labels))
            continue
        values = file["runs"][name][()]
        if name == "run_id":
            columns.append(pa.array(values.astype(str), kind))
        else:
            columns.append(pa.array(values, kind))
    return pa.table(columns, schema=RUNS)


def _known(table: pa.Table) -> pa.Table:
    """Missing text, which a store holds as "", is missing again."""
    for number, column in enumerate(table.columns):
        if pa.types.is_string(column.type):
            there = pc.if_else(pc.equal(column, ""), pa.scalar(None, pa.string()), column)
            table = table.set_column(number, table.column_names[number], there)
    return table


def _truth(file: h5py.File) -> dict[str, Truth]:
    return {
        get_text(group, "dataset"): Truth(
            get_text(group, "kind", "class"),
            group["labels"][()] if "labels" in group else None,
        )
        for group in prediction_groups(file)
    }
