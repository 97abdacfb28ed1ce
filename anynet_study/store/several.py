"""Several results stores read as one, a part of one, and how to find those that a user names."""

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from anynet_study.core import arrow
from anynet_study.core.errors import DoesNotApplyError, UserError
from anynet_study.core.files import read_regular
from anynet_study.store.deduplicate import evaluation_keys
from anynet_study.store.layout import TableName
from anynet_study.store.querying import select
from anynet_study.store.results import Results, ResultStore, RunPredictions
from anynet_study.store.tables import check_columns

if TYPE_CHECKING:
    import pandas as pd

#: What says of which run, architecture or dataset a row of a table is.
KEYS: Mapping[TableName, str] = {
    "runs": "run_id",
    "evaluations": "run_id",
    "curves": "run_id",
    "trials": "run_id",
    "architectures": "architecture",
    "datasets": "dataset",
}
#: Tables of which several stores have the same rows: the first store's count.
MERGED: tuple[TableName, ...] = ("architectures", "datasets")
#: Columns of a dataset that the meaning of its errors depends on.
MEANING = {"content_hash", "variant", "classes", "metric"}
Answer = TypeVar("Answer")


@dataclass(frozen=True)
class _Homes:
    """For every run, or every evaluation, the store whose record counts."""

    #: One text for each run or evaluation; the number of the store; whether any sweep asks for it.
    keys: pa.Array
    store: NDArray[np.int64]
    planned: NDArray[np.bool_]

    def kept(self, number: int, table: pa.Table) -> pa.Table:
        """The rows of a table of one store that count; `planned` if any sweep asks for them."""
        place = pc.index_in(_keys(table), value_set=self.keys).to_numpy()
        if "planned" in table.column_names:
            column = table.column_names.index("planned")
            table = table.set_column(column, "planned", pa.array(self.planned[place]))
        return table.filter(pa.array(self.store[place] == number))


class ResultStores(Results):
    """Several results stores as one; the column `store` says where a run or journal is from.

    A run that several stores have counts once: where it did not fail, in the first such store; it
    is planned if any sweep asks for it. Architectures and datasets are merged, as the first store
    has them. `conflicts` says where stores disagree. Raises UserError for what is no store.

    >>> stores = ResultStores(["first/results.h5", "second/results.h5"])  # doctest: +SKIP
    >>> stores.table("runs", ["store", "architecture", "error"])  # doctest: +SKIP
    """

    _shown: Mapping[str, Sequence[str]] = {
        table: ("store", *columns) for table, columns in Results._shown.items()
    }

    def __init__(self, stores: Sequence[str | Path | ResultStore]) -> None:
        opened = [
            store if isinstance(store, ResultStore) else ResultStore(store) for store in stores
        ]
        if not opened:
            raise UserError("no results store is named")
        self.stores = list({store.path.resolve(): store for store in opened}.values())
        self.names = _names([store.path.resolve() for store in self.stores])
        #: Of "runs" and "evaluations", while the files are held open.
        self._homes: dict[str, _Homes] = {}

    def _open(self, stack: ExitStack) -> None:
        for store in self.stores:
            stack.enter_context(store)
        self._homes = {"runs": self._find("runs"), "evaluations": self._find("evaluations")}

    def _find(self, table: Literal["runs", "evaluations"]) -> _Homes:
        """Find the store whose record counts, for each run or evaluation."""
        ids = {"runs": ["run_id", "status"], "evaluations": ["run_id", "evaluation_id"]}
        rows = self._stacked(table, [*ids[table], "planned"])
        frame = rows.select(["number", "planned"]).to_pandas().assign(key=_keys(rows).to_pandas())
        if table == "runs":  # the sort is stable: of those that did not fail, the first store's
            frame["failed"] = rows["status"].to_pandas() == "failed"
            frame = frame.sort_values("failed", kind="stable")
        kept = frame.drop_duplicates("key")
        planned = frame.groupby("key")["planned"].any().reindex(kept["key"])
        keys = pa.array(kept["key"], pa.string())
        return _Homes(keys, kept["number"].to_numpy(), planned.to_numpy(bool))

    def _stacked(self, table: TableName, columns: Sequence[str] | None = None) -> pa.Table:
        """A table of all stores, or these columns of it, with the column `number` of the store."""
        tables = [store.table(table, columns) for store in self.stores]
        number = np.repeat(np.arange(len(tables)), [len(table) for table in tables])
        return stacked(tables).append_column("number", pa.array(number))

    @property
    def conflicts(self) -> list[str]:
        """At most one line each for runs, architectures and datasets that stores disagree about."""
        lines = []
        with self:
            runs = self._stacked("runs", ["run_id", "error", "status"]).to_pandas()
            unlike = self._unlike(runs[runs["status"] != "failed"], "run_id", "error")
            for name, told in list(unlike.items())[:1]:
                said = "runs whose error is not the same in all stores"
                lines.append(f"{said}: {len(unlike)}, such as {name}: {told}; the first counts")
            for table in MERGED:
                differing = self._differing(table)
                for name, columns in list(differing.items())[:1]:
                    column, told = next(iter(columns.items()))
                    said = f"{table} that are not the same in all stores: {len(differing)}, such as"
                    lines.append(f"{said} {name}: {column} is {told}")
        return lines

    def _differing(self, table: TableName) -> dict[str, dict[str, str]]:
        """By architecture or dataset, and by column, where stores differ: what they say."""
        found: dict[str, dict[str, str]] = {}
        rows = self._stacked(table).to_pandas()
        for column in rows.columns.drop([KEYS[table], "number"]):
            for name, told in self._unlike(rows, KEYS[table], column).items():
                found.setdefault(name, {})[column] = told
        return found

    def _unlike(self, rows: "pd.DataFrame", key: str, column: str) -> dict[str, str]:
        """Names for which a column has several values, with two of them and their stores.

        What a store does not know ("" or missing) is no difference.
        """
        known = rows[rows[column].notna() & (rows[column].astype(str) != "")]
        values = known.drop_duplicates([key, column])
        values = values[values[key].duplicated(keep=False)]
        found: dict[str, list[str]] = {}
        for name, value, number in values[[key, column, "number"]].itertuples(index=False):
            text = f"{value:.6g}" if isinstance(value, float) else str(value)
            found.setdefault(str(name), []).append(f"{text} in {self.names[number]}")
        return {name: ", ".join(told[:2]) for name, told in found.items()}

    @property
    def recipes(self) -> list[str]:
        return list(dict.fromkeys(name for store in self.stores for name in store.recipes))

    def _columns(self, table: TableName) -> list[str]:
        names = [] if table in MERGED else ["store"]
        names += [name for store in self.stores for name in store.columns(table)]
        return list(dict.fromkeys(names))

    def _predictions(self, dataset: str, evaluation: str) -> RunPredictions:
        """The predictions of the stores that have any. Raises UserError where none has."""
        import pandas as pd

        def of_store(number: int) -> RunPredictions:
            frame, predictions = self.stores[number]._predictions(dataset, evaluation)
            rows = pa.Table.from_pandas(frame.assign(line=np.arange(len(frame))))
            homes = self._homes["evaluations" if evaluation else "runs"]
            kept = homes.kept(number, rows).to_pandas()
            lines = kept.pop("line").to_numpy()
            kept.insert(0, "store", self.names[number])
            return kept, predictions[lines]

        with self:
            self._check_same([dataset])
            found = self._answers(of_store)
        widths = {classes.shape[1] for _, classes in found}
        if len(widths) > 1:
            raise UserError(f"predictions on {dataset} are of {sorted(widths)} images: unlike data")
        frames, arrays = zip(*found, strict=True)
        return pd.concat(frames, ignore_index=True), np.concatenate(arrays)

    def labels(self, dataset: str) -> NDArray[np.uint16] | None:
        found = self._answers(lambda number: self.stores[number].labels(dataset))
        known = [labels for labels in found if labels is not None]
        if any(not np.array_equal(known[0], labels) for labels in known):
            raise UserError(f"true classes of {dataset} are not the same in all stores")
        return known[0] if known else None

    def _answers(self, ask: Callable[[int], Answer]) -> list[Answer]:
        """The answers of the stores that have one. Raises DoesNotApplyError if none has."""
        found, refusals = [], []
        for number in range(len(self.stores)):
            try:
                found.append(ask(number))
            except DoesNotApplyError as error:
                refusals.append(error)
        if not found:
            raise refusals[0]
        return found

    def _read(self, table: TableName, columns: Sequence[str]) -> pa.Table:
        check_columns(columns, self.columns(table))
        with self:
            if table in MERGED:
                rows = self._stacked(table)
                first = ~rows[KEYS[table]].to_pandas().duplicated()
                return rows.filter(pa.array(first)).select(columns)
            parts = [self._part(number, table, columns) for number in range(len(self.stores))]
        return stacked(parts).select(columns)

    def _curves(self, columns: Sequence[str], wanted: Mapping[str, str | None]) -> pa.Table:
        with self:
            parts = self._answers(lambda number: self._part(number, "curves", columns, **wanted))
        return stacked(parts).select(columns)

    def _part(
        self, number: int, table: TableName, columns: Sequence[str], **options: str | None
    ) -> pa.Table:
        """The rows of a store that count, with those of the columns that it has, and its name."""
        store = self.stores[number]
        keyed = [KEYS[table]] if table in KEYS else []
        keyed += ["evaluation_id"] * (table == "evaluations")
        own = [name for name in columns if name in store.columns(table)]
        names = list(dict.fromkeys([*own, *keyed])) or store.columns(table)
        rows = store.table(table, names, **options)
        if keyed:
            homes = self._homes["evaluations" if table == "evaluations" else "runs"]
            rows = homes.kept(number, rows)
        codes = pa.array(np.zeros(len(rows), np.int32))
        name = pa.DictionaryArray.from_arrays(codes, pa.array([self.names[number]], pa.string()))
        return rows.add_column(0, "store", name)

    def _recipe(self, recipe: str | None) -> str:
        """Resolve a recipe; UserError if errors on a dataset mean different things in stores."""
        self._check_same(None)
        main = dict.fromkeys(store.recipes[0] for store in self.stores if store.recipes)
        if recipe is None and len(main) > 1:
            raise UserError(f"the stores' main recipes differ: say which: {', '.join(main)}")
        if recipe is not None and recipe not in self.recipes:
            raise UserError(f"no recipe {recipe}; there are: {', '.join(self.recipes)}")
        return recipe or next(iter(main), "")

    def _check_same(self, datasets: Collection[str] | None) -> None:
        """Raises UserError if one of these datasets (None: any) is different data in the stores."""
        for label, columns in self._differing("datasets").items():
            unlike = sorted(MEANING & set(columns))
            if unlike and (datasets is None or label in datasets):
                raise UserError(
                    f"{label} is not the same data in all stores ({', '.join(unlike)} differ): "
                    "errors on it cannot be put together"
                )


def _keys(table: pa.Table) -> pa.ChunkedArray:
    """The texts that identify the rows of a table."""
    if "evaluation_id" in table.column_names:
        return evaluation_keys(table)
    return table["run_id"].cast(pa.string())


def _names(paths: Sequence[Path]) -> list[str]:
    """A name for each store: its study's folder or its file name; its path where two are equal."""
    short = [path.parent.name if path.name == "results.h5" else path.name for path in paths]
    return [
        name if short.count(name) == 1 else str(path)
        for name, path in zip(short, paths, strict=True)
    ]


def stacked(tables: Sequence[pa.Table]) -> pa.Table:
    """The tables below each other; a column that one lacks is null there, a text is ""."""
    table = pa.concat_tables(tables, promote_options="permissive").unify_dictionaries()
    for number, field in enumerate(table.schema):
        column = table.column(number)
        text = pa.types.is_dictionary(field.type) or pa.types.is_string(field.type)
        if text and column.null_count:
            filled = column.cast(pa.string()).fill_null("")
            filled = filled.dictionary_encode() if pa.types.is_dictionary(field.type) else filled
            table = table.set_column(number, field.name, filled)
    return table


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

    def _predictions(self, dataset: str, evaluation: str) -> RunPredictions:
        runs, classes = super()._predictions(dataset, evaluation)
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
        return rows.filter(arrow.numbers(arrow.among(rows[key], self._kept[key])))


def find_stores(where: Sequence[str | Path]) -> ResultStore | ResultStores:
    """The store of one name, or the stores of several as one. Raises UserError as `find_store`."""
    stores = [find_store(name) for name in where]
    return stores[0] if len(stores) == 1 else ResultStores(stores)


def find_store(where: str | Path) -> ResultStore:
    """The store named by a results file, a study folder, or a study's bare name in `studies/`.

    Raises UserError where there is none, or the one in a study's folder is another study's.
    """
    places = [Path(where), Path(where) / "results.h5", Path("studies") / where / "results.h5"]
    for place in places:
        if place.is_file():
            store = ResultStore(place)
            made, said = _study_name(store.provenance.get("sweep", "")), ""
            if (sweep := place.parent / "sweep.yaml").is_file():
                said = _study_name(read_regular(sweep).decode("utf-8", "replace"))
            if made and said and made != said:
                raise UserError(f"{place}: holds the results of the study {made}, not of {said}")
            return store
    folder = next((p.parent for p in places[1:] if (p.parent / "sweep.yaml").is_file()), None)
    if folder is not None and not any((folder / "journals").glob("*.arrow")):
        progress = f"its progress: anynet-study status {where}"
        raise UserError(f"{folder}: no run is recorded yet, so there are no results; {progress}")
    if folder is not None:
        raise UserError(f"{folder}: holds no results.h5 yet; make it: anynet-study collect {where}")
    there = sorted(path.parent.name for path in Path("studies").glob("*/results.h5"))
    listed = f"; in studies/ there are: {', '.join(there)}" if there else ""
    raise UserError(f"{where}: no such results store or study{listed}")


def _study_name(sweep: str) -> str:
    """The name in the text of a sweep; "" where there is none."""
    found = re.search(r"^name: *(.+?) *$", sweep, re.MULTILINE)
    return found[1] if found else ""
