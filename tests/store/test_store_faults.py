"""What can go wrong around the store: kills, other processes, file systems, clocks."""

import errno
import fcntl
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from store_factory import as_ordinary_user, gather, make_store, record, write_journal

from anynet_study.store import JournalWriter, ResultStore, collect, collecting, stores_equal

TESTS = Path(__file__).parents[1]


def environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": os.pathsep.join([str(TESTS / "store"), str(TESTS.parent)])}


COLLECT = """
import sys
from pathlib import Path
from store_factory import gather
for _ in range(5):
    gather(Path(sys.argv[1]))
"""


@pytest.mark.slow
def test_many_collects_and_a_reader_at_once(tmp_path: Path) -> None:
    runs = [record(number) for number in range(60)]
    out, _ = make_store(tmp_path, runs[:20])
    command = [sys.executable, "-c", COLLECT, str(tmp_path)]
    environ = environment()
    at_work = [subprocess.Popen(command, env=environ) for _ in range(3)]
    with JournalWriter(tmp_path / "journals" / "live.arrow") as journal:
        seen = 20
        for one in runs[20:]:
            journal.append(one)
            count = len(ResultStore(out).errors().stack()) and len(ResultStore(out).runs())
            assert count >= seen  # a slow collect does not undo a faster one
            seen = count
            time.sleep(0.03)
        assert [process.wait(300) for process in at_work] == [0] * 3
    gather(tmp_path)
    plain, _ = make_store(tmp_path / "plain", runs)
    assert stores_equal(out, plain) == []
    assert sorted(path.name for path in tmp_path.iterdir()) == ["journals", "plain", "results.h5"]


@pytest.mark.parametrize("reason", [errno.ENOLCK, errno.EBADF, errno.EOPNOTSUPP])
def test_a_file_system_without_locks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, reason: int
) -> None:
    def refuse(*arguments: object) -> None:
        raise OSError(reason, os.strerror(reason))

    monkeypatch.setattr(fcntl, "flock", refuse)
    out, report = make_store(tmp_path, [record(0)])
    assert (report.runs, len(ResultStore(out).runs())) == (1, 1)


def test_a_lock_that_somebody_holds_stops_no_reader(tmp_path: Path) -> None:
    out, _ = make_store(tmp_path, [record(0)])
    with out.open("r+b") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        assert len(ResultStore(out).runs()) == 1


def test_a_collect_that_hangs_stops_no_other_for_ever(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.modules[collect.__module__], "PATIENCE", 0.2)
    handle = os.open(tmp_path, os.O_RDONLY)
    fcntl.flock(handle, fcntl.LOCK_EX)
    out, _ = make_store(tmp_path, [record(0)])
    os.close(handle)
    assert len(ResultStore(out).runs()) == 1


@pytest.mark.slow
def test_a_clock_that_jumps(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither times of runs, nor of files, decide whether a run is there."""
    early, late = record(0, started=4e9, host="early"), record(0, started=-5.0, host="late")
    first, _ = make_store(tmp_path / "a", [early, record(1, started=float("nan"))], [late])
    second, _ = make_store(tmp_path / "b", [late], [early, record(1, started=float("nan"))])
    assert stores_equal(first, second) == []
    assert set(ResultStore(first).runs()["host"]) == {"late", "node1"}
    for now in (0.0, 1e10):
        monkeypatch.setattr(time, "time", lambda now=now: now)
        write_journal(tmp_path / "a" / "journals" / f"{now}.arrow", [record(int(now % 7) + 2)])
        gather(tmp_path / "a")
    assert len(ResultStore(first).runs()) == 4


def test_a_journal_that_may_not_be_read_is_named_and_nothing_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    out, _ = make_store(Path(), [record(0)], [record(1)])
    before = out.read_bytes()
    for path in (tmp_path, tmp_path / "journals"):
        path.chmod(0o777)
    Path("journals/worker-1.arrow").chmod(0)
    with as_ordinary_user(), pytest.raises(PermissionError, match=r"worker-1\.arrow"):
        gather(Path())
    assert out.read_bytes() == before


def test_a_folder_that_may_not_be_written_is_found_before_training(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    tmp_path.chmod(0o555)
    with as_ordinary_user(), pytest.raises(PermissionError):
        JournalWriter(Path("journals/x.arrow"))
    tmp_path.chmod(0o755)


def test_journals_that_change_while_they_are_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody but its worker writes a journal; if somebody does, no number is made of it."""
    write_journal(tmp_path / "journals" / "x.arrow", [record(1), record(2)])
    expected, _ = make_store(tmp_path / "expected", [record(1), record(2)])
    written = collecting.write_store

    def after_damage(*arguments: Any) -> None:
        (tmp_path / "journals" / "x.arrow").write_bytes(bytes(5000))
        written(*arguments)

    monkeypatch.setattr(collecting, "write_store", after_damage)
    out, report = make_store(tmp_path)
    assert (report.runs, stores_equal(out, expected)) == (2, [])
