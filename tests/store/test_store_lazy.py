"""Only what is asked for is read."""

from collections.abc import Callable
from pathlib import Path

import h5py
import pytest
from store_factory import failed, make_store, record

from anynet_study.store import ResultStore, run_sql, select

RUNS = [*(record(number) for number in range(1, 18)), failed(0)]


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_store(tmp_path_factory.mktemp("store"), RUNS)[0]


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> set[str]:
    """Names of the arrays of the file that are read."""
    names: set[str] = set()
    slices = h5py.Dataset.__getitem__

    def getitem(self: h5py.Dataset, *key: object, **options: object) -> object:
        names.add(self.name.lstrip("/"))
        return slices(self, *key, **options)

    monkeypatch.setattr(h5py.Dataset, "__getitem__", getitem)
    return names


@pytest.mark.parametrize(
    ("ask", "needed"),
    [
        (lambda store: store.runs(["error"]), {"runs/error"}),
        (lambda store: store.runs(["dataset"]), {"runs/dataset"}),
        (
            lambda store: store.runs(["error", "flops"]),
            {
                *("runs/error", "runs/architecture"),
                *("architectures/architecture", "architectures/flops"),
            },
        ),
        (
            lambda store: select(store, where="dataset = 'digits'", columns=["error"]),
            {"runs/error", "runs/dataset"},
        ),
        (
            lambda store: run_sql(
                store, "select Dataset, avg(r.error) m from runs r group by all order by m"
            ),
            {"runs/error", "runs/dataset"},
        ),
        (lambda store: store.table("architectures", ["d1"]), {"architectures/d1"}),
        (
            lambda store: store.table("curves", ["epoch", "test_loss"]),
            {"curves/offsets", "curves/test_loss"},
        ),
    ],
)
def test_the_columns_that_are_needed_are_read(
    path: Path, read: set[str], ask: Callable[[ResultStore], object], needed: set[str]
) -> None:
    store = ResultStore(path)
    read.clear()  # the check of the layout
    ask(store)
    assert read == needed


def test_errors_read_no_curves_and_no_specs(path: Path, read: set[str]) -> None:
    store = ResultStore(path)
    assert not {name for name in read if name.endswith(("test_loss", "specs/text"))}
    read.clear()
    store.errors()
    tables = {name for name in read if not name.startswith(("runs/", "labels/"))}
    # Which recipe's errors stand for a dataset hangs on its role.
    assert tables == {"architectures/architecture", "datasets/dataset", "datasets/role"}
