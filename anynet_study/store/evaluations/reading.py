"""The evaluations of one results file as Arrow tables, and as errors."""

from collections.abc import Iterator, Sequence
from typing import Any, get_args

import h5py
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from anynet_study.errors import UserError
from anynet_study.metrics import Metric
from anynet_study.store.arrow_columns import run_column
from anynet_study.store.arrow_tables import check_columns
from anynet_study.store.columns import read_column
from anynet_study.store.errors_table import Labels, Selection, recipe_code
from anynet_study.store.layout import EVALUATION_CODED, EVALUATION_COLUMNS, evaluation_group

#: Columns that an evaluation has of its run.
OF_RUN = ("run_id", "architecture", "dataset", "recipe", "replicate")
#: What is shown of evaluations where nothing else is said.
SHOWN = (
    *OF_RUN,
    "evaluation",
    "evaluation_id",
    "images",
    "loss",
    "top1",
    "top5",
    "error",
    "seconds",
    "planned",
)
#: And all that there is.
COLUMNS = (*SHOWN, *(name for name in EVALUATION_COLUMNS if name not in (*SHOWN, "run")))
_TEXTS = (*EVALUATION_CODED, "host", "journal")

Rows = NDArray[np.int64]


def evaluations_table(
    file: h5py.File, columns: Sequence[str], rows: Rows | None = None
) -> pa.Table:
    """These of COLUMNS, one row an evaluation (`rows`: of these only, ascending)."""
    check_columns(columns, COLUMNS)
    return pa.table({name: _column(file, name, rows) for name in columns})


def _column(file: h5py.File, name: str, rows: Rows | None) -> pa.Array:
    if name in OF_RUN:
        run = pa.array(_values(file, "run", rows, np.int32))
        return run_column(file, name).take(run)
    if name in _TEXTS:
        codes = pa.array(_values(file, name, rows, np.int32))
        return pa.DictionaryArray.from_arrays(codes, pa.array(_labels(file, name), pa.string()))
    if name == "planned":
        return pa.array(_values(file, name, rows, np.uint8).astype(bool))
    kind = np.int32 if name in ("images", "predicted") else np.float64
    return pa.array(_values(file, name, rows, kind), from_pandas=True)


def _labels(file: h5py.File, name: str) -> list[str]:
    return list(read_column(file["labels"], name)) if name in file["labels"] else []


def _values(file: h5py.File, name: str, rows: Rows | None, kind: type) -> NDArray[Any]:
    """A column as it is stored; of none in files of before there were evaluations."""
    if "evaluations" not in file:
        return np.empty(0, kind)
    if name == "error" and name not in file["evaluations"]:  # of before version 5
        return np.full(len(file["evaluations/run"]) if rows is None else len(rows), np.nan)
    values: NDArray[Any] = file["evaluations"][name][()]
    return values if rows is None else values[rows]


def evaluation_keys(file: h5py.File) -> pa.Array:
    """Of every row a text that names its run and evaluation_id."""
    table = evaluations_table(file, ["run_id", "evaluation_id"])
    ids = table["evaluation_id"].cast(pa.string())
    return pc.binary_join_element_wise(table["run_id"], ids, " ").combine_chunks()


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
    run = _values(file, "run", None, np.int32)
    if counted is None:
        counted = _values(file, "planned", None, np.uint8).astype(bool)
    datasets = read_column(file["labels"], "dataset").tolist()
    mine = file["runs/recipe"][()] == recipe_code(file, recipe)
    code = datasets.index(dataset) if dataset in datasets else -1
    rows = np.flatnonzero(counted & (mine & (file["runs/dataset"][()] == code))[run])
    names = np.array(_labels(file, "evaluation"), object)
    name = _values(file, "evaluation", rows, np.int32)
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
        return np.asarray(_values(file, metric, rows, np.float64))
    names = np.array(read_column(file["labels"], "metric"), object)
    own = names[file["runs/metric"][()][run]] == metric
    return np.where(own, _values(file, "error", rows, np.float64), np.nan)


def _refuse_unlike(
    file: h5py.File, dataset: str, names: NDArray[np.object_], name: NDArray[np.int32], rows: Rows
) -> None:
    """Raises UserError where a name stands for unlike evaluations."""
    ids = _values(file, "evaluation_id", rows, np.int32)
    pairs = np.unique(np.stack([name, ids]), axis=1)
    twice = np.flatnonzero(np.diff(pairs[0]) == 0)
    if twice.size:
        texts = read_column(file["labels"], "evaluation_id")[pairs[1][twice[0] : twice[0] + 2]]
        raise UserError(
            f"{names[pairs[0][twice[0]]]} on {dataset} is several evaluations "
            f"({', '.join(texts)}): errors of it cannot be put together"
        )


def evaluation_predictions_in(file: h5py.File, dataset: str, evaluation: str) -> h5py.Group:
    """The group of predictions of an evaluation. Raises UserError where there is none."""
    group = file.get(evaluation_group(dataset, evaluation))
    if group is None:
        there = list(dict.fromkeys(evaluations_with_predictions(file, dataset)))
        said = f"there are: {', '.join(there)}" if there else "of none there are any"
        raise UserError(f"no predictions of evaluation {evaluation} on {dataset}; {said}")
    return group


def evaluations_with_predictions(file: h5py.File, dataset: str) -> list[str]:
    """Names of the evaluations of runs on a dataset of which there are predictions."""
    parent = evaluation_group(dataset, "x").rpartition("/")[0]
    names = _labels(file, "evaluation") if parent in file else []
    return [name for name in names if evaluation_group(dataset, name) in file]


def evaluation_prediction_groups(file: h5py.File) -> Iterator[h5py.Group]:
    """The groups of predictions of all evaluations."""
    parent = file["evaluations/predictions"]
    return (parent[dataset][name] for dataset in parent for name in parent[dataset])
