"""What workers say of themselves, and how jobs ended by what is left of it and by Slurm's logs."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from anynet_study.engine.dispatch import worker_state
from anynet_study.engine.dispatch.failures import Ending, ending
from anynet_study.engine.dispatch.ledger import SubmittedJob
from anynet_study.engine.dispatch.worker_state import (
    Said,
    WorkerState,
    alive_file,
    leave_file,
    remove_states,
    silence,
)

JOB = SubmittedJob("5", "slurm", "login", 0.0, "9457b012de1d2c4a")
RUN = "9457b012de1d2c4a"
#: A time limit, as slurmstepd and then srun tell it.
LIMIT = """\
slurmstepd: error: *** JOB 5 ON n7 CANCELLED AT 2026-11-22T04:19:25 DUE TO TIME LIMIT ***
srun: Job step aborted: Waiting up to 32 seconds for job step to finish.
slurmstepd: error: *** STEP 5.0 ON n7 CANCELLED AT 2026-11-22T04:19:25 DUE TO TIME LIMIT ***
srun: error: n7: task 0: Killed
"""
KILLED = "srun: error: n7: task 0: Killed\nsrun: Force Terminated StepId=5.0\n"
OOM = (
    "slurmstepd: error: Detected 1 oom_kill event in StepId=5.0. Some of the step tasks have been "
    "OOM Killed.\nsrun: error: n7: task 0: Out Of Memory\n"
)
#: A higher partition wanted the node; and a user said scancel.
PREEMPTED = LIMIT.replace("TIME LIMIT", "PREEMPTION")
CANCELLED = LIMIT.replace(" DUE TO TIME LIMIT", "")
REQUEUED = LIMIT.replace("TIME LIMIT", "JOB REQUEUE")


def ended(folder: Path, err: str = "", **said: object) -> Ending:
    """The end of a worker that left this behind; at a run, unless it said otherwise."""
    (folder / "5_0_log.out").touch()
    (folder / "5_0_log.err").write_text(err)
    told = {"host": "n7", "runs": {RUN: 0.0}, **said}
    alive_file(folder, "5").write_text(json.dumps(told) + "\n")
    end = ending(folder, JOB)
    assert end is not None
    return end


@pytest.mark.parametrize(
    ("err", "kind", "words"),
    [
        (LIMIT, "timeout", "ended at the job's time limit"),
        (OOM, "oom", "killed for want of memory"),
        (LIMIT.replace("TIME LIMIT", "NODE FAILURE, SEE SLURMCTLD LOG"), "node", "lost with"),
        (KILLED, "node", "killed, perhaps for want of memory"),
        ("", "node", "killed, perhaps for want of memory"),
        (KILLED.replace("Killed", "Segmentation fault"), "code", "segmentation fault"),
        (KILLED.replace("Killed", "Bus error (core dumped)"), "node", "bus error"),
        (PREEMPTED, "", "preempted"),
        (CANCELLED, "", "cancelled"),
        (REQUEUED, "", "requeued"),
    ],
)
def test_the_words_of_slurm_say_why(tmp_path: Path, err: str, kind: str, words: str) -> None:
    end = ended(tmp_path, err)
    assert (list(end.runs), end.kind, end.host) == ([RUN], kind, "n7")
    assert words in end.words


def in_process(path: Path, body: str) -> "subprocess.Popen[bytes]":
    """A worker in a process of its own, which has written that it is there."""
    program = (
        "import os, sys, time; from pathlib import Path\n"
        "from anynet_study.engine.dispatch.worker_state import WorkerState\n"
        f"with WorkerState(Path({str(path)!r})) as state:\n    {body}\n"
    )
    process = subprocess.Popen([sys.executable, "-c", program], stderr=subprocess.DEVNULL)
    until = time.monotonic() + 60
    while process.poll() is None and not path.exists() and time.monotonic() < until:
        time.sleep(0.02)
    return process


def test_who_is_killed_leaves_behind_at_which_runs_it_was(tmp_path: Path) -> None:
    body = (
        "for run in ('a', 'b', 'c'): state.begins(run, Path(f'{run}.pt'))\n"
        "    state.ends('b'); os.kill(os.getpid(), 9)"
    )
    process = in_process(alive_file(tmp_path, "5"), body)
    assert process.wait() == -signal.SIGKILL
    end = ending(tmp_path, JOB)
    assert end is not None
    assert (dict(end.runs), end.kind, end.unexplained) == ({"a": 0.0, "c": 0.0}, "node", True)
    assert end.ended > time.time() - 600
    assert silence(tmp_path, "5", time.time()) is not None


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("raise ValueError('no such file')", "no such file"),
        ("os.kill(os.getpid(), 9)", "killed, perhaps for want of memory, before its first run"),
    ],
)
def test_who_was_at_no_run_failed_none_and_says_why(tmp_path: Path, body: str, words: str) -> None:
    in_process(alive_file(tmp_path, "5"), body).wait()
    end = ending(tmp_path, JOB)
    assert end is not None
    assert (end.runs, end.kind, end.words) == ({}, "", words)
    assert (silence(tmp_path, "5", time.time()) is None) is ("raise" in body)


def test_who_left_in_order_leaves_nothing(tmp_path: Path) -> None:
    path = alive_file(tmp_path, "5")
    with WorkerState(path) as state:
        state.begins(RUN, tmp_path / "a.pt")
        assert path.exists()
    assert not path.exists()
    assert ending(tmp_path, JOB) is None, "it never began: there is no log"
    (tmp_path / "5_0_log.out").touch()
    end = ending(tmp_path, JOB)
    assert end is not None
    assert (end.runs, end.kind, end.words) == ({}, "", "")
    with WorkerState(path) as state:
        state.note(left="asked to leave (SIGTERM)")
    assert (end := ending(tmp_path, JOB)) is not None
    assert (end.kind, end.words) == ("", "asked to leave (SIGTERM)")
    (tmp_path / "5_0_log.err").write_text(CANCELLED)
    assert (end := ending(tmp_path, JOB)) is not None
    assert (end.kind, end.words) == ("", "cancelled")
    assert ending(tmp_path, replace(JOB, job_id="6")) is None


def test_a_file_and_the_end_of_its_time_ask_a_worker_to_leave(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(worker_state, "BEAT", 0.01)
    state, asks = WorkerState(alive_file(tmp_path, "5")), leave_file(tmp_path, "5")
    with state.listening():
        assert not state.requested()
        asks.touch()
        until = time.monotonic() + 60
        while not state.requested():
            assert time.monotonic() < until
            time.sleep(0.01)
    said = Said.read(alive_file(tmp_path, "5"))
    assert said is not None
    assert (said.left, asks.exists()) == ("asked to leave (SIGTERM)", False)
    assert [WorkerState(seconds=it).requested() for it in (0.0, 1e6)] == [True, False]


@pytest.mark.parametrize("torn", ["", "{", '{"host": "n1", "ru', "7\n", '{"unheard": 1}\n'])
def test_what_nobody_wrote_whole_says_nothing(tmp_path: Path, torn: str) -> None:
    alive_file(tmp_path, "5").write_text(torn)
    assert Said.read(alive_file(tmp_path, "5")) == Said()


def test_what_was_longer_before_is_no_part_of_what_is_said(tmp_path: Path) -> None:
    path = alive_file(tmp_path, "5")
    state = WorkerState(path)
    state.begins("a" * 1000, tmp_path / "a.pt")
    long = path.read_text()
    state.ends("a" * 1000)
    assert Said.read(path) == state.said
    path.write_text(path.read_text() + long[len(path.read_text()) :])  # killed before it was cut
    assert Said.read(path) == state.said


@pytest.mark.parametrize("kind", ["code", "node"])
def test_where_a_gpu_was_lost_all_its_runs_are_suspects(tmp_path: Path, kind: str) -> None:
    """The one that met the error waited for the GPU first; another may have caused it."""
    body = (
        "for run in ('a', 'b'): state.begins(run, Path(f'{run}.pt'))\n"
        f"    state.end_without_gpu({kind!r}, RuntimeError('CUDA error: device-side assert'))"
    )
    process = in_process(alive_file(tmp_path, "5"), body)
    assert process.wait() == -signal.SIGKILL
    end = ending(tmp_path, JOB)
    assert end is not None
    assert (set(end.runs), end.kind, end.gpu_lost) == ({"a", "b"}, kind, True)
    assert end.words == "killed: the GPU was lost: CUDA error: device-side assert"
    assert not end.unexplained


def test_the_last_worker_of_a_requeued_job_counts(tmp_path: Path) -> None:
    end = ended(tmp_path, REQUEUED + OOM, before=len(REQUEUED))
    assert end.kind == "oom"
    # Its node went away without a word; that the one before was requeued is no reason.
    assert ended(tmp_path, REQUEUED, before=len(REQUEUED)).kind == "node"
    log = tmp_path / "5_0_log.err"
    assert WorkerState(alive_file(tmp_path, "5"), log).said.before == len(REQUEUED)


def test_to_whom_it_belonged_and_when_it_was_there_last(tmp_path: Path) -> None:
    assert ended(tmp_path, attached=True).attached
    assert not ended(tmp_path).attached
    os.utime(alive_file(tmp_path, "5"), (1000.0, 1000.0))
    assert (end := ending(tmp_path, JOB)) is not None
    assert end.ended == 1000.0


@pytest.mark.parametrize(
    ("change", "there"),
    [
        (lambda path: os.utime(path, (1.0, 1.0)), True),
        (lambda path: path.touch(), True),
        (lambda path: remove_old(path, {RUN}), False),
        (lambda path: remove_states(path.parent, {RUN}), True),
    ],
)
def test_what_killed_workers_left_stays_until_their_runs_are_finished(
    tmp_path: Path, change: Callable[[Path], None], there: bool
) -> None:
    ended(tmp_path)
    path = alive_file(tmp_path, "5")
    change(path)
    remove_states(tmp_path, ())
    assert path.exists() is there


def remove_old(path: Path, finished: set[str]) -> None:
    os.utime(path, (1.0, 1.0))
    remove_states(path.parent, finished)
