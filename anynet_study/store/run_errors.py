"""Runs and evaluations to tables of errors: on which metric, and how replicates are reduced.

Pure functions of tables whose texts are categories, as `results` reads them from one store or
from several.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from anynet_study.core.errors import DoesNotApplyError, UserError
from anynet_study.core.metrics import CURVES, Metric

if TYPE_CHECKING:
    import pandas as pd

#: How the runs of one architecture on one dataset become one number, or stay several.
Reduction = Literal["mean", "first", "each"]


def check_metric(metric: str | None) -> None:
    """Raises UserError for a text that is no metric."""
    if metric is not None and metric not in get_args(Metric):
        raise UserError(f"metric {metric!r}: legal are {', '.join(get_args(Metric))}")


def on_metric(runs: "pd.DataFrame", metric: str, final: "pd.Series[Any]") -> NDArray[np.float64]:
    """Every run's error on `metric` in percent, NaN where it has none.

    A run's own error where that is its metric. Else the end of its curve, which `final` has by
    run_id; for a diverged run the error of guessing uniformly among `classes`. `runs` has the
    columns run_id, metric, status, error and classes.
    """
    error = runs["error"].to_numpy()
    own = (runs["metric"] == metric).to_numpy()
    if f"test_{metric}" not in CURVES:
        return np.asarray(np.where(own, error, np.nan))
    guesses = 5 if metric == "top5" else 1
    guessing = np.maximum(0.0, 100.0 * (1.0 - guesses / runs["classes"].to_numpy(float)))
    ends = final.reindex(runs["run_id"].to_numpy()).to_numpy(np.float64)
    status = runs["status"].to_numpy()
    other = np.select([status == "completed", status == "diverged"], [ends, guessing], np.nan)
    return np.asarray(np.where(own, error, other))


def error_table(
    errors: "pd.DataFrame",
    architectures: Sequence[str],
    datasets: Sequence[str],
    replicates: str,
) -> "pd.DataFrame":
    """Architecture x dataset, in the order of the study; what only `errors` name comes after.

    `errors` has the columns architecture, dataset, replicate, and error, in percent. `replicates`
    is a Reduction; "each": (architecture, replicate) x dataset. Means that are equal to nine
    decimals, or equal another error, are ties: far less than one image of a test set apart.
    """
    import pandas as pd

    if replicates not in get_args(Reduction):
        raise UserError(f"replicates {replicates!r}: legal are {', '.join(get_args(Reduction))}")
    errors = in_order(errors, architectures, datasets)
    index = ["architecture", "replicate"] if replicates == "each" else ["architecture"]
    cells = errors.groupby([*index, "dataset"], observed=True)["error"]
    table = (cells.first() if replicates == "first" else cells.mean()).unstack("dataset")
    if replicates == "mean" and (cells.size() > 1).any():  # sums of equal errors differ by rounding
        table = table.apply(lambda column: column.groupby(column.round(9)).transform("min"))
    rows = pd.Index(errors["architecture"].cat.categories.tolist(), name="architecture")
    if replicates == "each":
        rows = pd.MultiIndex.from_tuples(table.index.tolist(), names=index)
    columns = errors["dataset"].cat.categories.tolist()
    table = table.reindex(index=rows, columns=columns)
    return pd.DataFrame(table.to_numpy(np.float64), index=rows, columns=columns)


def best_trials(trials: "pd.DataFrame", recipe: str, count: int) -> list[str]:
    """The run_ids of the best of the first `count` trials, by validation errors; of equal ones the
    first. Nothing of architectures on datasets on which not all of these have ended.

    `trials` as of `Results.trials`. Raises UserError for a recipe that has no such trials.
    """
    mine = trials[(trials["tuned"] == recipe) & (trials["replicate"] == 0)]
    if mine.empty:
        raise UserError(f"best: the recipe {recipe} is not tuned")
    if (mine["rung"] > 0).any():
        raise UserError(f"best: {recipe} was tuned by halving, of which there is no smaller part")
    most = int(mine["trial"].max()) + 1
    if not 1 <= count <= most:
        raise UserError(f"best: {count}: {recipe} has {most} trials; legal: 1 to {most}")
    mine = mine[(mine["trial"] < count) & (mine["status"] != "failed")]
    mine = mine.assign(known=mine["validation_error"].fillna(np.inf))
    cells = ["architecture", "dataset"]
    mine = mine[mine.groupby(cells)["trial"].transform("size") == count]
    mine = mine.sort_values(["known", "trial"], kind="stable")
    return [str(run_id) for run_id in mine.drop_duplicates(cells)["run_id"]]


def in_order(
    errors: "pd.DataFrame", architectures: Sequence[str], datasets: Sequence[str]
) -> "pd.DataFrame":
    """The rows by architecture and dataset, as the study orders them, and replicate.

    The names of the study are the first categories; others that occur follow, as they were.
    """
    for name, known in (("architecture", architectures), ("dataset", datasets)):
        seen = errors[name].cat.remove_unused_categories().cat.categories
        names = list(dict.fromkeys([*known, *seen]))
        errors = errors.assign(**{name: errors[name].cat.set_categories(names)})
    return errors.sort_values(["architecture", "dataset", "replicate"], kind="stable")


def check_alike(dataset: str, evaluations: "pd.DataFrame") -> None:
    """Raises DoesNotApplyError where a name in `evaluations` stands for unlike evaluations."""
    pairs = evaluations[["evaluation", "evaluation_id"]].astype(str).drop_duplicates()
    twice = pairs[pairs["evaluation"].duplicated(keep=False)].sort_values("evaluation")
    if len(twice):
        name = twice["evaluation"].iloc[0]
        ids = sorted(twice["evaluation_id"][twice["evaluation"] == name])[:2]
        raise DoesNotApplyError(
            f"{name} on {dataset} is several evaluations ({', '.join(ids)}): errors of it cannot "
            f"be put together"
        )
