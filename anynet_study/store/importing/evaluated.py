"""The evaluations of the stores among the parts, as those of one store."""

from collections.abc import Mapping, Sequence
from typing import Any

import h5py
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from anynet_study.store.columns import read_column
from anynet_study.store.evaluations.catalogue import NUMBERS
from anynet_study.store.evaluations.reading import evaluations_table
from anynet_study.store.evaluations.sources import StoredEvaluations
from anynet_study.store.evaluations.writing import CODED, Ordered, in_order
from anynet_study.store.importing.merging import Merged
from anynet_study.store.importing.part import Part
from anynet_study.store.layout import EVALUATION_CODED
from anynet_study.store.order import codes_of
from anynet_study.store.ragged import interleaved
from anynet_study.store.sources import Rows

_COLUMNS = (*NUMBERS, "predicted", "planned", *CODED)


def with_evaluations(parts: Sequence[Part]) -> list[tuple[int, h5py.File]]:
    """The stores that have any, with their numbers."""
    files = ((number, part.evaluations) for number, part in enumerate(parts))
    return [(number, file) for number, file in files if file is not None]


def merged_evaluations(
    parts: Sequence[Part], merged: Merged
) -> tuple[Ordered, dict[str, list[str]]]:
    """All evaluations in order, `row` counting them part by part; and the labels they need."""
    stores = with_evaluations(parts)
    tables = [evaluations_table(file, _COLUMNS) for _, file in stores]
    runs = [np.empty(0, np.int64)]
    for number, file in stores:
        mine = merged.part == number
        place = np.empty(int(mine.sum()), np.int64)
        place[merged.row[mine]] = np.flatnonzero(mine)
        runs.append(place[file["evaluations/run"][()]])
    nothing = pa.table({name: pa.array([], _kind(name)) for name in _COLUMNS})
    table = pa.concat_tables([nothing, *tables]).unify_dictionaries().combine_chunks()
    labels = _labels(stores, merged.labels)
    codes = {name: codes_of(table[name], labels[name]) for name in CODED}
    planned = table["planned"].to_numpy(zero_copy_only=False).astype(bool)
    found = Ordered(table, np.arange(len(table)), np.concatenate(runs), codes, planned)
    return in_order(found), labels


def _kind(name: str) -> pa.DataType:
    if name in CODED:
        return pa.dictionary(pa.int32(), pa.string())
    if name == "planned":
        return pa.bool_()
    return pa.int32() if name in ("images", "predicted") else pa.float64()


def _labels(
    stores: Sequence[tuple[int, h5py.File]], of_runs: Mapping[str, list[str]]
) -> dict[str, list[str]]:
    """Names in the order of the stores; those that runs have too begin with theirs."""
    labels = {name: list(of_runs.get(name, [])) for name in CODED}
    for name in CODED:
        texts = [text for _, file in stores for text in read_column(file["labels"], name)]
        labels[name] = list(dict.fromkeys([*labels[name], *texts]))
    for name in EVALUATION_CODED[1:]:
        labels[name].sort()
    return labels


class PartedEvaluations:
    """Predictions of the evaluations of several stores."""

    def __init__(self, parts: Sequence[Part], found: Ordered) -> None:
        files = [file for _, file in with_evaluations(parts)]
        counts = [len(file["evaluations/run"]) for file in files]
        self._first = np.cumsum([0, *counts])
        self._stores = [StoredEvaluations(file, np.arange(len(found.row))) for file in files]
        self._row = found.row
        self._lengths = found.table["predicted"].to_numpy().astype(np.int64)

    def arrays(self, rows: Rows) -> Mapping[str, NDArray[Any]]:
        """As `sources.Source` has them."""
        place, pieces = self._row[rows], []
        for store, first, stop in zip(self._stores, self._first, self._first[1:], strict=False):
            mine = np.flatnonzero((place >= first) & (place < stop))
            if mine.size:
                pieces.append((mine, store.arrays(place[mine] - first)["predictions"]))
        return {"predictions": interleaved(pieces, self._lengths[rows])}
