"""Whether two stores hold the same results."""

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from hashlib import blake2b
from itertools import pairwise
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pandas as pd
from numpy.typing import NDArray

from anynet_study.metrics import CURVES
from anynet_study.store.predictions import evaluation_prediction_groups, prediction_groups
from anynet_study.store.records import RUN_COLUMNS
from anynet_study.store.results import ResultStore
from anynet_study.store.tables import EVALUATION_TABLE, read_curve

#: Columns of /runs that say how and where a run was made, not what it gave.
CIRCUMSTANCES = ("message", *RUN_COLUMNS[RUN_COLUMNS.index("seconds") :])


@dataclass(frozen=True)
class Difference:
    """Something that two stores do not both have, or in which they differ."""

    #: What names the rows of their table, such as `run_id`, and the name of the row.
    key: str
    name: str
    #: "": the row is in one store alone.
    column: str
    what: str

    def __str__(self) -> str:
        return f"{self.key} {self.name}: {self.what}"


def stores_equal(a: Path | ResultStore, b: Path | ResultStore) -> list[str]:
    """Differences between the results of two stores, one line each; none if they are equal.

    Compared, bit for bit and whatever the order of the runs: the population, the datasets, every
    run's scalars, spec, curves and predictions with their true labels, and the evaluations.
    Not compared: CIRCUMSTANCES, provenance.
    """
    first, second = (
        store if isinstance(store, ResultStore) else ResultStore(store) for store in (a, b)
    )
    return [str(difference) for difference in differences(first, second, CIRCUMSTANCES)]


def differences(
    first: ResultStore, second: ResultStore, ignored: Collection[str]
) -> Iterator[Difference]:
    """Where two stores differ, but for some columns of runs and evaluations."""
    with first, second:
        both = (first, second)
        yield from _differences("architecture", *(store.architectures() for store in both))
        yield from _differences("dataset", *(store.datasets() for store in both))
        yield from _differences("run_id", *(_runs(store, ignored) for store in both))
        yield from _differences("evaluation of", *(_evaluations(store, ignored) for store in both))


def _runs(store: ResultStore, ignored: Collection[str]) -> pd.DataFrame:
    """One row per run: its scalars, and digests of its curves and predictions."""
    runs = store.runs([*(name for name in RUN_COLUMNS if name not in ignored), "spec"])
    with store.opened() as file:
        ends = file["curves/offsets"][()].tolist()
        every = [read_curve(file, name) for name in CURVES]
        curves = [
            _digest(b"".join(curve[begin:end].tobytes() for curve in every))
            for begin, end in pairwise(ends)
        ]
        predicted = _digests(prediction_groups(file), "run", len(runs))
    return runs.assign(curves=curves, predictions=predicted)


def _evaluations(store: ResultStore, ignored: Collection[str]) -> pd.DataFrame:
    """One row per evaluation: its scalars, and a digest of its predictions."""
    of_run = ("architecture", "dataset", "recipe", "replicate")
    found = store.evaluations([n for n in EVALUATION_TABLE if n not in (*ignored, *of_run)])
    with store.opened() as file:
        predicted = _digests(evaluation_prediction_groups(file), "row", len(found))
    key = found["run_id"] + " " + found["evaluation_id"]
    return found.assign(predictions=predicted).assign(**{"evaluation of": key})


def _digests(groups: Iterable[h5py.Group], index: str, count: int) -> NDArray[np.object_]:
    """Of the predictions of every row, with the true labels; "" where it has none."""
    digests = np.full(count, "", object)
    for group in groups:
        labels = group["labels"][()].tobytes() if "labels" in group else b""
        for row, classes in zip(group[index][()], group["classes"][()], strict=True):
            digests[row] = _digest(classes.tobytes() + labels)
    return digests


def _digest(data: bytes) -> str:
    return blake2b(data, digest_size=8).hexdigest()


def _differences(key: str, first: pd.DataFrame, second: pd.DataFrame) -> Iterator[Difference]:
    if list(first.columns) != list(second.columns):
        columns = f"{list(first.columns)} against {list(second.columns)}"
        yield Difference("columns of", key, "", columns)
        return
    if first.equals(second):
        return
    first, second = first.set_index(key), second.set_index(key)
    both = first.index.intersection(second.index)
    for index, which in ((first.index, "first"), (second.index, "second")):
        for name in index.difference(both):
            yield Difference(key, str(name), "", f"only in the {which}")
    left, right = first.loc[both], second.loc[both]
    for column in left.columns:
        mine: pd.Series[Any] = left[column]
        other: pd.Series[Any] = right[column]
        unequal = (mine != other) & ~(mine.isna() & other.isna())
        for name in both[unequal.to_numpy()]:
            what = f"{column} {mine[name]} against {other[name]}"
            yield Difference(key, str(name), column, what)
