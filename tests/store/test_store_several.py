"""Several stores read as one, and a part of one."""

import math
from pathlib import Path

import h5py
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from store_factory import (
    ARCHITECTURES,
    datasets,
    failed,
    make_store,
    population,
    record,
    write_journal,
)

from anynet_study.core.errors import UserError
from anynet_study.store import (
    ResultStore,
    ResultStores,
    StorePart,
    collect,
    find_stores,
    run_sql,
    select,
)

RUNS = [record(number) for number in range(12)]
ONE = [*RUNS[:6], failed(6), record(7, error=11.0)]
TWO = [*RUNS[4:7], record(7, error=12.0), *RUNS[8:]]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("studies")
    make_store(folder / "one", ONE, planned=[run.run_id for run in [*ONE, RUNS[8]]])
    make_store(folder / "two", TWO, planned=[run.run_id for run in TWO[1:]])
    return folder


@pytest.fixture
def both(folder: Path) -> ResultStores:
    return ResultStores([folder / "one" / "results.h5", folder / "two" / "results.h5"])


def test_a_run_of_several_stores_counts_once(both: ResultStores) -> None:
    runs = both.runs().set_index("run_id")
    assert sorted(runs.index) == [run.run_id for run in RUNS]
    stores = runs["store"].sort_index().tolist()
    # Run 6 failed in the first store, the others count where they are first.
    assert stores == [*["one"] * 6, "two", "one", *["two"] * 4]
    assert runs.loc[RUNS[6].run_id, "error"] == RUNS[6].error
    assert runs.loc[RUNS[7].run_id, "error"] == 11.0
    assert runs["planned"].all()


def test_stores_that_disagree_say_so_in_one_line(both: ResultStores, folder: Path) -> None:
    (line,) = both.conflicts
    assert line == (
        f"runs whose error is not the same in all stores: 1, such as {RUNS[7].run_id}: "
        "11 in one, 12 in two; the first counts"
    )
    assert ResultStores(both.stores[:1]).conflicts == []


@pytest.mark.slow
def test_errors_are_those_of_the_runs_that_count(both: ResultStores, tmp_path: Path) -> None:
    merged = [*RUNS[:7], record(7, error=11.0), *RUNS[8:]]
    whole = ResultStore(make_store(tmp_path, merged)[0])
    for options in ({}, {"metric": "top5"}, {"replicates": "first"}, {"replicates": "each"}):
        assert both.errors(**options).equals(whole.errors(**options))  # type: ignore[arg-type]
    assert both.replicates().equals(whole.replicates())
    assert both.exclusions().equals(whole.exclusions())
    columns = [name for name in both.columns("curves") if name != "store"]
    order = ["run_id", "epoch"]
    mine, theirs = (one.curves().sort_values(order)[columns] for one in (both, whole))
    assert mine.reset_index(drop=True).equals(theirs.reset_index(drop=True))


def test_an_array_of_predictions_spans_the_stores(both: ResultStores) -> None:
    runs, array = both.predictions("gratings")
    expected = {run.run_id: run.predictions.tolist() for run in RUNS if run.dataset == "gratings"}
    assert dict(zip(runs["run_id"], np.asarray(array).tolist(), strict=True)) == expected
    assert array[[3, 0]].tolist() == [expected[runs["run_id"][row]] for row in (3, 0)]
    with pytest.raises(UserError, match="no predictions on cars; there are: digits, "):
        both.predictions("cars")


def test_a_store_with_itself_is_itself(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    alone, twice = find_stores(["one"]), find_stores(["one", "one/results.h5"])
    assert isinstance(alone, ResultStore)
    assert twice.runs().drop(columns="store").equals(alone.runs())
    assert twice.errors().equals(alone.errors())
    assert twice.architectures().equals(alone.architectures())


def test_queries_and_sql_see_all_stores(both: ResultStores) -> None:
    counted = run_sql(
        both, "select store, count(*) n from runs where d1 > 0 group by all order by 1"
    )
    assert counted.to_pydict() == {"store": ["one", "two"], "n": [7, 5]}
    rows = select(both, where="store = 'two'", columns=["run_id"]).to_pydict()["run_id"]
    assert (
        rows == select(both, where="not store in ('one')", columns=["run_id"]).to_pydict()["run_id"]
    )
    assert both.journals()["store"].tolist() == ["one", "two"]
    assert both.table("provenance").column_names == ["store", "name", "value"]
    found = both.curves(architecture=ARCHITECTURES[0], dataset="digits")
    assert set(found["store"]) == {"one", "two"}
    with pytest.raises(UserError, match="no dataset cars"):
        both.curves(dataset="cars")


def other_store(folder: Path, runs: list, table: pa.Table, people: pa.Table) -> Path:  # type: ignore[type-arg]
    write_journal(folder / "journals" / "w.arrow", runs)
    collect(folder / "journals", folder / "results.h5", people, table, None, {})
    return folder / "results.h5"


@pytest.mark.slow
def test_columns_that_one_store_lacks_are_missing_there(folder: Path, tmp_path: Path) -> None:
    ids = ["dddd", ARCHITECTURES[0]]
    people = pa.table({"architecture": ids, "block": ["basic", "basic"], "se_ratio": [0.25, 0.0]})
    path = other_store(tmp_path, [record(50, architecture="dddd")], datasets(), people)
    both = ResultStores([folder / "two" / "results.h5", path])
    table = both.architectures().set_index("architecture")
    assert table.index.tolist() == [*ARCHITECTURES, "dddd"]
    assert table.loc["dddd", "block"] == "basic"
    assert math.isnan(table.loc["dddd", "d1"])
    rows = select(both, columns=["run_id", "stem", "block", "d1"], where="block = 'basic'")
    assert rows.to_pylist() == [
        {"run_id": record(50).run_id, "stem": "", "block": "basic", "d1": None}
    ]
    assert both.errors().index.tolist() == [*ARCHITECTURES, "dddd"]
    assert both.conflicts == []


@pytest.mark.slow
def test_errors_on_unlike_data_of_one_name_are_not_put_together(
    folder: Path, tmp_path: Path
) -> None:
    table = datasets()
    table = table.set_column(9, "content_hash", pa.array(["0" * 16, "1" * 16, "0" * 16]))
    path = other_store(tmp_path, [record(50)], table, population())
    both = ResultStores([folder / "one" / "results.h5", path])
    (line,) = both.conflicts
    assert line.startswith("datasets that are not the same in all stores: 1, such as digits-2: ")
    assert "content_hash is 0000000000000000 in one, 1111111111111111 in" in line
    assert len(both.runs()) == 9
    for ask in (both.errors, both.replicates, lambda: both.predictions("digits-2")):
        with pytest.raises(
            UserError, match=r"^digits-2 is not the same data .*content_hash differ"
        ):
            ask()
    assert both.predictions("digits")[1].shape == (2, 11)


def test_what_two_stores_call_the_main_recipe(folder: Path, tmp_path: Path) -> None:
    path, _ = make_store(tmp_path, [record(60, recipe="long"), record(61)], recipes=("long",))
    both = ResultStores([folder / "one" / "results.h5", path])
    assert both.recipes == ["basic", "long"]
    with pytest.raises(UserError, match="main recipes differ: say which: basic, long"):
        both.errors()
    assert both.errors(recipe="long").notna().sum().sum() == 1
    with pytest.raises(UserError, match="no recipe x; there are: basic, long"):
        both.errors(recipe="x")


def test_stores_of_one_file_name_are_told_by_their_paths(folder: Path, tmp_path: Path) -> None:
    here = make_store(tmp_path / "one", [record(70)])[0]
    both = ResultStores([folder / "one" / "results.h5", here])
    assert both.names == [str(store.path.resolve()) for store in both.stores]
    with pytest.raises(UserError, match="no results store is named"):
        ResultStores([])


@pytest.mark.slow
def test_within_with_all_methods_see_one_state(tmp_path: Path) -> None:
    here, there = (make_store(tmp_path / name, [RUNS[i]])[0] for i, name in enumerate("ab"))
    both = ResultStores([here, there])
    with both:
        make_store(tmp_path / "c", [RUNS[1]], [RUNS[2]])[0].replace(there)
        with both:
            assert len(both.runs()) == 2
        assert both.errors().notna().sum().sum() == 2
    assert len(both.runs()) == 3


def test_a_damaged_store_among_several_is_named(tmp_path: Path) -> None:
    here, there = (make_store(tmp_path / name, [RUNS[i]])[0] for i, name in enumerate("ab"))
    both = ResultStores([here, there])
    with h5py.File(there, "r+") as file:
        del file["runs/error"]
    with pytest.raises(UserError, match=r"b/results.h5: the store is damaged"):
        both.runs()
    with pytest.raises(UserError, match=r"b/results.h5: the store is damaged"):
        both.stores[1].errors()


def test_a_part_of_a_store_has_the_curves_and_predictions_of_its_runs(tmp_path: Path) -> None:
    store = ResultStore(make_store(tmp_path, [record(number) for number in range(1, 18)])[0])
    part = StorePart(store, "d1 = 2 and error > 10")
    kept = store.runs(["run_id", "d1", "error"]).query("d1 == 2 and error > 10")["run_id"]
    assert 0 < len(kept) < 17
    assert part.runs()["run_id"].tolist() == kept.tolist()
    curves = store.curves()
    curves = curves[curves["run_id"].isin(kept)].reset_index(drop=True)
    pd.testing.assert_frame_equal(part.curves(), curves)
    for dataset in part.datasets()["dataset"]:
        (runs, all_runs), (classes, every) = zip(
            part.predictions(dataset), store.predictions(dataset), strict=True
        )
        rows = np.flatnonzero(all_runs["run_id"].isin(kept))
        assert runs["run_id"].tolist() == all_runs["run_id"].iloc[rows].tolist()
        np.testing.assert_array_equal(classes, every[rows])
