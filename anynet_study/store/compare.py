"""Whether two stores hold the same results."""

from hashlib import blake2b
from pathlib import Path

import h5py
import numpy as np
import pandas as pd
from numpy.typing import NDArray

from anynet_study.metrics import CURVES
from anynet_study.store.columns import read_curve
from anynet_study.store.evaluations.reading import (
    COLUMNS,
    OF_RUN,
    evaluation_prediction_groups,
)
from anynet_study.store.layout import RUN_COLUMNS
from anynet_study.store.predictions import prediction_groups
from anynet_study.store.results import ResultStore

#: Columns of /runs that say how and where a run was made, not what it gave.
CIRCUMSTANCES = (
    "message",
    "seconds",
    "started",
    "host",
    "device",
    "torch_version",
    "code_version",
    "engine",
    "journal",
)


def stores_equal(a: Path | ResultStore, b: Path | ResultStore) -> list[str]:
    """Differences between the results of two stores, one line each; none if they are equal.

    Compared, bit for bit and whatever the order of the runs: the population, the datasets, every
    run's scalars, spec, curves and predictions with their true labels, and the evaluations.
    Not compared: CIRCUMSTANCES, provenance.
    """
    first, second = (
        store if isinstance(store, ResultStore) else ResultStore(store) for store in (a, b)
    )
    with first, second:
        return [
            *_differences("architecture", first.architectures(), second.architectures()),
            *_differences("dataset", first.datasets(), second.datasets()),
            *_differences("run_id", _results(first), _results(second)),
            *_differences("evaluation of", _evaluations(first), _evaluations(second)),
        ]


def _results(store: ResultStore) -> pd.DataFrame:
    """One row a run: its scalars, and digests of its curves and predictions."""
    columns = [name for name in RUN_COLUMNS if name not in CIRCUMSTANCES]
    runs = store.runs([*columns, "spec"])
    with store.file.open() as file:
        return runs.assign(curves=_curve_digests(file), predictions=_prediction_digests(file))


def _evaluations(store: ResultStore) -> pd.DataFrame:
    """One row an evaluation: its scalars, and a digest of its predictions."""
    names = [name for name in COLUMNS if name not in (*CIRCUMSTANCES, *OF_RUN[1:])]
    found = store.evaluations(names)
    digests = np.full(len(found), "", object)
    if len(found):
        with store.file.open() as file:
            for group in evaluation_prediction_groups(file):
                for line, row in enumerate(group["row"][()]):
                    classes = group["classes"][line].tobytes()
                    digests[row] = blake2b(classes, digest_size=8).hexdigest()
    key = found["run_id"] + " " + found["evaluation_id"]
    return found.assign(predictions=digests).assign(**{"evaluation of": key})


def _curve_digests(file: h5py.File) -> list[str]:
    offsets = file["curves/offsets"][()]
    digests = [blake2b(digest_size=8) for _ in offsets[1:]]
    for name in CURVES:
        curve = read_curve(file, name)
        for digest, start, stop in zip(digests, offsets[:-1], offsets[1:], strict=True):
            digest.update(curve[start:stop].tobytes())
    return [digest.hexdigest() for digest in digests]


def _prediction_digests(file: h5py.File) -> NDArray[np.object_]:
    digests = np.full(len(file["runs/run_id"]), "", object)
    for group in prediction_groups(file):
        labels = group["labels"][()].tobytes() if "labels" in group else b""
        for row, run in enumerate(group["run"][()]):
            both = group["classes"][row].tobytes() + labels
            digests[run] = blake2b(both, digest_size=8).hexdigest()
    return digests


def _differences(key: str, first: pd.DataFrame, second: pd.DataFrame) -> list[str]:
    if list(first.columns) != list(second.columns):
        return [f"columns of {key}: {list(first.columns)} against {list(second.columns)}"]
    if first.equals(second):
        return []
    first, second = first.set_index(key), second.set_index(key)
    both = first.index.intersection(second.index)
    lines = [f"{key} {name}: only in the first" for name in first.index.difference(both)]
    lines += [f"{key} {name}: only in the second" for name in second.index.difference(both)]
    left, right = first.loc[both], second.loc[both]
    for column in left.columns:
        one, other = left[column], right[column]
        unequal = (one != other) & ~(one.isna() & other.isna())
        lines += [
            f"{key} {name}: {column} {one[name]} against {other[name]}"
            for name in both[unequal.to_numpy()]
        ]
    return lines
