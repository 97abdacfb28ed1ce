"""The plain tables that a report or a set of figures starts from."""

from dataclasses import dataclass, field

import numpy as np
import pandas as pd

from anynet_study.apr import Roles
from anynet_study.errors import UserError
from anynet_study.store import ResultStore
from anynet_study.store.errors_table import Reduction

CURVE_COLUMNS = ["dataset", "architecture", "epoch", "error"]


@dataclass(frozen=True)
class Choice:
    """Which runs of a store count, and how they become one error."""

    #: None: the main one.
    recipe: str | None = None
    #: "top1" or "top5"; None: each dataset's own.
    metric: str | None = None
    replicates: Reduction = "mean"


@dataclass(frozen=True)
class StudyTables:
    """What is known of a study; None for what it does not have."""

    #: Architectures x datasets, percent, NaN = missing.
    errors: pd.DataFrame
    #: Columns of `Population.to_pandas()`.
    population: pd.DataFrame | None = None
    roles: Roles | None = None
    #: Long: architecture, dataset, replicate, error.
    replicates: pd.DataFrame | None = None
    #: Long: dataset, architecture, epoch, error; the first replicate's test error on its metric.
    curves: pd.DataFrame | None = None
    #: "top1" or "top5" of each dataset.
    metrics: dict[str, str] = field(default_factory=dict)


def study_tables(
    store: ResultStore,
    roles: Roles | None = None,
    choice: Choice = Choice(),
) -> StudyTables:
    """Read a results store; `roles` replaces what it says of its datasets."""
    datasets = store.datasets()
    if choice.metric is not None:
        datasets = datasets.assign(metric=choice.metric)
    return StudyTables(
        errors=store.errors(choice.metric, choice.recipe, choice.replicates),
        population=store.architectures(),
        roles=roles or roles_of(datasets),
        replicates=store.replicates(choice.metric, choice.recipe),
        curves=curves_of(store, datasets, choice.recipe or next(iter(store.recipes), "")),
        metrics=dict(zip(datasets["dataset"], datasets["metric"], strict=True)),
    )


def roles_of(datasets: pd.DataFrame) -> Roles | None:
    """The roles that a store gives its datasets; None where there is no source or no target."""
    try:
        return Roles.from_datasets(datasets)
    except UserError:
        return None


def curves_of(store: ResultStore, datasets: pd.DataFrame, recipe: str) -> pd.DataFrame:
    """Test error after every epoch, of the first planned replicate of a recipe.

    Returns a long table with columns dataset, architecture, epoch and error (percent, on the
    dataset's own metric), in the order of the datasets. Diverged runs are in it while they last.
    """
    runs = store.runs(["run_id", "dataset", "architecture", "recipe", "replicate", "planned"])
    main = runs[runs["planned"] & (runs["recipe"] == recipe)] if len(runs) else runs
    first = main.sort_values("replicate", kind="stable").drop_duplicates(
        ["dataset", "architecture"]
    )
    curves = store.curves(metrics=("test_top1", "test_top5"))
    curves = curves[curves["run_id"].isin(set(first["run_id"]))]
    top5 = set(datasets.loc[datasets["metric"] == "top5", "dataset"])
    by_metric = np.where(curves["dataset"].isin(top5), curves["test_top5"], curves["test_top1"])
    curves = curves.assign(error=by_metric.astype(float))[CURVE_COLUMNS]
    order = {name: number for number, name in enumerate(datasets["dataset"])}
    return curves.sort_values("dataset", key=lambda names: names.map(order), kind="stable")
