"""Several results stores read as one, and which store or stores a user means."""

from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from anynet_study.errors import UserError
from anynet_study.store.deduplicate import evaluation_keys
from anynet_study.store.layout import TableName
from anynet_study.store.predictions import PredictionArray
from anynet_study.store.records import RUN_COLUMNS
from anynet_study.store.results import Results, ResultStore
from anynet_study.store.tables import EVALUATIONS_SHOWN, check_columns

#: Tables that are merged, and the column that a row is known by.
KEYS: Mapping[TableName, str] = {"architectures": "architecture", "datasets": "dataset"}
#: Columns of a dataset that the meaning of its errors depends on.
MEANING = {"content_hash", "variant", "classes", "metric"}
Predicted = tuple[pd.DataFrame, PredictionArray]


@dataclass(frozen=True)
class _Homes:
    """Which store's record of every run, or of every evaluation of a run, counts."""

    #: One text for each run or evaluation; the number of the store; whether any sweep asks for it.
    keys: pa.Array
    store: NDArray[np.int64]
    planned: NDArray[np.bool_]

    def kept(self, number: int, table: pa.Table) -> pa.Table:
        """The rows of a table of one store that count, `planned` as in any sweep."""
        place = pc.index_in(_keys(table), value_set=self.keys).to_numpy()
        if "planned" in table.column_names:
            column = table.column_names.index("planned")
            table = table.set_column(column, "planned", pa.array(self.planned[place]))
        return table.filter(pa.array(self.store[place] == number))


@dataclass(frozen=True)
class _Merged:
    """A table with one row per key, of the first store that has it."""

    table: pa.Table
    #: Keys whose rows differ between stores, and the columns in which they do.
    differing: dict[str, list[str]]
    #: One line about them; "" if there are none.
    conflict: str


class ResultStores(Results):
    """Several results stores as one; the column `store` of runs, curves and journals tells them.

    A run that several stores have counts once: where it did not fail, in the first such store; it
    is planned if any sweep asks for it. Architectures and datasets are merged, as the first store
    has them. `conflicts` says where stores disagree. Raises UserError for what is no store.
    """

    _run_columns = ("store", *RUN_COLUMNS)
    _evaluation_columns = ("store", *EVALUATIONS_SHOWN)

    def __init__(self, stores: Sequence[str | Path | ResultStore]) -> None:
        opened = [
            store if isinstance(store, ResultStore) else ResultStore(store) for store in stores
        ]
        if not opened:
            raise UserError("no results store is named")
        self.stores = list({store.path.resolve(): store for store in opened}.values())
        self.names = _names([store.path.resolve() for store in self.stores])
        self._holders = 0
        self._stack = ExitStack()
        #: Of "runs" and "evaluations", while the files are held open.
        self._homes: dict[str, _Homes] = {}
        self._conflict = ""

    def _hold(self) -> None:
        if self._holders == 0:
            with ExitStack() as holding:
                for store in self.stores:
                    holding.enter_context(store)
                self._homes["runs"], self._conflict = self._homes_of_runs()
                self._homes["evaluations"] = self._homes_of_evaluations()
                self._stack = holding.pop_all()
        self._holders += 1

    def _release(self) -> None:
        self._holders -= 1
        if self._holders == 0:
            self._stack.close()

    def _homes_of_runs(self) -> tuple[_Homes, str]:
        """Where runs count, and one line about runs whose error is not the same in all stores."""
        names = ["run_id", "planned", "status", "error"]
        runs = self._numbered("runs", names)
        runs["failed"] = runs["status"] == "failed"
        # A stable sort: of those that did not fail, the first store's is first.
        kept = runs.sort_values("failed", kind="stable").drop_duplicates("run_id")
        kept = kept.set_index("run_id")
        planned = runs.groupby("run_id")["planned"].any().reindex(kept.index)
        keys = pa.array(kept.index, pa.string())
        homes = _Homes(keys, kept["number"].to_numpy(), planned.to_numpy(bool))
        counted = kept.loc[runs["run_id"], ["error", "number"]].reset_index(drop=True)
        other = runs[~runs["failed"] & (runs["error"] != counted["error"])]
        if other.empty:
            return homes, ""
        first = other.iloc[0]
        winner = counted.loc[other.index[0]]
        told = [
            f"{run['error']:.6g} in {self.names[int(run['number'])]}" for run in (winner, first)
        ]
        return homes, (
            f"runs whose error is not the same in all stores: {other['run_id'].nunique()}, such as "
            f"{first['run_id']}: {', '.join(told)}; the first counts"
        )

    def _homes_of_evaluations(self) -> _Homes:
        found = self._numbered("evaluations", ["run_id", "evaluation_id", "planned"])
        found["key"] = found["run_id"].astype(str) + " " + found["evaluation_id"].astype(str)
        kept = found.drop_duplicates("key")
        planned = found.groupby("key")["planned"].any().reindex(kept["key"])
        keys = pa.array(kept["key"], pa.string())
        return _Homes(keys, kept["number"].to_numpy(), planned.to_numpy(bool))

    def _numbered(self, table: TableName, columns: list[str]) -> pd.DataFrame:
        """Columns of all stores' rows below each other, with the number of the store."""
        tables = [store.table(table, columns) for store in self.stores]
        number = np.repeat(np.arange(len(tables)), [len(table) for table in tables])
        return stacked(tables).to_pandas().assign(number=number)

    @property
    def conflicts(self) -> list[str]:
        """At most one line each for runs, architectures and datasets that stores disagree about."""
        with self:
            lines = [self._conflict, *(self._merged(table).conflict for table in KEYS)]
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

    def predictions(self, dataset: str) -> Predicted:
        said = f"predictions on {dataset}"
        return self._united("runs", dataset, said, lambda store: store.predictions(dataset))

    def evaluation_predictions(self, dataset: str, evaluation: str) -> Predicted:
        said = f"predictions of {evaluation} on {dataset}"
        return self._united(
            "evaluations",
            dataset,
            said,
            lambda store: store.evaluation_predictions(dataset, evaluation),
        )

    def _united(
        self, table: str, dataset: str, said: str, read: Callable[[ResultStore], Predicted]
    ) -> Predicted:
        """The predictions of the stores that have any. Raises UserError where none has."""
        with self:
            self._check_same([dataset])
            frames, arrays, refusals = [], [], []
            for number, store in enumerate(self.stores):
                try:
                    frame, predictions = read(store)
                except UserError as error:  # another store may have them
                    refusals.append(error)
                    continue
                rows = pa.Table.from_pandas(frame.assign(line=np.arange(len(frame))))
                kept = self._homes[table].kept(number, rows).to_pandas()
                arrays.append(predictions.take(kept.pop("line").to_numpy()))
                kept.insert(0, "store", self.names[number])
                frames.append(kept)
        if not arrays:
            raise refusals[0]
        widths = {array.shape[1] for array in arrays}
        if len(widths) > 1:
            raise UserError(f"{said} are of {sorted(widths)} images: unlike data")
        return pd.concat(frames, ignore_index=True), PredictionArray.joined(arrays)

    def labels(self, dataset: str) -> NDArray[np.uint16] | None:
        found, refusals = [], []
        for store in self.stores:
            try:
                found.append(store.labels(dataset))
            except UserError as error:
                refusals.append(error)
        if not found:
            raise refusals[-1]
        known = [labels for labels in found if labels is not None]
        if any(not np.array_equal(known[0], labels) for labels in known):
            raise UserError(f"true classes of {dataset} are not the same in all stores")
        return known[0] if known else None

    def _read(self, table: TableName, columns: Sequence[str]) -> pa.Table:
        check_columns(columns, self.columns(table))
        if table in KEYS:
            return self._merged(table).table.select(columns)
        with self:
            parts = [
                self._part(number, table, columns, lambda store, own: store.table(table, own))
                for number in range(len(self.stores))
            ]
        return stacked(parts).select(columns)

    def _curves(self, columns: Sequence[str], wanted: Mapping[str, str | None]) -> pa.Table:
        parts, refusals = [], []
        with self:
            for number in range(len(self.stores)):
                try:
                    read = lambda store, own: store.table("curves", own, **wanted)  # noqa: E731
                    parts.append(self._part(number, "curves", columns, read))
                except UserError as error:  # another store may have what is wanted
                    refusals.append(error)
        if not parts:
            raise refusals[0]
        return stacked(parts).select(columns)

    def _part(
        self,
        number: int,
        table: TableName,
        columns: Sequence[str],
        read: Callable[[ResultStore, list[str]], pa.Table],
    ) -> pa.Table:
        """Those of the columns that a store has, of its rows that count, and its name."""
        store = self.stores[number]
        keys = {"evaluations": ["run_id", "evaluation_id"], "runs": ["run_id"]}
        keyed = keys.get(table, ["run_id"] if table == "curves" else [])
        own = [name for name in columns if name in store.columns(table)]
        rows = read(store, list(dict.fromkeys([*own, *keyed])) or store.columns(table))
        if keyed:
            homes = self._homes["evaluations" if table == "evaluations" else "runs"]
            rows = homes.kept(number, rows)
        codes = pa.array(np.zeros(len(rows), np.int32))
        name = pa.DictionaryArray.from_arrays(codes, pa.array([self.names[number]], pa.string()))
        return rows.add_column(0, "store", name)

    def _recipe(self, recipe: str | None) -> str:
        """Also raises UserError where what errors mean is not the same in all stores."""
        self._check_same(None)
        main = dict.fromkeys(store.recipes[0] for store in self.stores if store.recipes)
        if recipe is None and len(main) > 1:
            raise UserError(f"the stores' main recipes differ: say which: {', '.join(main)}")
        if recipe is not None and recipe not in self.recipes:
            raise UserError(f"no recipe {recipe}; there are: {', '.join(self.recipes)}")
        return recipe or next(iter(main), "")

    def _merged(self, table: TableName) -> _Merged:
        return _merged(KEYS[table], [store.table(table) for store in self.stores], self.names)

    def _check_same(self, datasets: Collection[str] | None) -> None:
        """Raises UserError where one of these labels (None: any) stands for unlike data."""
        for label, columns in self._merged("datasets").differing.items():
            unlike = sorted(MEANING & set(columns))
            if unlike and (datasets is None or label in datasets):
                raise UserError(
                    f"{label} is not the same data in all stores ({', '.join(unlike)} differ): "
                    "errors on it cannot be put together"
                )


def _keys(table: pa.Table) -> pa.ChunkedArray:
    """What the rows of a table are known by."""
    if "evaluation_id" in table.column_names:
        return evaluation_keys(table)
    return table["run_id"].cast(pa.string())


def _names(paths: Sequence[Path]) -> list[str]:
    """What each store is called: its study's folder, or its file; the path where two are alike."""
    short = [path.parent.name if path.name == "results.h5" else path.name for path in paths]
    return [
        name if short.count(name) == 1 else str(path)
        for name, path in zip(short, paths, strict=True)
    ]


def _merged(key: str, tables: Sequence[pa.Table], names: Sequence[str]) -> _Merged:
    """Merge tables by a column. What a store does not know ("" or missing) is no difference."""
    frames = [table.to_pandas().set_index(key) for table in tables]
    first: dict[str, int] = {}
    differing: dict[str, list[str]] = {}
    example = ""
    for number, frame in enumerate(frames):
        for other in range(number):
            mine = frame.index[[first.get(name) == other for name in frame.index]]
            for name, columns in _differences(frames[other].loc[mine], frame.loc[mine]).items():
                told = [f"{frames[n].at[name, columns[0]]} in {names[n]}" for n in (other, number)]
                example = example or f"{name}: {columns[0]} is {', '.join(told)}"
                differing.setdefault(name, []).extend(columns)
        for name in frame.index:
            first.setdefault(name, number)
    keep = [[first[name] == n for name in frame.index] for n, frame in enumerate(frames)]
    kept = [table.filter(pa.array(rows)) for table, rows in zip(tables, keep, strict=True)]
    line = f"{key}s that are not the same in all stores: {len(differing)}, such as {example}"
    return _Merged(stacked(kept), differing, line if differing else "")


def _differences(mine: pd.DataFrame, other: pd.DataFrame) -> dict[str, list[str]]:
    """Rows of two tables of the same index that differ, with the columns in which they do."""
    found: dict[str, list[str]] = {}
    for column in mine.columns.intersection(other.columns):
        a: pd.Series[Any] = mine[column]
        b: pd.Series[Any] = other[column]
        known = a.notna() & b.notna() & (a.astype(str) != "") & (b.astype(str) != "")
        for name in mine.index[(known & (a != b)).to_numpy(bool)]:
            found.setdefault(str(name), []).append(column)
    return found


def stacked(tables: Sequence[pa.Table]) -> pa.Table:
    """Tables below each other; what one of them lacks is missing, a missing text is ""."""
    table = pa.concat_tables(tables, promote_options="permissive").unify_dictionaries()
    for number, field in enumerate(table.schema):
        column = table.column(number)
        text = pa.types.is_dictionary(field.type) or pa.types.is_string(field.type)
        if text and column.null_count:
            filled = column.cast(pa.string()).fill_null("")
            filled = filled.dictionary_encode() if pa.types.is_dictionary(field.type) else filled
            table = table.set_column(number, field.name, filled)
    return table


def find_stores(where: Sequence[str | Path]) -> ResultStore | ResultStores:
    """The store of one name, or the stores of several as one. Raises UserError as `find_store`."""
    stores = [find_store(name) for name in where]
    return stores[0] if len(stores) == 1 else ResultStores(stores)


def find_store(where: str | Path) -> ResultStore:
    """The store named by a results file, a study folder, or a study's bare name in `studies/`."""
    places = [Path(where), Path(where) / "results.h5", Path("studies") / where / "results.h5"]
    for place in places:
        if place.is_file():
            return ResultStore(place)
    folder = next((p.parent for p in places[1:] if (p.parent / "sweep.yaml").is_file()), None)
    if folder is not None:
        raise UserError(f"{folder}: holds no results.h5 yet; make it: anynet-study collect {where}")
    there = sorted(path.parent.name for path in Path("studies").glob("*/results.h5"))
    listed = f"; in studies/ there are: {', '.join(there)}" if there else ""
    raise UserError(f"{where}: no such results store or study{listed}")
