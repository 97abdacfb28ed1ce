"""Journals of evaluations, and older journals of runs."""

import gzip
import math
import os
from pathlib import Path

import numpy as np
import pytest
from evaluation_factory import evaluation, write_evaluations
from store_factory import failed, record, write_journal

from anynet_study.errors import UserError
from anynet_study.store import (
    EvaluationRecord,
    EvaluationWriter,
    JournalWriter,
    finished_evaluations,
    finished_runs,
    read_evaluations,
    read_journal,
    read_journals,
)
from anynet_study.store.frames import encode
from anynet_study.store.records import EVALUATION, RUN, RunRecord

FOUR = [
    evaluation(0),
    evaluation(0, "shifted", predictions=np.empty(0, np.uint16)),
    evaluation(1, loss=float("nan")),
    evaluation(2, host="a\0b"),
]


def content(records: list[EvaluationRecord]) -> list[bytes]:
    return [EVALUATION.to_batch(one).serialize().to_pybytes() for one in records]


@pytest.fixture
def journal(tmp_path: Path) -> Path:
    return write_evaluations(tmp_path / "worker.evaluations.arrow", FOUR)


def test_what_was_appended_is_read_in_order_and_fsynced(journal: Path, synced: list[int]) -> None:
    read = read_evaluations(journal)
    assert (content(read.records), read.problem) == (content(FOUR), None)
    assert len(synced) == len(FOUR) + 2
    assert synced[-1] == journal.stat().st_size


def test_the_table_of_records_says_what_the_records_say(journal: Path) -> None:
    table = read_journals(journal.parent)
    assert table["record_kind"].to_pylist() == ["evaluation"] * len(FOUR)
    for name in ("run_id", "evaluation", "evaluation_id", "identity"):
        assert table[name].to_pylist() == [getattr(one, name) for one in FOUR]
    for name in ("images", "loss", "top1", "top5", "error", "seconds", "started"):
        np.testing.assert_equal(table[name].to_pylist(), [getattr(one, name) for one in FOUR])
    assert table["predicted"].to_pylist() == [11, 0, 4, 6]
    assert table["architecture"].null_count == len(FOUR)


@pytest.mark.parametrize(
    "changes",
    [
        {"run_id": "../x"},
        {"evaluation": ""},
        {"evaluation": "test"},
        {"identity": ""},
        {"evaluation_id": "0" * 15},
        {"evaluation_id": "0" * 15 + "\n"},
        {"images": 0},
        {"images": 3},
        {"top1": 100.5},
        {"top5": float("nan")},
        {"predictions": np.full(11, 65535)},
        {"predictions": np.zeros((11, 1), np.uint16)},
    ],
)
def test_a_row_that_contradicts_itself_is_refused(
    tmp_path: Path, changes: dict[str, object], monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(ValueError):
        evaluation(**changes)
    if np.ndim(changes.get("predictions", 0)) > 1:
        return
    with monkeypatch.context() as patched:
        patched.setattr(EvaluationRecord, "__post_init__", lambda self: None)
        path = tmp_path / "x.evaluations.arrow"
        write_evaluations(path, [evaluation(1), evaluation(**changes), evaluation(2)])
    read = read_evaluations(path)
    assert content(read.records) == content([evaluation(1), evaluation(2)])
    assert "is not an evaluation: " in str(read.problem)
    assert len(finished_evaluations(tmp_path)) == 2


def test_journals_of_runs_and_of_evaluations_are_told_apart(tmp_path: Path, journal: Path) -> None:
    write_journal(tmp_path / "worker.arrow", [record(0), failed(1)])
    ids = {(one.run_id, one.evaluation_id) for one in FOUR}
    assert finished_evaluations(tmp_path) == ids
    assert set(finished_runs(tmp_path)) == {record(0).run_id, failed(1).run_id}
    with pytest.raises(ValueError, match=r"end with \.evaluations\.arrow"):
        EvaluationWriter(tmp_path / "other.arrow")
    with pytest.raises(ValueError, match=r"end with \.arrow"):
        JournalWriter(tmp_path / "other.evaluations.arrow")
    os.rename(journal, tmp_path / "misnamed.arrow")
    read = read_journal(tmp_path / "misnamed.arrow")
    assert read.records == []
    assert "is not a run" in str(read.problem)
    assert len(finished_runs(tmp_path)) == 2


def test_evaluations_of_a_newer_version_are_refused_not_lost(tmp_path: Path) -> None:
    newer = encode(EVALUATION.to_batch(evaluation()), EVALUATION.version + 1)
    path = tmp_path / "new.evaluations.arrow"
    path.write_bytes(EVALUATION.schema.serialize().to_pybytes() + newer)
    for read in (read_evaluations, lambda path: finished_evaluations(path.parent)):
        with pytest.raises(UserError, match=r"version 3, this .* up to 2"):
            read(path)


def test_evaluations_of_before_there_were_errors_on_the_metric_have_none(tmp_path: Path) -> None:
    packed = Path(__file__).parent / "stores" / "evaluations-1.arrow.gz"
    (tmp_path / "old.evaluations.arrow").write_bytes(gzip.decompress(packed.read_bytes()))
    expected = [evaluation(n, name) for n in (0, 1, 3) for name in ("blur", "shifted")]
    read = read_evaluations(tmp_path / "old.evaluations.arrow")
    assert read.problem is None
    assert content(read.records) == content(expected)
    assert all(math.isnan(one.error) for one in read.records)
    table = read_journals(tmp_path)
    assert np.isnan(table["error"].to_numpy()).all()
    assert table["top1"].to_pylist() == [one.top1 for one in expected]


def expected_runs() -> list[RunRecord]:
    """What journals of older versions hold."""
    return [*map(record, range(8)), failed(8)]


@pytest.mark.parametrize("version", [1, 2])
def test_runs_of_before_have_no_engine_and_no_curve_of_their_metric(
    version: int, tmp_path: Path
) -> None:
    packed = Path(__file__).parent / "stores" / f"journal-{version}.arrow.gz"
    data = gzip.decompress(packed.read_bytes())
    (tmp_path / "old.arrow").write_bytes(data)
    expected = [RUN.to_batch(one).serialize() for one in expected_runs()]
    read = read_journal(tmp_path / "old.arrow")
    assert read.problem is None
    assert [RUN.to_batch(one).serialize() for one in read.records] == expected
    assert len(finished_runs(tmp_path)) == 9
    # Records of both versions side by side, as no writer leaves them, are read all the same.
    curve = {"test_error": np.array([3.0, 2.0], np.float32)}
    newer = encode(RUN.to_batch(record(9, engine="fast", curves=curve)), RUN.version)
    (tmp_path / "old.arrow").write_bytes(data[:-8] + newer)
    assert read_journals(tmp_path)["engine"].to_pylist() == [""] * 9 + ["fast"]
    curves = [run.curves["test_error"] for run in read_journal(tmp_path / "old.arrow").records]
    assert [len(curve) for curve in curves] == [*(run.epochs for run in expected_runs()), 2]
    assert np.isnan(np.concatenate(curves[:-1])).all()
    assert curves[-1].tolist() == [3.0, 2.0]
    assert read_journal(tmp_path / "old.arrow").records[-1].engine == "fast"
