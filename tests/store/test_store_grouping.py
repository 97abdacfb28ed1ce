"""Groups of rows against pandas."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from store_factory import failed, make_store, record, selected

from anynet_study.core.errors import UserError
from anynet_study.store import ResultStore, select
from anynet_study.store.querying import FUNCTIONS

RUNS = [*(record(number) for number in range(1, 18)), failed(0), failed(40)]


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> ResultStore:
    return ResultStore(make_store(tmp_path_factory.mktemp("store"), RUNS)[0])


@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize("keys", [["architecture", "status"], ["d1"]])
def test_groups_are_those_of_pandas(store: ResultStore, function: str, keys: list[str]) -> None:
    found = selected(store, group_by=keys, aggregate=[f"{function}(error)", "count()"])
    runs = store.runs([*keys, "error"])
    groups = runs.groupby(keys, sort=False)
    expected = groups["error"].agg(function)
    if function == "sum":
        expected = groups["error"].sum(min_count=1)
    assert found.columns.tolist() == [*keys, f"{function}(error)", "count()"]
    assert found[keys].to_numpy().tolist() == [list(np.atleast_1d(key)) for key in expected.index]
    np.testing.assert_allclose(
        found[f"{function}(error)"].to_numpy(float), expected.to_numpy(float), rtol=1e-13
    )
    assert found["count()"].tolist() == groups.size().tolist()


def test_groups_can_be_filtered_sorted_and_limited(store: ResultStore) -> None:
    options = {"group_by": ["dataset"], "aggregate": ["mean(error)"]}
    rows = selected(store, where="status = 'completed'", sort=["-mean(error)"], limit=2, **options)  # type: ignore[arg-type]
    means = store.runs(["dataset", "error"]).groupby("dataset")["error"].mean()
    best = means.sort_values(ascending=False).head(2)
    assert rows["dataset"].tolist() == best.index.tolist()
    assert rows["mean(error)"].tolist() == pytest.approx(best.tolist())


def test_without_keys_there_is_one_row_even_of_nothing(store: ResultStore) -> None:
    rows = select(store, aggregate=["count()", "max(error)"]).to_pylist()
    assert rows == [{"count()": 19, "max(error)": max(run.error for run in RUNS[:-2])}]
    nothing = select(store, where="error > 1000", aggregate=["count()", "mean(error)"])
    assert nothing.to_pylist() == [{"count()": 0, "mean(error)": None}]
    assert select(store, where="error > 1000", group_by=["dataset"]).num_rows == 0


def test_names_that_differ_in_case_only_stay_apart(tmp_path: Path) -> None:
    runs = [record(0, dataset="Cars"), record(1, dataset="cars", error=7.0)]
    store = ResultStore(make_store(tmp_path, runs)[0])
    row = select(store, "errors", aggregate=["max(Cars)", "max(cars)"]).to_pylist()
    assert row == [{"max(Cars)": runs[0].error, "max(cars)": 7.0}]


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ({"aggregate": ["mean"]}, r"aggregate 'mean': legal are count\(\), count\(COLUMN\), mean"),
        ({"aggregate": ["mode(error)"]}, r"aggregate 'mode\(error\)': legal are"),
        ({"aggregate": ["mean()"]}, "mean of which column"),
        ({"aggregate": ["mean(eror)"]}, "no column 'eror'"),
        ({"aggregate": ["mean(dataset)"]}, r"mean\(dataset\): dataset is not a number"),
        ({"group_by": ["datasets"]}, r"no column 'datasets' \(did you mean 'dataset'\?\)"),
        ({"group_by": ["dataset"], "sort": ["error"]}, "no column 'error'"),
        ({"group_by": ["dataset"], "columns": ["error"]}, "leave out columns"),
    ],
)
def test_bad_groups_are_one_line(
    store: ResultStore, options: dict[str, list[str]], complaint: str
) -> None:
    with pytest.raises(UserError, match=complaint) as raised:
        selected(store, **options)  # type: ignore[arg-type]
    assert "\n" not in str(raised.value)


def test_missing_keys_are_a_group(tmp_path: Path) -> None:
    runs = [record(1, architecture="ffff"), record(2), record(5, architecture="ffff")]
    store = ResultStore(make_store(tmp_path, runs)[0])
    counts = select(store, group_by=["d1"])
    assert counts.to_pylist() == [{"d1": 1, "count()": 1}, {"d1": None, "count()": 2}]
    assert pa.types.is_integer(counts["d1"].type)
