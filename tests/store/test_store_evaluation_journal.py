"""Journals of evaluations."""

import os
from pathlib import Path

import numpy as np
import pytest
from evaluation_factory import evaluation, write_evaluations
from store_factory import failed, record, write_journal

from anynet_study.core.errors import UserError
from anynet_study.store import (
    EvaluationRecord,
    EvaluationWriter,
    JournalWriter,
    read_evaluations,
    read_journal,
    read_journals,
)
from anynet_study.store.frames import encode
from anynet_study.store.records import EVALUATION

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


def test_journals_of_runs_and_of_evaluations_are_told_apart(tmp_path: Path, journal: Path) -> None:
    write_journal(tmp_path / "worker.arrow", [record(0), failed(1)])
    assert set(read_journals([tmp_path / "worker.arrow"])["run_id"].to_pylist()) == {
        record(0).run_id,
        failed(1).run_id,
    }
    with pytest.raises(ValueError, match=r"end with \.evaluations\.arrow"):
        EvaluationWriter(tmp_path / "other.arrow")
    with pytest.raises(ValueError, match=r"end with \.arrow"):
        JournalWriter(tmp_path / "other.evaluations.arrow")
    os.rename(journal, tmp_path / "misnamed.arrow")
    with pytest.raises(
        UserError, match=r"misnamed\.arrow: a journal of evaluations by its content"
    ):
        read_journal(tmp_path / "misnamed.arrow")


def test_evaluations_of_a_newer_version_are_refused_not_lost(tmp_path: Path) -> None:
    newer = encode(EVALUATION.to_batch(evaluation()), EVALUATION.version + 1)
    path = tmp_path / "new.evaluations.arrow"
    path.write_bytes(EVALUATION.schema.serialize().to_pybytes() + newer)
    for read in (read_evaluations, lambda path: read_journals(path.parent)):
        with pytest.raises(UserError, match=r"of version 3, and this .* versions up to 2"):
            read(path)
