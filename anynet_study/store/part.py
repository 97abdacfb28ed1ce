"""A part of a results store: the runs that fulfil a condition."""

from collections.abc import Mapping, Sequence

import pyarrow as pa
import pyarrow.compute as pc

from anynet_study.errors import UserError
from anynet_study.store.layout import TableName
from anynet_study.store.querying import select
from anynet_study.store.results import ResultStore, RunPredictions

#: What says of which run, architecture or dataset a row of a table is.
KEYS: Mapping[TableName, str] = {
    "runs": "run_id",
    "evaluations": "run_id",
    "trials": "run_id",
    "architectures": "architecture",
    "datasets": "dataset",
}


class StorePart(ResultStore):
    """A results store as it would be with only the runs that fulfil a condition.

    The condition is on the columns of runs, those of their architecture and dataset included, as of
    `query`. Architectures, datasets and recipes are those that some kept run has. What runs are
    kept is found once; those that are collected later are not.

    >>> part = StorePart(ResultStore("results.h5"), "d1 >= 2 and stem = 'cifar'")  # doctest: +SKIP
    >>> part.errors()  # doctest: +SKIP
    """

    def __init__(self, store: ResultStore, where: str) -> None:
        """Raises UserError for what is no condition, and where it keeps no run."""
        super().__init__(store.path)
        self.where = where
        names = ["run_id", "architecture", "dataset", "recipe"]
        kept = select(store, where=where, columns=names)
        if not len(kept):
            raise UserError(f"{store.path}: no run is kept by the condition {where}")
        self._kept = {name: kept[name].cast(pa.string()).unique() for name in names}

    def __repr__(self) -> str:
        return f"<{len(self._kept['run_id']):,} runs of {self.path}, where {self.where}>"

    @property
    def recipes(self) -> list[str]:
        kept = self._kept["recipe"].to_pylist()
        return [
            name
            for name in super().recipes
            if any(one == name or one.startswith(f"{name}/") for one in kept)
        ]

    @property
    def planned_runs(self) -> None:
        """None: it is not known how many runs of the part the sweep asks for."""
        return None

    def predictions(self, dataset: str) -> RunPredictions:
        return self._part(super().predictions(dataset))

    def evaluation_predictions(self, dataset: str, evaluation: str) -> RunPredictions:
        return self._part(super().evaluation_predictions(dataset, evaluation))

    def _part(self, predicted: RunPredictions) -> RunPredictions:
        runs, classes = predicted
        kept = runs["run_id"].isin(self._kept["run_id"].to_pylist())
        return runs[kept].reset_index(drop=True), classes[kept.to_numpy()]

    def _read(self, table: TableName, columns: Sequence[str]) -> pa.Table:
        if table not in KEYS:
            return super()._read(table, columns)
        names = list(dict.fromkeys([*columns, KEYS[table]]))
        return self._filtered(super()._read(table, names), KEYS[table]).select(columns)

    def _curves(self, columns: Sequence[str], wanted: Mapping[str, str | None]) -> pa.Table:
        names = list(dict.fromkeys([*columns, "run_id"]))
        return self._filtered(super()._curves(names, wanted), "run_id").select(columns)

    def _filtered(self, rows: pa.Table, key: str) -> pa.Table:
        return rows.filter(pc.is_in(rows[key].cast(pa.string()), value_set=self._kept[key]))
