"""Several results stores read as one, and which store or stores a user means."""

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

import h5py
import numpy as np
import pandas as pd
import pyarrow as pa
from numpy.typing import NDArray

from anynet_study.errors import UserError
from anynet_study.store.deduplicate import evaluation_keys
from anynet_study.store.errors import Selection, evaluation_selection, run_errors
from anynet_study.store.layout import RUN_COLUMNS, prediction_group
from anynet_study.store.predictions import (
    PredictionArray,
    PredictionRows,
    evaluation_predictions_in,
    predictions_in,
)
from anynet_study.store.results import Results, ResultStore, TableName
from anynet_study.store.tables import (
    EVALUATIONS_SHOWN,
    check_columns,
    curves_table,
    evaluations_table,
    runs_columns,
    runs_table,
    to_pandas,
)
from anynet_study.store.union import Member, Merged, StoreFiles, joint, merged, stacked, with_store

#: Tables that are merged, and the column that a row is known by.
KEYS: Mapping[TableName, str] = {"architectures": "architecture", "datasets": "dataset"}
#: Columns of a dataset that the meaning of its errors depends on.
MEANING = {"content_hash", "variant", "classes", "metric"}


class ResultStores(Results):
    """Several results stores as one; the column `store` of runs, curves and journals tells them.

    A run that several stores have counts once: where it did not fail, in the first such store; it
    is planned if any sweep asks for it. Architectures and datasets are merged, as the first store
    has them. `conflicts` says where stores disagree. Raises UserError for what is no store.
    """

    _run_columns = ("store", *RUN_COLUMNS)
    _evaluation_columns = ("store", *EVALUATIONS_SHOWN)

    def __init__(self, stores: Sequence[str | Path | ResultStore]) -> None:
        opened = [one if isinstance(one, ResultStore) else ResultStore(one) for one in stores]
        if not opened:
            raise UserError("no results store is named")
        self.stores = list({one.path.resolve(): one for one in opened}.values())
        self.names = _names([one.path.resolve() for one in self.stores])
        self._files = StoreFiles([one.file for one in self.stores], self.names)

    def _hold(self) -> None:
        self._files.hold()

    def _release(self) -> None:
        self._files.release()

    @property
    def conflicts(self) -> list[str]:
        """At most one line each for runs, architectures and datasets that stores disagree about."""
        with self._files.open() as union:
            lines = [union.conflict, *(self._merged(table).conflict for table in KEYS)]
        return [line for line in lines if line]

    @property
    def recipes(self) -> list[str]:
        return list(dict.fromkeys(name for store in self.stores for name in store.recipes))

    def columns(self, table: TableName) -> list[str]:
        if table == "errors":
            return ["architecture", *map(str, self.errors().columns)]
        names = [] if table in KEYS else ["store"]
        names += [name for store in self.stores for name in store.columns(table)]
        return list(dict.fromkeys(names))

    def predictions(self, dataset: str) -> tuple[pd.DataFrame, PredictionArray]:
        with self._files.open() as union:
            self._check_same([dataset])
            runs, parts, widths = [], [], set()
            for one in self._with_predictions(union.members, dataset):
                with one.file.open() as file:
                    group = predictions_in(file, dataset)
                    rows = np.flatnonzero(one.kept[group["run"][()]])
                    runs.append(_runs(one, file, self._run_columns, group["run"][()][rows]))
                    widths.add(group["classes"].shape[1])
                    parts.append(PredictionRows(one.file, group.name, rows))
        if len(widths) > 1:
            raise UserError(f"predictions on {dataset} are of {sorted(widths)} images: unlike data")
        return to_pandas(stacked(runs).select(self._run_columns)), PredictionArray(parts, *widths)

    def evaluation_predictions(
        self, dataset: str, evaluation: str
    ) -> tuple[pd.DataFrame, PredictionArray]:
        with self._files.open() as union:
            self._check_same([dataset])
            table, predictions = united_predictions(union.members, dataset, evaluation)
        return to_pandas(table), predictions

    def labels(self, dataset: str) -> NDArray[np.uint16] | None:
        with self._files.open() as union:
            there = self._with_predictions(union.members, dataset)
            found = [ResultStore(one.file.path).labels(dataset) for one in there]
        known = [labels for labels in found if labels is not None]
        if any(not np.array_equal(known[0], labels) for labels in known):
            raise UserError(f"true classes of {dataset} are not the same in all stores")
        return known[0] if known else None

    def _with_predictions(self, members: list[Member], dataset: str) -> list[Member]:
        """The stores that have predictions on a dataset. Raises UserError where none has."""
        found = []
        for one in members:
            with one.file.open() as file:
                if prediction_group(dataset) in file:
                    found.append(one)
                elif one is members[-1] and not found:
                    predictions_in(file, dataset)
        return found

    def _read(self, table: TableName, columns: Sequence[str]) -> pa.Table:
        check_columns(columns, self.columns(table))
        if table in KEYS:
            return self._merged(table).table.select(columns)
        tables = []
        with self._files.open() as union:
            if table == "evaluations":
                return united_table(union.members, columns)
            for one, store in zip(union.members, self.stores, strict=True):
                if table == "runs":
                    with one.file.open() as file:
                        tables.append(_runs(one, file, columns, np.flatnonzero(one.kept)))
                else:
                    tables.append(with_store(store.table(table), one.name))
        return stacked(tables).select(columns)

    def _curves(self, columns: Sequence[str], wanted: Mapping[str, str | None]) -> pa.Table:
        own = [name for name in columns if name != "store"] or ["run_id"]
        tables, refusals = [], []
        with self._files.open() as union:
            for one in union.members:
                with one.file.open() as file:
                    try:
                        tables.append(
                            with_store(curves_table(file, own, wanted, one.kept), one.name)
                        )
                    except UserError as error:  # another store may have what is wanted
                        refusals.append(error)
        if not tables:
            raise refusals[0]
        return stacked(tables).select(columns)

    def _selection(self, metric: str | None, recipe: str | None) -> Selection:
        with self._files.open() as union:
            found = []
            for place in self._with_recipe(recipe):
                one = union.members[place]
                with one.file.open() as file:
                    found.append(run_errors(file, metric, recipe, one.kept & one.planned))
        return joint(found)

    def _evaluation_selection(self, dataset: str, metric: str, recipe: str | None) -> Selection:
        with self._files.open() as union:
            places = self._with_recipe(recipe)
            return united_selection(union.members, places, dataset, metric, recipe)

    def _with_recipe(self, recipe: str | None) -> list[int]:
        """The numbers of the stores that have a recipe (None: the main one).

        Raises UserError where none has, or what errors mean is not the same in all stores.
        """
        self._check_same(None)
        recipes = [store.recipes for store in self.stores]
        main = dict.fromkeys(names[0] for names in recipes if names)
        if recipe is None and len(main) > 1:
            raise UserError(f"the stores' main recipes differ: say which: {', '.join(main)}")
        if recipe is not None and recipe not in self.recipes:
            raise UserError(f"no recipe {recipe}; there are: {', '.join(self.recipes)}")
        return [at for at, names in enumerate(recipes) if recipe is None or recipe in names]

    def _merged(self, table: TableName) -> Merged:
        return merged(KEYS[table], [store.table(table) for store in self.stores], self.names)

    def _check_same(self, datasets: Collection[str] | None) -> None:
        """Raises UserError where one of these labels (None: any) stands for unlike data."""
        for label, columns in self._merged("datasets").differing.items():
            unlike = sorted(MEANING & set(columns))
            if unlike and (datasets is None or label in datasets):
                raise UserError(
                    f"{label} is not the same data in all stores ({', '.join(unlike)} differ): "
                    "errors on it cannot be put together"
                )


def _runs(
    one: Member, file: h5py.File, columns: Sequence[str], rows: NDArray[np.int64]
) -> pa.Table:
    """Those of the columns that a store has, of these of its runs."""
    there = set(runs_columns(file))
    table = runs_table(file, [name for name in columns if name in there] or ["run_id"], rows)
    if "planned" in columns:
        place = table.column_names.index("planned")
        table = table.set_column(place, "planned", pa.array(one.planned[rows]))
    return with_store(table, one.name)


def _names(paths: Sequence[Path]) -> list[str]:
    """What each store is called: its study's folder, or its file; the path where two are alike."""
    short = [path.parent.name if path.name == "results.h5" else path.name for path in paths]
    return [
        name if short.count(name) == 1 else str(path)
        for name, path in zip(short, paths, strict=True)
    ]


def united_table(members: Sequence[Member], columns: Sequence[str]) -> pa.Table:
    """These columns of the evaluations, those that are in an earlier store left out."""
    own = [name for name in columns if name != "store"] or ["run_id"]
    tables = []
    for one, (first, planned) in zip(members, _united(members), strict=True):
        with one.file.open() as file:
            tables.append(_evaluation_rows(one, file, own, np.flatnonzero(first), planned))
    return stacked(tables).select(columns)


def united_selection(
    members: Sequence[Member], places: Sequence[int], dataset: str, metric: str, recipe: str | None
) -> Selection:
    """As `reading.evaluation_selection`; `places`: the stores that have the recipe."""
    found, masks = [], _united(members)
    for place in places:
        first, planned = masks[place]
        with members[place].file.open() as file:
            found.append(evaluation_selection(file, dataset, metric, recipe, first & planned))
    return joint(found)


def united_predictions(
    members: Sequence[Member], dataset: str, evaluation: str
) -> tuple[pa.Table, PredictionArray]:
    """The evaluations that have predictions, and these.

    Raises UserError where no store has any, and where they are not of the same images.
    """
    found, parts, widths, refusals = [], [], set(), []
    for one, (first, planned) in zip(members, _united(members), strict=True):
        with one.file.open() as file:
            try:
                group = evaluation_predictions_in(file, dataset, evaluation)
            except UserError as error:  # another store may have them
                refusals.append(error)
                continue
            rows = group["row"][()]
            lines = np.flatnonzero(first[rows])
            found.append(_evaluation_rows(one, file, EVALUATIONS_SHOWN, rows[lines], planned))
            widths.add(group["classes"].shape[1])
            parts.append(PredictionRows(one.file, group.name, lines))
    if not parts:
        raise refusals[0]
    if len(widths) > 1:
        said = f"predictions of {evaluation} on {dataset} are of {sorted(widths)} images"
        raise UserError(f"{said}: unlike data")
    return stacked(found), PredictionArray(parts, *widths)


def _united(members: Sequence[Member]) -> list[tuple[NDArray[np.bool_], NDArray[np.bool_]]]:
    """Of every store's evaluations, which are not in an earlier store; and which are planned.

    An evaluation is planned if the sweep of any store asks for it.
    """
    keys, planned = [], []
    for one in members:
        with one.file.open() as file:
            ids = evaluations_table(file, ["run_id", "evaluation_id"])
            keys.append(evaluation_keys(ids).combine_chunks())
            planned.append(evaluations_table(file, ["planned"])["planned"].to_numpy())
    each = pa.concat_arrays(keys).dictionary_encode().indices.to_numpy()
    first = np.zeros(len(each), np.bool_)
    first[np.unique(each, return_index=True)[1]] = True
    asked = (np.bincount(each, np.concatenate(planned)) > 0)[each]
    ends = np.cumsum([len(key) for key in keys])[:-1]
    return list(zip(np.split(first, ends), np.split(asked, ends), strict=True))


def _evaluation_rows(
    one: Member,
    file: h5py.File,
    columns: Sequence[str],
    rows: NDArray[np.int64],
    planned: NDArray[np.bool_],
) -> pa.Table:
    """These of a store's evaluations."""
    table = evaluations_table(file, columns, rows)
    if "planned" in columns:
        place = table.column_names.index("planned")
        table = table.set_column(place, "planned", pa.array(planned[rows]))
    return with_store(table, one.name)


def find_stores(where: Sequence[str | Path]) -> ResultStore | ResultStores:
    """The store of one name, or the stores of several as one. Raises UserError as `find_store`."""
    stores = [find_store(each) for each in where]
    return stores[0] if len(stores) == 1 else ResultStores(stores)


def find_store(where: str | Path) -> ResultStore:
    """The store named by a results file, a study folder, or a study's bare name in `studies/`."""
    places = [Path(where), Path(where) / "results.h5", Path("studies") / where / "results.h5"]
    for place in places:
        if place.is_file():
            return ResultStore(place)
    folder = next((place.parent for place in places[1:] if _is_study(place.parent)), None)
    if folder is not None:
        raise UserError(f"{folder}: holds no results.h5 yet; make it: anynet-study collect {where}")
    there = sorted(path.parent.name for path in Path("studies").glob("*/results.h5"))
    listed = f"; in studies/ there are: {', '.join(there)}" if there else ""
    raise UserError(f"{where}: no such results store or study{listed}")


def _is_study(folder: Path) -> bool:
    return (folder / "sweep.yaml").is_file()
