"""HDF5 files that somebody made by hand: each mistake is one line, in whatever reads the store."""

from contextlib import suppress
from pathlib import Path
from typing import get_args

import h5py
import numpy as np
import pytest
from evaluation_factory import make_evaluated
from h5_changes import Change, at, cast, cut, edited, gone, put
from quick import slow_but

from anynet_study.core.errors import UserError
from anynet_study.store import ResultStore, TableName, run_sql, verify
from anynet_study.store.hdf5 import set_text

#: In how many of eight ways each array is changed. All of them, by hand, take some minutes.
WAYS = 1


def with_trial(column: str, value: float) -> Change:
    """One trial, with this value."""
    texts = {"run_id": b"0", "tuned": b"basic"}
    numbers = {"trial": 0, "rung": 0, "trains": 1, "chosen": 1, "validation_error": 5.0}

    def change(file: h5py.File) -> None:
        for name, cell in (texts | numbers | {column: value}).items():
            put(f"trials/{name}", [cell])(file)

    return change


DIGITS, BLUR = "predictions/digits", "evaluations/predictions/digits/blur"
#: What was done to a store of 7 runs, and the place that is named.
BY_HAND: list[tuple[Change, str]] = [
    (cast("runs/error", np.float16), "/runs/error"),
    (put("runs/error", [b"1"] * 7, "S4"), "/runs/error"),
    (put("runs/error", 5.0), "/runs/error"),
    (put("runs/error", np.zeros((7, 2))), "/runs/error"),
    (cut("runs/error"), "/runs/error"),
    (at("runs/error", 0, np.nan), "/runs/error"),
    (at("runs/error", 0, 100.5), "/runs/error"),
    (gone("runs/error"), "/runs/error"),
    (gone("runs/planned"), "/runs/planned"),
    (put("runs/replicate", [-1] * 7), "/runs/replicate"),
    (put("runs/replicate", np.zeros(7)), "/runs/replicate"),
    (at("runs/planned", 0, 2), "/runs/planned"),
    (put("runs/epochs", [2**31 - 1] * 7), "/curves/offsets"),
    (put("runs/images", [10**6] * 7), f"/{DIGITS}/classes"),
    (at("runs/images", 0, -1), "/runs/images"),
    (at("runs/run_id", 0, b""), "/runs/run_id"),
    (at("runs/run_id", 0, b"../../x"), "/runs/run_id"),
    (put("runs/run_id", [b"a"] * 7, "S1"), "/runs/run_id"),
    (put("runs/run_id", range(7)), "/runs/run_id"),
    (put("runs/architecture", range(7)), "/runs/architecture"),
    (cut("runs/dataset"), "/runs/dataset"),
    (put("runs/dataset", [b""] * 7, "S6"), "/runs/dataset"),
    (put("runs/status", [b"fine"] * 7, "S6"), "/runs/status"),
    (at("runs/metric", 0, b"best"), "/runs/metric"),
    (put("runs/host", 3), "/runs/host"),
    (gone("labels"), "/labels"),
    (put("labels/recipe", 3), "/labels/recipe"),
    (put("labels/evaluation", [b"blur"], "S6"), "/labels/evaluation"),
    (at("curves/offsets", 1, -5), "/curves/offsets"),
    (at("curves/offsets", -1, 2**40), "/curves/offsets"),
    (put("curves/offsets", [0, 9, 3, 3, 3, 3, 3, 3]), "/curves/offsets"),
    (cast("curves/test_top1", int), "/curves/test_top1"),
    (cut("curves/test_top1"), "/curves/test_top1"),
    (at("specs/offsets", 2, 2**50), "/specs/offsets"),
    (cast("specs/text", np.float32), "/specs/text"),
    (put("datasets/classes", [10**12] * 3), "/datasets/classes"),
    (put("datasets/classes", [0] * 3), "/datasets/classes"),
    (put("datasets/test_images", [-4] * 3), "/datasets/test_images"),
    (put("datasets/role", [1, 2, 3]), "/datasets/role"),
    (cut("datasets/chance"), "/datasets/chance"),
    (at("datasets/dataset", 1, b"digits"), "/datasets/dataset"),
    (put("architectures/d1", np.zeros((3, 3))), "/architectures/d1"),
    (put("architectures/d1", np.zeros(3, np.complex64)), "/architectures/d1"),
    (lambda f: set_text(f["architectures"], "columns", ["d1"]), "/architectures"),
    (lambda f: f["datasets"].attrs.__delitem__("columns"), "/"),
    (at(f"{DIGITS}/run", 0, 50), f"/{DIGITS}/run"),
    (at(f"{DIGITS}/run", 0, 4), f"/{DIGITS}/run"),
    (cast(f"{DIGITS}/classes", np.float64), f"/{DIGITS}/classes"),
    (put(f"{DIGITS}/classes", np.zeros(4, np.uint16)), f"/{DIGITS}/classes"),
    (lambda f: f[DIGITS].__setitem__("labels", np.zeros(4)), f"/{DIGITS}/labels"),
    (lambda f: set_text(f[DIGITS], "kind", "guess"), f"/{DIGITS}"),
    (lambda f: set_text(f[DIGITS], "dataset", "other"), f"/{DIGITS}"),
    (at("evaluations/run", 0, 99), "/evaluations/run"),
    (at("evaluations/top1", 0, -3.0), "/evaluations/top1"),
    (at("evaluations/error", 0, 150.0), "/evaluations/error"),
    (at("datasets/chance", 1, 150.0), "/datasets/chance"),
    (with_trial("validation_error", 150.0), "/trials/validation_error"),
    (with_trial("trains", 2), "/trials/trains"),
    (with_trial("trial", -1), "/trials/trial"),
    (cast("evaluations/images", np.float32), "/evaluations/images"),
    (put("evaluations/evaluation", 9), "/evaluations/evaluation"),
    (at(f"{BLUR}/row", 0, 77), f"/{BLUR}/row"),
    (gone("evaluations/top5"), "/evaluations/top5"),
    (gone("runs"), "/runs"),
    (put("provenance", b"[1]"), "/provenance"),
    (put("provenance", b"{"), "/"),
    (lambda f: f.attrs.__setitem__("planned_runs", "many"), "/@planned_runs"),
]


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    folder = make_evaluated(tmp_path_factory.mktemp("whole"))
    return (folder / "results.h5").read_bytes()


def read_all(path: Path) -> None:
    """All that queries, exports, imports and reports read of a store."""
    store = ResultStore(path)
    for table in get_args(TableName):
        store.table(table)
    store.predictions("digits")
    store.evaluation_predictions("digits", "blur")
    store.evaluation_errors("digits")
    run_sql(store, "select * from runs")


@pytest.mark.parametrize(
    ("change", "where"),
    slow_but(BY_HAND[::4], BY_HAND),
)
def test_a_mistake_is_named_when_the_store_is_opened(
    tmp_path: Path, whole: bytes, change: Change, where: str
) -> None:
    path = edited(tmp_path / "s.h5", whole, change)
    assert [(one.where, one.note) for one in verify(path)] == [(where, False)]
    with pytest.raises(UserError, match=rf"s\.h5: {where} .*: not a store of anynet-study"):
        ResultStore(path)


def test_a_store_without_a_mistake_is_read_by_all(tmp_path: Path, whole: bytes) -> None:
    path = edited(tmp_path / "s.h5", whole)
    assert verify(path) == []
    read_all(path)
    path = edited(path, whole, with_trial("trial", 0))
    assert verify(path) == []


@pytest.mark.slow
def test_any_array_of_another_type_shape_or_value_is_an_answer_or_one_line(
    tmp_path: Path, whole: bytes
) -> None:
    """Each array is changed in WAYS of eight; what is still a store is read without a fault."""
    path = edited(tmp_path / "s.h5", whole)
    names: list[str] = []
    with h5py.File(path) as file:
        file.visititems(lambda name, item: names.append(name) if hasattr(item, "dtype") else None)
    names.remove("checksums")
    for number, name in enumerate(names):
        ways: tuple[Change, ...] = (
            lambda f, n=name: put(n, np.asarray(f[n][()])[..., None])(f),
            lambda f, n=name: put(n, f[n][:0] if f[n].shape else b"")(f),
            lambda f, n=name: put(n, np.zeros(f[n].shape, np.float16))(f),
            lambda f, n=name: put(n, np.full(f[n].shape, 2**40))(f),
            lambda f, n=name: put(n, np.full(f[n].shape, -1))(f),
            lambda f, n=name: put(n, np.full(f[n].shape, np.nan))(f),
            lambda f, n=name: put(n, np.full(f[n].shape, b"x", "S1"))(f),
            gone(name),
        )
        for turn in range(WAYS):  # ways of neighbours, which are of one table, differ
            edited(path, whole, ways[(number + 3 * turn) % len(ways)])
            with suppress(UserError):
                read_all(path)
