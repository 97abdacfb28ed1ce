"""What journals hold, read as they grow; and what that leaves to do."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from anynet_study.dispatch.recorded import Again, JournalReader, Recorded
from anynet_study.store import (
    EvaluationRecord,
    EvaluationWriter,
    JournalWriter,
    RunRecord,
    finished_runs,
)


def row(run_id: str, status: str = "completed", **changes: Any) -> RunRecord:
    fields: dict[str, Any] = {
        "spec": "{}",
        "architecture": "a",
        "dataset": "digits",
        "recipe": "basic",
        "replicate": 0,
        "metric": "top1",
        "error": float("nan") if status == "failed" else 10.0,
        "failure_kind": "node" if status == "failed" else "",
        "seconds": 2.0,
        "started": 100.0,
        "host": "n1",
        "device": "cpu",
        "torch_version": "",
        "code_version": "",
    }
    return RunRecord(run_id=run_id, status=status, **fields | changes)  # type: ignore[arg-type]


@pytest.fixture
def writer(tmp_path: Path) -> Iterator[JournalWriter]:
    with JournalWriter(tmp_path / "one.arrow") as journal:
        yield journal


def test_a_reader_follows_journals_as_they_grow(tmp_path: Path, writer: JournalWriter) -> None:
    reader = JournalReader(tmp_path)
    assert dict(reader.read().runs) == {}
    writer.append(row("a"))
    assert dict(reader.read().runs) == {"a": "completed"}
    writer.append(row("b", "failed"))
    with JournalWriter(tmp_path / "two.arrow") as other:
        other.append(row("b", "diverged", device="H200", started=200.0))
        other.append(row("c", "failed", failure_kind="oom"))
    recorded = reader.read()
    assert recorded.runs == finished_runs(tmp_path)
    assert list(recorded.failures) == ["b", "c"]
    assert {run: failure.kind for run, failure in recorded.failed().items()} == {"c": "oom"}
    assert reader.spent == {"cpu": 6.0, "H200": 2.0}
    assert sorted(reader.ended) == [102.0, 102.0, 102.0, 202.0]


def test_further_evaluations_cost_time_of_the_device_that_made_them(tmp_path: Path) -> None:
    def evaluation(number: int) -> EvaluationRecord:
        return EvaluationRecord(
            run_id="a",
            evaluation="blurred",
            evaluation_id=f"{number:016x}",
            identity="{}",
            images=1,
            loss=1.0,
            top1=0.0,
            top5=0.0,
            seconds=4.0,
            started=1.0,
            host="n1",
        )

    reader = JournalReader(tmp_path)
    for number, (worker, device) in enumerate([("n1-7", "H200"), ("n2-7", "cpu"), ("n3-9", "")]):
        if device:
            with JournalWriter(tmp_path / f"{worker}-{number}.arrow") as runs:
                runs.append(row(f"r{number}", device=device, seconds=20.0 - number))
        with EvaluationWriter(tmp_path / f"{worker}-{number + 5}.evaluations.arrow") as tests:
            tests.append(evaluation(2 * number))
            tests.append(evaluation(2 * number + 1))
        reader.read()
    assert reader.pace().spent == {"H200": 20.0 + 8.0 + 8.0, "cpu": 19.0 + 8.0}


def test_a_look_reads_only_what_is_new(
    tmp_path: Path, writer: JournalWriter, monkeypatch: pytest.MonkeyPatch
) -> None:
    from anynet_study.dispatch import recorded

    seen: list[int] = []

    def counting(*arguments: Any) -> Iterator[Any]:
        for frames, columns in blocks(*arguments):
            seen.append(len(columns))
            yield frames, columns

    blocks = recorded.journal_blocks
    monkeypatch.setattr(recorded, "journal_blocks", counting)
    reader = JournalReader(tmp_path)
    for number in range(5):
        writer.append(row(f"r{number}"))
        reader.read()
        reader.read()
    assert seen == [1] * 5


def test_a_torn_tail_is_read_once_it_is_whole(tmp_path: Path) -> None:
    with JournalWriter(tmp_path / "elsewhere.arrow") as writer:
        writer.append(row("a"))
        writer.append(row("b"))
    whole = (tmp_path / "elsewhere.arrow").read_bytes()
    folder = tmp_path / "journals"
    folder.mkdir()
    growing, reader = folder / "growing.arrow", JournalReader(folder)
    sizes = set()
    for end in range(0, len(whole) + 1, 7):
        growing.write_bytes(whole[:end])
        sizes.add(len(reader.read().runs))
    growing.write_bytes(whole)
    assert dict(reader.read().runs) == {"a": "completed", "b": "completed"}
    assert sizes == {0, 1, 2}


def test_failures_are_in_the_order_in_which_they_ended(
    tmp_path: Path, writer: JournalWriter
) -> None:
    with JournalWriter(tmp_path / "a-later-host-sorts-first.arrow") as other:
        other.append(row("a", "failed", started=900.0, failure_kind="oom", host="n9"))
    writer.append(row("a", "failed", started=100.0))
    recorded = Recorded.read(tmp_path)
    assert [(it.kind, it.host) for it in recorded.failures["a"]] == [("node", "n1"), ("oom", "n9")]


@pytest.mark.parametrize(("known", "over"), [(0, True), (1, False), (2, False)])
def test_a_retry_is_over_with_one_more_failure(
    tmp_path: Path, writer: JournalWriter, known: int, over: bool
) -> None:
    writer.append(row("a", "failed"))
    recorded = Recorded.read(tmp_path)
    assert recorded._has("a", (), {"a": Again(known)}) is over
    assert recorded._has("a", (), {"b": Again(known)})
    assert not recorded._has("b", (), {})
