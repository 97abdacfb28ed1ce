"""Runs to errors: which runs count, on which metric, and how replicates are reduced."""

from dataclasses import dataclass, fields
from typing import Any, get_args

import h5py
import numpy as np
import pandas as pd
from numpy.typing import NDArray

from anynet_study.errors import UserError
from anynet_study.store.columns import read_column
from anynet_study.store.record import Metric


@dataclass(frozen=True)
class Selection:
    """The runs that have an error, in the order of the store; arrays of one length."""

    #: Indices into /labels/architecture and /labels/dataset.
    architecture: NDArray[np.int32]
    dataset: NDArray[np.int32]
    replicate: NDArray[np.int32]
    #: In percent.
    error: NDArray[np.float64]

    def __getitem__(self, rows: Any) -> "Selection":
        return Selection(*(getattr(self, field.name)[rows] for field in fields(self)))


def run_errors(file: h5py.File, metric: str | None, recipe: str | None) -> Selection:
    """The planned runs of a recipe that have an error on `metric` (None: each run's own)."""
    if metric is not None and metric not in get_args(Metric):
        raise UserError(f"metric {metric!r}: legal are {', '.join(get_args(Metric))}")
    runs = file["runs"]
    planned = runs["planned"][()].astype(bool)
    of_recipe = runs["recipe"][()] == _recipe_code(file, recipe)
    error = runs["error"][()] if metric is None else _on_metric(file, metric)
    rows = np.flatnonzero(planned & of_recipe & ~np.isnan(error))
    everything = Selection(
        architecture=runs["architecture"][()],
        dataset=runs["dataset"][()],
        replicate=runs["replicate"][()],
        error=error,
    )
    return everything[rows]


def error_table(file: h5py.File, selection: Selection, replicates: str) -> pd.DataFrame:
    """Architecture x dataset, in the order of the study; what only runs name comes after."""
    architectures = read_column(file["labels"], "architecture")
    datasets = read_column(file["labels"], "dataset")
    shape = (len(architectures), len(datasets))
    cell = selection.architecture.astype(np.int64) * shape[1] + selection.dataset
    if replicates == "first":  # the store is ordered by replicate within a cell
        _, rows = np.unique(cell, return_index=True)
        selection, cell = selection[rows], cell[rows]
    size = shape[0] * shape[1]
    count = np.bincount(cell, minlength=size)
    total = np.bincount(cell, weights=selection.error, minlength=size)
    with np.errstate(invalid="ignore"):
        values = (total / count).reshape(shape)
    table = pd.DataFrame(values, index=pd.Index(architectures, name="architecture"))
    table.columns = pd.Index(datasets)
    rows_there = _of_study_or_seen(file["architectures/architecture"], selection.architecture)
    columns_there = _of_study_or_seen(file["datasets/dataset"], selection.dataset)
    return table.iloc[rows_there, columns_there]


def _of_study_or_seen(of_study: h5py.Dataset, seen: NDArray[np.int32]) -> NDArray[np.int64]:
    return np.union1d(np.arange(len(of_study)), seen)


def _recipe_code(file: h5py.File, recipe: str | None) -> int:
    recipes = list(read_column(file["labels"], "recipe"))
    if recipe is None:
        return 0
    if recipe not in recipes:
        raise UserError(f"no recipe {recipe} in {file.filename}; there are: {', '.join(recipes)}")
    return recipes.index(recipe)


def _on_metric(file: h5py.File, metric: str) -> NDArray[np.float64]:
    """Every run's error on `metric`: stated, or the end of its curve, or of uniform guessing."""
    runs, metrics = file["runs"], list(read_column(file["labels"], "metric"))
    statuses = list(read_column(file["labels"], "status"))
    offsets = file["curves/offsets"][()]
    curve = np.append(file["curves"][f"test_{metric}"][()].astype(np.float64), np.nan)
    final = np.where(np.diff(offsets) > 0, curve[offsets[1:] - 1], np.nan)
    classes = np.append(file["datasets/classes"][()].astype(np.float64), np.nan)
    guesses = 5 if metric == "top5" else 1
    dataset = np.minimum(runs["dataset"][()], len(classes) - 1)
    guessing = np.maximum(0.0, 100.0 * (1.0 - guesses / classes[dataset]))
    status = np.array(statuses, object)[runs["status"][()]]
    other = np.select([status == "completed", status == "diverged"], [final, guessing], np.nan)
    own = np.array(metrics, object)[runs["metric"][()]] == metric
    return np.asarray(np.where(own, runs["error"][()], other))
