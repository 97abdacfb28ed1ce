"""Stores of every older version of the layout are read as they are."""

import gzip
from pathlib import Path

import h5py
import numpy as np
import pytest
from store_factory import DATASETS, datasets, failed, make_store, population, record, write_journal

from anynet_study.errors import UserError
from anynet_study.store import ResultStore, ResultStores, collect, run_sql, stores_equal
from anynet_study.store.integrity import verify
from anynet_study.store.layout import SCHEMA_VERSION

STORES = Path(__file__).parent / "stores"
#: The versions between the first and the last are read in CI.
OLDER = [
    pytest.param(version, marks=[pytest.mark.slow] * (1 < version < SCHEMA_VERSION - 1))
    for version in range(1, SCHEMA_VERSION)
]
#: What stores of each version hold.
RUNS = [*map(record, range(8)), failed(8)]
#: True classes in those since version 2.
LABELS = np.arange(11) % 10


def older(version: int, folder: Path) -> Path:
    """A store as the code of that version wrote it."""
    path = folder / f"version-{version}.h5"
    path.write_bytes(gzip.decompress((STORES / f"{path.name}.gz").read_bytes()))
    return path


@pytest.mark.parametrize("version", OLDER)
def test_every_version_holds_what_it_held(version: int, tmp_path: Path) -> None:
    path = older(version, tmp_path)
    with h5py.File(path) as file:
        assert file.attrs["schema_version"] == version
    same, _ = make_store(tmp_path, RUNS)
    if version >= 2:
        with h5py.File(same, "r+") as file:
            file["predictions/digits/labels"] = LABELS.astype(np.uint16)
    assert stores_equal(path, same) == []
    old, new = ResultStore(path), ResultStore(same)
    assert old.errors().equals(new.errors())
    assert old.curves().equals(new.curves())
    assert old.runs().equals(new.runs())
    assert old.provenance | {"created": ""} == new.provenance | {"created": ""}
    assert old.recipes == new.recipes


@pytest.mark.parametrize("version", OLDER)
def test_every_version_is_verified_and_replaced_by_collect(version: int, tmp_path: Path) -> None:
    path = older(version, tmp_path)
    assert verify(path) == []
    if version >= 3:
        with h5py.File(path, "r+") as file:
            file.attrs["planned_runs"] = 3
        assert ["seal does not fit" in finding.what for finding in verify(path)] == [True]
    write_journal(tmp_path / "journals" / "a.arrow", [*RUNS, record(9)])
    report = collect(tmp_path / "journals", path, population(), datasets(), None, {})
    assert (report.runs, report.new, report.problems) == (10, 1, [])
    with h5py.File(path) as file:
        assert file.attrs["schema_version"] == SCHEMA_VERSION


@pytest.mark.parametrize("version", OLDER)
def test_what_keeps_predictions(version: int, tmp_path: Path) -> None:
    store = ResultStore(older(version, tmp_path))
    runs, classes = store.predictions("digits")
    assert (classes[runs["run_id"].tolist().index(record(0).run_id)] == record(0).predictions).all()
    labels = {dataset: store.labels(dataset) for dataset in DATASETS}
    assert labels["digits-2"] is None
    assert (labels["digits"] is None) if version == 1 else (labels["digits"] == LABELS).all()
    with pytest.raises(UserError, match="no predictions on cars; there are: digits, "):
        store.labels("cars")


@pytest.mark.parametrize("version", OLDER)
def test_before_there_were_evaluations_there_are_none(version: int, tmp_path: Path) -> None:
    path = older(version, tmp_path)
    newer, _ = make_store(tmp_path, RUNS)
    for store in (ResultStore(path), ResultStores([path, newer])):
        assert store.evaluations().empty
        assert store.evaluations().columns.tolist() == list(store.table("evaluations").column_names)
        table = store.evaluation_errors("digits")
        assert table["test"].equals(store.errors("top1")["digits"].rename("test"))
        assert table.columns.tolist() == ["test"]
        assert len(run_sql(store, "select top1 from evaluations")) == 0
        with pytest.raises(UserError, match="there are none at all"):
            store.evaluation_predictions("digits", "blur")
    assert set(ResultStore(path).runs()["engine"]) == {""}


def test_evaluations_of_version_4_have_no_error_on_the_metric(tmp_path: Path) -> None:
    path = tmp_path / "old.h5"
    path.write_bytes(gzip.decompress((STORES / "version-4-evaluated.h5.gz").read_bytes()))
    assert verify(path) == []
    table = ResultStore(path).evaluations()
    assert len(table) == 6
    assert table["error"].isna().all()
    assert table["top1"].notna().all()
    assert ResultStore(path).evaluation_errors("digits").columns.tolist() == [
        "test",
        "blur",
        "shifted",
    ]
