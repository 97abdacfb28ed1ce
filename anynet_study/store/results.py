"""The results store as pandas tables."""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from types import TracebackType
from typing import Literal, Self

import h5py
import numpy as np
import pandas as pd
from numpy.typing import NDArray

from anynet_study.errors import UserError
from anynet_study.filters import unknown_column
from anynet_study.store.columns import read_column, read_table
from anynet_study.store.curves_table import curve_table
from anynet_study.store.errors_table import Selection, error_table, run_errors
from anynet_study.store.layout import RUN_COLUMNS, prediction_group
from anynet_study.store.opening import open_store
from anynet_study.store.record import CURVES
from anynet_study.store.run_columns import run_column

Reduction = Literal["mean", "first"]


class ResultStore:
    """Read access to a `results.h5` (its contents: `store.layout`).

    Every method opens the file anew, so a collect in between shows; inside `with store:` all
    methods see one and the same state. Raises UserError for what is not a store, or a newer one.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self._held: h5py.File | None = None
        self._stack = ExitStack()
        with open_store(self.path):
            pass

    def __enter__(self) -> Self:
        self._held = self._stack.enter_context(open_store(self.path))
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._held = None
        self._stack.close()

    @contextmanager
    def _open(self) -> Iterator[h5py.File]:
        if self._held is not None:
            yield self._held
        else:
            with open_store(self.path) as file:
                yield file

    def runs(self, columns: Sequence[str] | None = None) -> pd.DataFrame:
        """One row a run, in the order of the store; all columns of `layout.RUN_COLUMNS`, or these.

        `planned` is bool; "spec" (JSON text) is read only where `columns` names it.
        """
        wanted = list(RUN_COLUMNS if columns is None else columns)
        for name in wanted:
            if name not in (*RUN_COLUMNS, "spec"):
                raise UserError(unknown_column(name, RUN_COLUMNS))
        with self._open() as file:
            return pd.DataFrame(
                {name: run_column(file, name) for name in wanted},
                index=pd.RangeIndex(len(file["runs/run_id"])),
            )

    def errors(
        self,
        metric: str | None = None,
        recipe: str | None = None,
        replicates: Reduction = "mean",
    ) -> pd.DataFrame:
        """Final-epoch test errors in percent: index "architecture", one column a dataset.

        All architectures and datasets of the study are there, in its order; NaN where no planned
        run of the recipe (default: the main one) has an error. `metric` None is each run's own;
        otherwise diverged runs count as guessing uniformly. `replicates`: the mean over those
        that did not fail, or the first of them.
        """
        if replicates not in ("mean", "first"):
            raise UserError(f"replicates {replicates!r}: legal are mean, first")
        with self._open() as file:
            selection = run_errors(file, metric, recipe)
            return error_table(file, selection, replicates)

    def replicates(self, metric: str | None = None, recipe: str | None = None) -> pd.DataFrame:
        """Long table architecture, dataset, replicate, error of the planned runs that have one."""
        with self._open() as file:
            selection: Selection = run_errors(file, metric, recipe)
            architectures = pd.Index(read_column(file["labels"], "architecture"))
            datasets = pd.Index(read_column(file["labels"], "dataset"))
            return pd.DataFrame(
                {
                    "architecture": architectures.take(selection.architecture),
                    "dataset": datasets.take(selection.dataset),
                    "replicate": selection.replicate,
                    "error": selection.error,
                }
            )

    def curves(
        self,
        dataset: str | None = None,
        architecture: str | None = None,
        run_id: str | None = None,
        metrics: Sequence[str] = CURVES,
    ) -> pd.DataFrame:
        """Curves as a long table, one row an epoch (counted from 1) of a run.

        Columns run_id, architecture, dataset, recipe, replicate, epoch, then `metrics`; losses in
        nats, errors in percent. The filters keep the runs that match them all.
        """
        with self._open() as file:
            wanted = {"dataset": dataset, "architecture": architecture, "run_id": run_id}
            return curve_table(file, wanted, metrics)

    def predictions(self, dataset: str) -> tuple[pd.DataFrame, NDArray[np.uint16]]:
        """Predicted classes of every run on a dataset's test images.

        The runs (rows of `runs()`), and an array of shape (runs, n_test), uint16, in test order;
        65535 where a run has no prediction.
        """
        runs = self.runs()
        with self._open() as file:
            group = _predictions(file, dataset)
            return runs.iloc[group["run"][()]].reset_index(drop=True), group["classes"][()]

    def labels(self, dataset: str) -> NDArray[np.uint16] | None:
        """True class of every test image of a dataset that has predictions, (n_test,) uint16.

        65535 where it is unknown; None where the store has no labels, as before version 2. A run
        is right on an image where its prediction equals the label.
        """
        with self._open() as file:
            group = _predictions(file, dataset)
            return group["labels"][()] if "labels" in group else None

    def architectures(self) -> pd.DataFrame:
        """The population, as `Population.to_pandas()`."""
        with self._open() as file:
            return pd.DataFrame(read_table(file["architectures"]))

    def datasets(self) -> pd.DataFrame:
        """One row a dataset: label, role, class and image counts, metric, chance and the rest."""
        with self._open() as file:
            return pd.DataFrame(read_table(file["datasets"]))

    def journals(self) -> pd.DataFrame:
        """One row a journal that the store was made from: counts, and what was wrong with it."""
        with self._open() as file:
            return pd.DataFrame(read_table(file["journals"]))

    def exclusions(self) -> pd.DataFrame:
        """What is not an ordinary row of `errors()`: dataset, status, failure_kind, n (runs).

        Status is failed (no error), diverged (there, with the error of guessing) or unplanned
        (kept in the store, in no analysis).
        """
        runs = self.runs(["dataset", "status", "failure_kind", "planned"])
        keys = ["dataset", "status", "failure_kind"]
        runs.loc[~runs["planned"], ["status", "failure_kind"]] = ["unplanned", ""]
        counts = runs[runs["status"] != "completed"].groupby(keys, sort=True).size()
        return counts.rename("n").reset_index()

    @property
    def recipes(self) -> list[str]:
        """Names of the recipes, the main one first."""
        with self._open() as file:
            return list(read_column(file["labels"], "recipe"))

    @property
    def provenance(self) -> dict[str, str]:
        """What made the store, as given to `collect`; and when, as `created`."""
        import json

        with self._open() as file:
            made: dict[str, str] = json.loads(file["provenance"].asstr()[()])
            return made | {"created": str(file.attrs["created"])}

    @property
    def planned_runs(self) -> int | None:
        """How many runs the sweep asks for; None if that was not said."""
        with self._open() as file:
            count = int(file.attrs["planned_runs"])
        return None if count < 0 else count


def _predictions(file: h5py.File, dataset: str) -> h5py.Group:
    group = file.get(prediction_group(dataset))
    if group is None:
        there = [each.attrs["dataset"] for each in file["predictions"].values()]
        raise UserError(f"no predictions on {dataset}; there are: {', '.join(there)}")
    return group
