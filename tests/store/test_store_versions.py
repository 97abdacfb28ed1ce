"""Stores of every older version of the layout are read as they are."""

import gzip
from pathlib import Path

import h5py
import pytest
from store_factory import DATASETS, failed, make_store, record

from anynet_study.errors import UserError
from anynet_study.store import ResultStore, stores_equal

STORES = Path(__file__).parent / "stores"


@pytest.fixture
def oldest(tmp_path: Path) -> Path:
    """A store as the code of version 1 wrote it, from eight runs and a failed one."""
    path = tmp_path / "version-1.h5"
    path.write_bytes(gzip.decompress((STORES / "version-1.h5.gz").read_bytes()))
    return path


def test_version_1_holds_what_it_held(oldest: Path, tmp_path: Path) -> None:
    with h5py.File(oldest) as file:
        assert file.attrs["schema_version"] == 1
    same, _ = make_store(tmp_path, [*map(record, range(8)), failed(8)])
    assert stores_equal(oldest, same) == []
    assert ResultStore(oldest).errors().equals(ResultStore(same).errors())


def test_version_1_has_predictions_but_no_labels(oldest: Path) -> None:
    store = ResultStore(oldest)
    runs, classes = store.predictions("digits")
    assert (classes[runs["run_id"].tolist().index(record(0).run_id)] == record(0).predictions).all()
    assert all(store.labels(dataset) is None for dataset in DATASETS)
    with pytest.raises(UserError, match="no predictions on cars; there are: digits, "):
        store.labels("cars")
