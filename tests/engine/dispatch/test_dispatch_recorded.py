"""What journals hold, read as they grow; and what that leaves to do."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from anynet_study.engine.dispatch.recorded import JournalReader
from anynet_study.store import (
    EvaluationRecord,
    EvaluationWriter,
    JournalWriter,
    RunRecord,
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


def evaluation_row(run_id: str, evaluation_id: str, **changes: Any) -> EvaluationRecord:
    fields: dict[str, Any] = {
        "evaluation": "blurred",
        "identity": "{}",
        "images": 1,
        "loss": 1.0,
        "top1": 0.0,
        "top5": 0.0,
        "seconds": 4.0,
        "started": 1.0,
        "host": "n1",
    }
    return EvaluationRecord(run_id=run_id, evaluation_id=evaluation_id, **fields | changes)


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
    assert recorded.runs == {"a": "completed", "b": "diverged", "c": "failed"}
    assert list(recorded.failures) == ["b", "c"]
    assert {run: failure.kind for run, failure in recorded.failed().items()} == {"c": "oom"}
    assert reader.records == 4
    assert reader.throughput(202.0).hours == {"cpu": 6.0 / 3600, "H200": 2.0 / 3600}
    assert sorted(run.ended for run in reader.timings()) == [102.0, 102.0, 102.0, 202.0]


def test_further_evaluations_cost_time_of_the_device_that_made_them(tmp_path: Path) -> None:
    reader = JournalReader(tmp_path)
    for number, (worker, device) in enumerate([("n1-7", "H200"), ("n2-7", "cpu"), ("n3-9", "")]):
        if device:
            with JournalWriter(tmp_path / f"{worker}-{number}.arrow") as runs:
                runs.append(row(f"r{number}", device=device, seconds=20.0 - number))
        with EvaluationWriter(tmp_path / f"{worker}-{number + 5}.evaluations.arrow") as tests:
            tests.append(evaluation_row("a", f"{2 * number:016x}"))
            tests.append(evaluation_row("a", f"{2 * number + 1:016x}"))
        reader.read()
    hours = reader.throughput(0.0).hours
    assert hours == pytest.approx({"H200": 36.0 / 3600, "cpu": 27.0 / 3600})


def test_a_look_reads_only_what_is_new(
    tmp_path: Path, writer: JournalWriter, monkeypatch: pytest.MonkeyPatch
) -> None:
    from anynet_study.engine.dispatch import recorded

    seen: list[int] = []

    def counting(*arguments: Any) -> Any:
        table = read_journals(*arguments)
        seen.append(len(table))
        return table

    read_journals = recorded.read_journals
    monkeypatch.setattr(recorded, "read_journals", counting)
    reader = JournalReader(tmp_path)
    for number in range(5):
        writer.append(row(f"r{number}"))
        reader.read()
        reader.read()
    assert seen == [1, 0] * 5


def test_a_torn_tail_is_read_once_it_is_whole(tmp_path: Path) -> None:
    with JournalWriter(tmp_path / "elsewhere.arrow") as writer:
        writer.append(row("a"))
        writer.append(row("b"))
    whole = (tmp_path / "elsewhere.arrow").read_bytes()
    folder = tmp_path / "journals"
    folder.mkdir()
    growing, reader = folder / "growing.arrow", JournalReader(folder)
    sizes = set()
    for end in [*range(0, len(whole), 29), len(whole)]:
        growing.write_bytes(whole[:end])
        sizes.add(len(reader.read().runs))
    assert dict(reader.read().runs) == {"a": "completed", "b": "completed"}
    assert sizes == {0, 1, 2}


@pytest.mark.parametrize(
    ("runs", "rate"),
    [
        ([], None),
        ([(1000, 8000), (9890, 10)], 2.0),
        ([(0, 100)], 0.0),
        ([(9100, 300), (9690, 10)], 8.0),
        ([(9100, 300), (9690, 10), (9999, 0)], 8.0),  # the last is a worker's death
    ],
)
def test_the_pace_is_that_of_the_last_hour_or_less(
    tmp_path: Path, writer: JournalWriter, runs: list[tuple[int, int]], rate: float | None
) -> None:
    for number, (started, seconds) in enumerate(runs):
        writer.append(row(f"r{number}", started=float(started), seconds=float(seconds)))
    reader = JournalReader(tmp_path)
    reader.read()
    assert reader.throughput(10_000.0).runs_per_hour == rate


def test_the_pace_does_not_fall_after_the_end(tmp_path: Path, writer: JournalWriter) -> None:
    for number in range(10):
        writer.append(row(f"r{number}", started=100.0 * number, seconds=100.0))
    reader = JournalReader(tmp_path)
    reader.read()
    paces = [reader.throughput(now, is_over=True).runs_per_hour for now in (1000.0, 5000.0, 1e6)]
    assert paces == [36.0] * 3
