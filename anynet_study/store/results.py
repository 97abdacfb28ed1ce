"""A results store as tables."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
from numpy.typing import NDArray

from anynet_study.errors import UserError
from anynet_study.store.arrow_columns import read_table, table_columns
from anynet_study.store.arrow_tables import (
    check_columns,
    curves_table,
    runs_columns,
    runs_table,
)
from anynet_study.store.attributes import get_text
from anynet_study.store.columns import read_column
from anynet_study.store.errors_table import Selection, run_errors
from anynet_study.store.evaluations.reading import (
    COLUMNS,
    evaluation_predictions_in,
    evaluation_selection,
    evaluations_table,
)
from anynet_study.store.opening import StoreFile
from anynet_study.store.pandas_tables import to_pandas
from anynet_study.store.predictions import Part, PredictionArray, predictions_in
from anynet_study.store.reading import CURVE_COLUMNS, Results, TableName

FIXED_COLUMNS: Mapping[str, list[str]] = {
    "curves": CURVE_COLUMNS,
    "evaluations": list(COLUMNS),
    "provenance": ["name", "value"],
}


class ResultStore(Results):
    """Read access to a `results.h5` (its contents: `store.layout`).

    Every method opens the file anew, so a collect in between shows; inside `with store:` all
    methods see one and the same state. Raises UserError for what is not a store, or a newer one.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self.file = StoreFile(self.path)
        with self.file.open():
            pass

    def _hold(self) -> None:
        self.file.hold()

    def _release(self) -> None:
        self.file.release()

    def columns(self, table: TableName) -> list[str]:
        if table == "errors":
            return ["architecture", *map(str, self.errors().columns)]
        if table in FIXED_COLUMNS:
            return FIXED_COLUMNS[table]
        with self.file.open() as file:
            return runs_columns(file) if table == "runs" else table_columns(file[table])

    def predictions(self, dataset: str) -> tuple[pd.DataFrame, PredictionArray]:
        with self.file.open() as file:
            group = predictions_in(file, dataset)
            runs = runs_table(file, self._run_columns, group["run"][()])
            count, images = group["classes"].shape
            part = Part(self.file, group.name, np.arange(count))
        return to_pandas(runs), PredictionArray([part], images)

    def evaluation_predictions(
        self, dataset: str, evaluation: str
    ) -> tuple[pd.DataFrame, PredictionArray]:
        with self.file.open() as file:
            group = evaluation_predictions_in(file, dataset, evaluation)
            found = evaluations_table(file, self._evaluation_columns, group["row"][()])
            count, images = group["classes"].shape
            part = Part(self.file, group.name, np.arange(count))
        return to_pandas(found), PredictionArray([part], images)

    def labels(self, dataset: str) -> NDArray[np.uint16] | None:
        with self.file.open() as file:
            group = predictions_in(file, dataset)
            if get_text(group, "kind", "class") == "labels":
                raise UserError(f"{dataset}: its images have several classes: see label_matrices")
            return group["labels"][()] if "labels" in group else None

    @property
    def recipes(self) -> list[str]:
        with self.file.open() as file:
            return list(read_column(file["labels"], "recipe"))

    @property
    def provenance(self) -> dict[str, str]:
        """What made the store, as given to `collect`; and when, as `created`."""
        with self.file.open() as file:
            made: dict[str, str] = json.loads(file["provenance"].asstr()[()])
            return made | {"created": get_text(file, "created")}

    @property
    def planned_runs(self) -> int | None:
        """How many runs the sweep asks for; None if that was not said."""
        with self.file.open() as file:
            count = int(file.attrs["planned_runs"])
        return None if count < 0 else count

    def _read(self, table: TableName, columns: Sequence[str]) -> pa.Table:
        if table == "provenance":
            check_columns(columns, FIXED_COLUMNS[table])
            names, values = zip(*self.provenance.items(), strict=True)
            return pa.table({"name": names, "value": [str(value) for value in values]}).select(
                columns
            )
        with self.file.open() as file:
            if table == "runs":
                return runs_table(file, columns)
            if table == "evaluations":
                return evaluations_table(file, columns)
            check_columns(columns, table_columns(file[table]))
            return read_table(file[table], columns)

    def _curves(self, columns: Sequence[str], wanted: Mapping[str, str | None]) -> pa.Table:
        with self.file.open() as file:
            return curves_table(file, columns, wanted)

    def _selection(self, metric: str | None, recipe: str | None) -> Selection:
        with self.file.open() as file:
            return run_errors(file, metric, recipe)

    def _evaluation_selection(self, dataset: str, metric: str, recipe: str | None) -> Selection:
        with self.file.open() as file:
            return evaluation_selection(file, dataset, metric, recipe)
