"""Runs and evaluations to errors: which count, on which metric, and how replicates are reduced."""

from dataclasses import dataclass, replace
from typing import Any, Literal, get_args

import h5py
import numpy as np
import pandas as pd
from numpy.typing import NDArray

from anynet_study.errors import UserError
from anynet_study.metrics import CURVES, Metric
from anynet_study.store.hdf5 import read_column
from anynet_study.store.tables import Rows, evaluation_labels, evaluation_values

#: How the runs of one architecture on one dataset become one number, or stay several.
Reduction = Literal["mean", "first", "each"]


@dataclass(frozen=True)
class Labels:
    """Names in the order of a study."""

    names: NDArray[np.object_]
    #: How many of them, from the first, the study itself has; runs of others name the rest.
    of_study: int

    def shown(self, seen: NDArray[Any]) -> NDArray[np.int64]:
        """The study's own, and of the rest those that are seen."""
        there = np.arange(len(self.names)) < self.of_study
        there[seen] = True
        return np.flatnonzero(there)


@dataclass(frozen=True)
class Selection:
    """The runs that have an error, ordered by architecture, dataset, replicate."""

    architectures: Labels
    datasets: Labels
    #: Indices into `architectures` and `datasets`, one a run, as the rest is.
    architecture: NDArray[np.int32]
    dataset: NDArray[np.int32]
    replicate: NDArray[np.int32]
    #: In percent.
    error: NDArray[np.float64]

    def __getitem__(self, rows: Any) -> "Selection":
        arrays = ("architecture", "dataset", "replicate", "error")
        return replace(self, **{name: getattr(self, name)[rows] for name in arrays})


def run_errors(
    file: h5py.File,
    metric: str | None,
    recipe: str | None,
    counted: NDArray[np.bool_] | None = None,
) -> Selection:
    """The runs of a recipe that have an error on `metric` (None: each run's own).

    `counted`: which runs come into question; None: the planned ones.
    """
    if metric is not None and metric not in get_args(Metric):
        raise UserError(f"metric {metric!r}: legal are {', '.join(get_args(Metric))}")
    runs = file["runs"]
    if counted is None:
        counted = runs["planned"][()].astype(bool)
    of_recipe = runs["recipe"][()] == recipe_code(file, recipe)
    error = runs["error"][()] if metric is None else _on_metric(file, metric)
    architectures = _labels(file, "architecture", "architectures")
    datasets = _labels(file, "dataset", "datasets")
    everything = Selection(
        architectures=architectures,
        datasets=datasets,
        architecture=_codes(file, "architecture", architectures),
        dataset=_codes(file, "dataset", datasets),
        replicate=runs["replicate"][()],
        error=error,
    )
    return everything[np.flatnonzero(counted & of_recipe & ~np.isnan(error))]


def error_table(selection: Selection, replicates: str) -> pd.DataFrame:
    """Architecture x dataset, in the order of the study; what only runs name comes after.

    `replicates` "each": (architecture, replicate) x dataset.
    """
    if replicates not in get_args(Reduction):
        raise UserError(f"replicates {replicates!r}: legal are {', '.join(get_args(Reduction))}")
    columns = selection.datasets.shown(selection.dataset)
    names = pd.Index(selection.datasets.names[columns])
    if replicates == "each":
        row, index = _replicate_rows(selection)
    else:
        shown = selection.architectures.shown(selection.architecture)
        index = pd.Index(selection.architectures.names[shown], name="architecture")
        row = np.searchsorted(shown, selection.architecture)
    cell = row.astype(np.int64) * len(columns) + np.searchsorted(columns, selection.dataset)
    values = _reduced(cell, selection.error, len(index) * len(columns), replicates != "first")
    return pd.DataFrame(values.reshape(len(index), len(columns)), index=index, columns=names)


def _replicate_rows(selection: Selection) -> tuple[NDArray[np.int64], pd.MultiIndex]:
    """The row of every run in a table of (architecture, replicate), and that table's index."""
    most = int(selection.replicate.max(initial=0)) + 1
    pair = selection.architecture.astype(np.int64) * most + selection.replicate
    unique, row = np.unique(pair, return_inverse=True)
    names = selection.architectures.names[unique // most]
    index = pd.MultiIndex.from_arrays([names, unique % most], names=["architecture", "replicate"])
    return row, index


def _reduced(
    cell: NDArray[np.int64], error: NDArray[np.float64], size: int, mean: bool
) -> NDArray[np.float64]:
    """The mean of the errors in every cell, or the first of them; NaN where there is none."""
    if not mean:
        cell, first = np.unique(cell, return_index=True)
        error = error[first]
    count = np.bincount(cell, minlength=size)
    with np.errstate(invalid="ignore"):
        return np.asarray(np.bincount(cell, weights=error, minlength=size) / count)


def _labels(file: h5py.File, column: str, table: str) -> Labels:
    return Labels(read_column(file["labels"], column), len(file[table][column]))


def _codes(file: h5py.File, column: str, labels: Labels) -> NDArray[np.int32]:
    """Indices into `labels`. Raises IndexError, here where the file is known, for one beyond."""
    codes: NDArray[np.int32] = file["runs"][column][()]
    if len(codes) and not 0 <= codes.min() <= codes.max() < len(labels.names):
        raise IndexError(f"/runs/{column} has integers beyond the {len(labels.names)} labels")
    return codes


def recipe_code(file: h5py.File, recipe: str | None) -> int:
    """The integer that stands for a recipe (None: the main one). Raises UserError for another."""
    recipes = list(read_column(file["labels"], "recipe"))
    if recipe is None:
        return 0
    if recipe not in recipes:
        raise UserError(f"no recipe {recipe} in {file.filename}; there are: {', '.join(recipes)}")
    return recipes.index(recipe)


def _on_metric(file: h5py.File, metric: str) -> NDArray[np.float64]:
    """Every run's error on `metric`: stated, or the end of its curve, or of uniform guessing.

    On another metric than its own a run has an error where there is a curve of it.
    """
    runs, metrics = file["runs"], list(read_column(file["labels"], "metric"))
    own = np.array(metrics, object)[runs["metric"][()]] == metric
    if f"test_{metric}" not in CURVES:
        return np.where(own, runs["error"][()], np.nan)
    statuses = list(read_column(file["labels"], "status"))
    offsets = file["curves/offsets"][()]
    curve = np.append(file["curves"][f"test_{metric}"][()].astype(np.float64), np.nan)
    final = np.where(np.diff(offsets) > 0, curve[offsets[1:] - 1], np.nan)
    known = file["datasets/classes"][()] if "classes" in file["datasets"] else np.empty(0)
    classes = np.append(known.astype(np.float64), np.nan)
    guesses = 5 if metric == "top5" else 1
    dataset = np.minimum(runs["dataset"][()], len(classes) - 1)
    guessing = np.maximum(0.0, 100.0 * (1.0 - guesses / classes[dataset]))
    status = np.array(statuses, object)[runs["status"][()]]
    other = np.select([status == "completed", status == "diverged"], [final, guessing], np.nan)
    return np.asarray(np.where(own, runs["error"][()], other))


def evaluation_selection(
    file: h5py.File,
    dataset: str,
    metric: str,
    recipe: str | None,
    counted: NDArray[np.bool_] | None = None,
) -> Selection:
    """The errors of the evaluations of runs of a recipe on a dataset; as datasets, their names.

    `counted`: which evaluations come into question; None: the planned ones. Raises UserError
    where a name stands for several evaluations of the runs.
    """
    if metric not in get_args(Metric):
        raise UserError(f"metric {metric!r}: legal are {', '.join(get_args(Metric))}")
    run = evaluation_values(file, "run", None, np.int32)
    if counted is None:
        counted = evaluation_values(file, "planned", None, np.uint8).astype(bool)
    datasets = read_column(file["labels"], "dataset").tolist()
    mine = file["runs/recipe"][()] == recipe_code(file, recipe)
    code = datasets.index(dataset) if dataset in datasets else -1
    rows = np.flatnonzero(counted & (mine & (file["runs/dataset"][()] == code))[run])
    names = np.array(evaluation_labels(file, "evaluation"), object)
    name = evaluation_values(file, "evaluation", rows, np.int32)
    _refuse_unlike(file, dataset, names, name, rows)
    found = Selection(
        architectures=Labels(
            read_column(file["labels"], "architecture"), len(file["architectures/architecture"])
        ),
        datasets=Labels(names, 0),
        architecture=file["runs/architecture"][()][run[rows]],
        dataset=name,
        replicate=file["runs/replicate"][()][run[rows]],
        error=_errors(file, metric, rows, run[rows]),
    )
    found = found[~np.isnan(found.error)]
    return found[np.lexsort((found.replicate, found.dataset, found.architecture))]


def _errors(file: h5py.File, metric: str, rows: Rows, run: Rows) -> NDArray[np.float64]:
    """On `metric`: every evaluation's top-1 and top-5, others where it is that of its run."""
    if metric in ("top1", "top5"):
        return np.asarray(evaluation_values(file, metric, rows, np.float64))
    names = np.array(read_column(file["labels"], "metric"), object)
    own = names[file["runs/metric"][()][run]] == metric
    return np.where(own, evaluation_values(file, "error", rows, np.float64), np.nan)


def _refuse_unlike(
    file: h5py.File, dataset: str, names: NDArray[np.object_], name: NDArray[np.int32], rows: Rows
) -> None:
    """Raises UserError where a name stands for unlike evaluations."""
    ids = evaluation_values(file, "evaluation_id", rows, np.int32)
    pairs = np.unique(np.stack([name, ids]), axis=1)
    twice = np.flatnonzero(np.diff(pairs[0]) == 0)
    if twice.size:
        texts = read_column(file["labels"], "evaluation_id")[pairs[1][twice[0] : twice[0] + 2]]
        raise UserError(
            f"{names[pairs[0][twice[0]]]} on {dataset} is several evaluations "
            f"({', '.join(texts)}): errors of it cannot be put together"
        )
