"""A store is read by h5py and NumPy alone, from the documentation that travels in it."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
from store_factory import failed, make_store, record

from anynet_study.core.metrics import CURVES
from anynet_study.store import ResultStore
from anynet_study.store.records import TEXTS

RUNS = [
    *(record(number) for number in range(17)),
    failed(17),
    record(18, recipe="long"),
    record(19, status="diverged", error=90.0, curves={}, predictions=np.empty(0, np.uint16)),
    record(20, architecture="ffff", dataset="of/another.sweep"),
]
UNPLANNED = RUNS[-1].run_id


class Reader:
    """As someone without this package would write it, from the attribute `layout` of the file."""

    def __init__(self, file: h5py.File) -> None:
        self.file = file

    def column(self, name: str) -> np.ndarray:
        """A column of /runs."""
        array = self.file["runs"][name]
        return array.asstr()[:] if array.dtype.kind == "S" else array[:]

    def errors(self) -> np.ndarray:
        rows = self.file["architectures/architecture"].asstr()[:].tolist()
        columns = self.file["datasets/dataset"].asstr()[:].tolist()
        main = self.file["labels/recipe"].asstr()[0]
        cells: dict[tuple[int, int], list[float]] = {}
        names = ("architecture", "dataset", "recipe", "planned", "error")
        for a, d, recipe, planned, error in zip(*map(self.column, names), strict=True):
            if planned == 1 and recipe == main and not np.isnan(error):
                cells.setdefault((rows.index(a), columns.index(d)), []).append(error)
        table = np.full((len(rows), len(columns)), np.nan)
        for place, values in cells.items():
            table[place] = np.mean(values)
        return table

    def curve(self, run_id: str, name: str) -> np.ndarray:
        (row,) = np.flatnonzero(self.column("run_id") == run_id)
        start, stop = self.file["curves/offsets"][row : row + 2]
        return self.file["curves"][name][start:stop]

    def spec(self, row: int) -> Any:
        start, stop = self.file["specs/offsets"][row : row + 2]
        return json.loads(self.file["specs/text"][start:stop].tobytes().decode("utf-8"))

    def predictions(self, dataset: str) -> dict[str, np.ndarray]:
        name = dataset.replace("%", "%25").replace(".", "%2E").replace("/", "%2F")
        group = self.file["predictions"][name]
        assert group.attrs["dataset"].decode() == dataset
        ids = self.column("run_id")[group["run"][:]]
        return dict(zip(ids, group["classes"][:], strict=True))


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    planned = [run.run_id for run in RUNS if run.run_id != UNPLANNED]
    return make_store(tmp_path_factory.mktemp("store"), RUNS, planned=planned)[0]


@pytest.fixture
def reader(path: Path) -> Iterator[Reader]:
    with h5py.File(path, "r") as file:
        yield Reader(file)


def test_runs(reader: Reader) -> None:
    by_id = {run.run_id: run for run in RUNS}
    plain = ("replicate", "error", "seconds", "started")
    for name in (*(text for text in TEXTS if text != "journal"), *plain):
        for run_id, value in zip(reader.column("run_id"), reader.column(name), strict=True):
            np.testing.assert_equal(value, getattr(by_id[run_id], name))
    unplanned = reader.column("run_id")[reader.column("planned") == 0]
    assert unplanned.tolist() == [UNPLANNED]
    for row, run_id in enumerate(reader.column("run_id")):
        assert reader.spec(row) == json.loads(by_id[run_id].spec)


def test_errors(reader: Reader, path: Path) -> None:
    np.testing.assert_allclose(reader.errors(), ResultStore(path).errors(), rtol=1e-14)


def test_curves_and_predictions(reader: Reader) -> None:
    for run in RUNS:
        for name in CURVES:
            wanted = run.curves.get(name, np.full(run.epochs, np.nan, np.float32))
            np.testing.assert_array_equal(reader.curve(run.run_id, name), wanted)
    for dataset in ("digits", "digits-2", "gratings", "of/another.sweep"):
        mine = {r.run_id: r for r in RUNS if r.dataset == dataset and len(r.predictions)}
        found = reader.predictions(dataset)
        assert set(found) == set(mine)
        assert all(np.array_equal(found[name], mine[name].predictions) for name in mine)


def test_where_the_store_comes_from(reader: Reader) -> None:
    assert json.loads(reader.file["provenance"].asstr()[()]) == {"sweep": "x: 1"}
    journals = reader.file["journals"]
    assert list(journals.attrs["columns"])[:2] == [b"journal", b"records"]
    assert journals["journal"].asstr()[:].tolist() == ["worker-0.arrow"]


def test_what_is_there_is_documented_and_what_is_documented_is_there(reader: Reader) -> None:
    text = reader.file.attrs["layout"].decode()
    described = set(re.findall(r"^/(\w+) ", text, re.MULTILINE))
    assert described == set(reader.file)
    words = set(re.findall(r"\w+", text))
    visit: list[str] = []
    reader.file.visititems(lambda name, item: visit.append(name))
    for name in visit:
        table, _, column = name.partition("/")
        if table not in ("architectures", "predictions", "collected"):
            assert {*column.split("/"), *item_attributes(reader.file[name])} - {""} <= words
    for name in reader.file.attrs:
        assert name in words


def item_attributes(item: h5py.Group | h5py.Dataset) -> set[str]:
    return set(item.attrs)
