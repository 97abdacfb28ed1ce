"""From a results store to the tables of a study."""

from functools import partial

import numpy as np
import pandas as pd

from anynet_study.apr import Roles
from anynet_study.errors import UserError
from anynet_study.report.predictions import choices_of, predicted_of
from anynet_study.report.study import Choice, StudyTables
from anynet_study.store import ResultStore

CURVE_COLUMNS = ["dataset", "architecture", "epoch", "error", "train_top1"]


def study_tables(
    store: ResultStore,
    roles: Roles | None = None,
    choice: Choice = Choice(),  # noqa: B008 - it is frozen
) -> StudyTables:
    """Read a results store; `roles` replaces what it says of its datasets.

    Predictions are read when they are asked for: keep the store open till then (`with store:`).
    """
    datasets = store.datasets()
    if choice.metric is not None:
        datasets = datasets.assign(metric=choice.metric)
    recipe = choice.recipe or next(iter(store.recipes), "")
    curves = curves_of(store, datasets, recipe)
    shifted = shifted_of(store, choice, recipe)
    how = (choice.metric, choice.recipe, choice.replicates)
    return StudyTables(
        errors=store.errors(*how),
        population=store.architectures(),
        roles=roles or roles_of(datasets),
        replicates=store.replicates(choice.metric, choice.recipe),
        curves=curves.drop(columns="train_top1"),
        metrics=dict(zip(datasets["dataset"], datasets["metric"], strict=True)),
        datasets=datasets,
        training_errors=final_training_errors(curves),
        costs=costs_of(store, recipe),
        recipes={
            name: store.errors(choice.metric, name, choice.replicates)
            for name in store.recipes
            if name != recipe
        },
        by_metric=by_metric_of(store, choice),
        shifted=shifted,
        images=images_of(store, datasets) if shifted else {},
        predicted=partial(predicted_of, store, recipe),
        choices=choices_of(store),
    )


def roles_of(datasets: pd.DataFrame) -> Roles | None:
    """The roles that a store gives its datasets; None where there is no source or no target."""
    try:
        return Roles.from_datasets(datasets)
    except UserError:
        return None


def curves_of(store: ResultStore, datasets: pd.DataFrame, recipe: str) -> pd.DataFrame:
    """Errors after every epoch, of the first planned replicate of a recipe.

    Returns a long table with columns dataset, architecture, epoch, error (on test images, percent,
    on the dataset's own metric; NaN where there are no curves of that) and train_top1, in the order
    of the datasets. Diverged runs are in it while they last.
    """
    keys = ["run_id", "dataset", "architecture", "recipe", "replicate", "planned", "metric"]
    runs = store.runs(keys)
    main = runs[runs["planned"] & (runs["recipe"] == recipe)] if len(runs) else runs
    first = main.sort_values("replicate", kind="stable").drop_duplicates(
        ["dataset", "architecture"]
    )
    curves = store.curves(metrics=("test_error", "test_top1", "test_top5", "train_top1"))
    curves = curves[curves["run_id"].isin(set(first["run_id"]))]
    metric = curves["dataset"].map(datasets.set_index("dataset")["metric"])
    own = curves["run_id"].map(first.set_index("run_id")["metric"]).astype(object)
    by_metric = np.select(
        [metric == "top1", metric == "top5", metric == own],
        [curves["test_top1"], curves["test_top5"], curves["test_error"]],
        np.nan,
    )
    curves = curves.assign(error=by_metric.astype(float))[CURVE_COLUMNS]
    order = {name: number for number, name in enumerate(datasets["dataset"])}
    return curves.sort_values("dataset", key=lambda names: names.map(order), kind="stable")


def final_training_errors(curves: pd.DataFrame) -> pd.DataFrame | None:
    """Architectures x datasets, from the end of every curve; None where none was stored."""
    known = curves.dropna(subset="train_top1")
    if known.empty:
        return None
    last = known.sort_values("epoch", kind="stable").groupby(["architecture", "dataset"])
    table = last["train_top1"].last().astype(float).unstack()
    return table[[name for name in dict.fromkeys(curves["dataset"]) if name in table]]


def costs_of(store: ResultStore, recipe: str) -> dict[str, float]:
    """Mean seconds of a completed run on each dataset, where they were measured."""
    runs = store.runs(["dataset", "recipe", "status", "seconds"])
    runs = runs[(runs["recipe"] == recipe) & (runs["status"] == "completed")]
    seconds = runs[runs["seconds"] > 0].groupby("dataset")["seconds"].mean()
    return {str(name): float(value) for name, value in seconds.items()}


def by_metric_of(store: ResultStore, choice: Choice) -> dict[str, pd.DataFrame]:
    """Errors on both metrics, of the datasets where five guesses are not all there are."""
    datasets = store.datasets()
    many = list(datasets.loc[datasets["classes"] > 5, "dataset"])
    tables = {
        metric: store.errors(metric, choice.recipe, choice.replicates)
        for metric in ("top1", "top5")
    }
    kept = {
        metric: table[[name for name in many if name in table and table[name].notna().any()]]
        for metric, table in tables.items()
    }
    return kept if kept["top5"].shape[1] else {}


def shifted_of(store: ResultStore, choice: Choice, recipe: str) -> dict[str, pd.DataFrame]:
    """Errors on further test sets, of the datasets whose runs were evaluated on any."""
    evaluated = store.evaluations(["dataset", "recipe", "planned"])
    evaluated = evaluated[evaluated["planned"] & (evaluated["recipe"] == recipe)]
    metric = "top5" if choice.metric == "top5" else "top1"
    tables = {
        name: store.evaluation_errors(name, metric, choice.recipe, choice.replicates)
        for name in dict.fromkeys(evaluated["dataset"])
    }
    return {name: table for name, table in tables.items() if table.shape[1] > 1}


def images_of(store: ResultStore, datasets: pd.DataFrame) -> dict[str, dict[str, int]]:
    """How many images each dataset's test sets have, where that is known."""
    known = datasets.dropna(subset="test_images")
    counts = {
        name: {"test": int(images)}
        for name, images in zip(known["dataset"], known["test_images"], strict=True)
    }
    found = store.evaluations(["dataset", "evaluation", "images"]).drop_duplicates()
    for dataset, evaluation, images in found.itertuples(index=False):
        counts.setdefault(dataset, {})[evaluation] = int(images)
    return counts
