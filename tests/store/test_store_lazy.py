"""Only what is asked for is read."""

from collections.abc import Callable
from pathlib import Path

import h5py
import numpy as np
import pytest
from store_factory import failed, make_store, record

from anynet_study.store import ResultStore, run_sql, select
from anynet_study.store import hdf5 as store_columns

RUNS = [*(record(number) for number in range(1, 18)), failed(0)]
RUN_IDS = "runs/run_id"


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_store(tmp_path_factory.mktemp("store"), RUNS)[0]


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> dict[str, int]:
    """Elements read of every array of the file, by its name."""
    counts: dict[str, int] = {}

    def note(name: str, found: object) -> None:
        counts[name] = counts.get(name, 0) + np.size(found)

    slices, spans = h5py.Dataset.__getitem__, store_columns.read_span

    def getitem(self: h5py.Dataset, *key: object, **options: object) -> object:
        found = slices(self, *key, **options)
        note(self.name.lstrip("/"), found)
        return found

    def span(file: h5py.File, name: str, start: int, stop: int) -> object:
        note(name, np.empty(stop - start))
        return spans(file, name, start, stop)

    monkeypatch.setattr(h5py.Dataset, "__getitem__", getitem)
    for module in ("tables", "hdf5"):
        monkeypatch.setattr(f"anynet_study.store.{module}.read_span", span)
    return counts


@pytest.mark.parametrize(
    ("ask", "needed"),
    [
        (lambda store: store.runs(["error"]), {"runs/error"}),
        (lambda store: store.runs(["dataset"]), {"runs/dataset", "labels/dataset"}),
        (
            lambda store: store.runs(["error", "flops"]),
            {"runs/error", "runs/architecture", "architectures/flops"},
        ),
        (
            lambda store: select(store, where="dataset = digits", columns=["error"]),
            {"runs/error", "runs/dataset", "labels/dataset"},
        ),
        (lambda store: store.table("architectures", ["d1"]), {"architectures/d1"}),
        (
            lambda store: store.table("curves", ["epoch", "test_loss"]),
            {"curves/offsets", "curves/test_loss"},
        ),
        (
            lambda store: run_sql(
                store, "select max(r.error) e from runs r where d1 > 1 order by e"
            ),
            {"runs/error", "runs/architecture", "architectures/d1"},
        ),
        (
            lambda store: run_sql(store, "select epoch, avg(test_top5) from curves group by all"),
            {"curves/offsets", "curves/test_top5"},
        ),
        (lambda store: run_sql(store, "select count(*) from datasets"), {"datasets/dataset"}),
    ],
)
def test_the_columns_that_are_needed_are_read(
    path: Path, read: dict[str, int], ask: Callable[[ResultStore], object], needed: set[str]
) -> None:
    ask(ResultStore(path))
    assert set(read) == needed


def test_errors_read_no_curves_and_no_specs(path: Path, read: dict[str, int]) -> None:
    ResultStore(path).errors()
    tables = {name for name in read if not name.startswith(("runs/", "labels/"))}
    assert tables == {"architectures/architecture", "datasets/dataset"}


def test_one_runs_curve_is_all_that_is_read_of_the_curves(path: Path, read: dict[str, int]) -> None:
    run = RUNS[7]
    table = ResultStore(path).curves(run_id=run.run_id, metrics=["test_top1"])
    assert table["test_top1"].tolist() == run.curves["test_top1"].tolist()
    assert read.pop("curves/test_top1") == run.epochs
    assert read.pop("curves/offsets") == 2
    assert read.pop(RUN_IDS) == len(RUNS) + 1
    assert set(read.values()) == {1}


def test_predictions_are_read_as_they_are_indexed(path: Path, read: dict[str, int]) -> None:
    """An array on disk, of which a few runs at a time are in memory."""
    name = "predictions/gratings/classes"
    runs, array = ResultStore(path).predictions("gratings")
    assert name not in read
    by_id = {run.run_id: run.predictions for run in RUNS}
    expected = [by_id[run_id] for run_id in runs["run_id"]]
    assert array[2].tolist() == expected[2].tolist()
    assert read.pop(name) == 6
    assert array[:, 5].tolist() == [classes[5] for classes in expected]
    assert read.pop(name) == 6 * 6


@pytest.mark.parametrize("runs_at_once", [1, 2])
def test_no_more_runs_are_read_at_a_time_than_a_block_holds(
    path: Path, monkeypatch: pytest.MonkeyPatch, runs_at_once: int
) -> None:
    monkeypatch.setattr("anynet_study.store.predictions.BLOCK_BYTES", runs_at_once * 2 * 6)
    _, array = ResultStore(path).predictions("gratings")
    spans: list[int] = []
    slices = h5py.Dataset.__getitem__

    def getitem(self: h5py.Dataset, *key: object, **options: object) -> object:
        found = slices(self, *key, **options)
        spans.append(len(found))
        return found

    monkeypatch.setattr(h5py.Dataset, "__getitem__", getitem)
    assert np.asarray(array).shape == (6, 6)
    assert spans == [runs_at_once] * (6 // runs_at_once)


KEYS = [
    3,
    -1,
    slice(None),
    slice(2, 5),
    slice(None, None, -2),
    [5, 0, 5],
    np.array([], int),
    np.arange(6) % 2 == 0,
    (2, 3),
    (slice(1, 4), 2),
    (slice(None), slice(1, 7, 2)),
    ([3, 1], slice(0, 2)),
    (0, [4, 2]),
]


@pytest.mark.parametrize("key", KEYS, ids=str)
def test_an_array_on_disk_is_indexed_as_one_in_memory(path: Path, key: object) -> None:
    _, array = ResultStore(path).predictions("gratings")
    whole = np.asarray(array)
    assert whole.shape == array.shape == (6, 6)
    assert np.array_equal(array[key], whole[key])
    assert np.shape(array[key]) == whole[key].shape


def test_what_is_no_index_is_refused(path: Path) -> None:
    _, array = ResultStore(path).predictions("gratings")
    for key in (6, (0, 6), ([0, 1], [0, 1])):
        with pytest.raises(IndexError):
            array[key]
    assert [row.tolist() for row in array] == np.asarray(array).tolist()
