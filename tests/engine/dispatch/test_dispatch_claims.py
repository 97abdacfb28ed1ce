"""Claims: one worker alone gets a run, whatever the clocks say, and a lost one's is taken over."""

import os
import subprocess
import sys
import time
from contextlib import ExitStack
from pathlib import Path

import pytest

from anynet_study.engine.dispatch import claims
from anynet_study.engine.dispatch.claims import Claims
from anynet_study.engine.dispatch.worker_state import SILENT, WorkerState, alive_file, this_system
from anynet_study.engine.study_folder import StudyFolder

RUN = "9457b012de1d2c4a"
HERE = Path(__file__).parent
#: A worker on another machine: its process cannot be seen from here.
ELSEWHERE = "another-boot/pid:[1] 7"


class Clock:
    """Our own, which no other worker sees."""

    def __init__(self) -> None:
        self.now = 1000.0

    def monotonic(self) -> float:
        return self.now

    def __getattr__(self, name: str) -> object:
        return getattr(time, name)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(claims, "time", clock)
    return clock


@pytest.fixture
def study(tmp_path: Path) -> StudyFolder:
    (tmp_path / "logs").mkdir()
    return StudyFolder(tmp_path)


def worker(study: StudyFolder, job: str) -> Claims:
    path = alive_file(study.logs, job)
    path.touch()
    return Claims(study, WorkerState(path))


@pytest.fixture
def other(study: StudyFolder, monkeypatch: pytest.MonkeyPatch) -> Claims:
    """A worker on another machine, which is at a run."""
    with monkeypatch.context() as patch:
        patch.setattr(claims, "process_mark", lambda _: ELSEWHERE)
        other = worker(study, "there-1")
    assert other.take(RUN)
    return other


def beat(job: str, study: StudyFolder) -> None:
    path = alive_file(study.logs, job)
    os.utime(path, ns=(0, path.stat().st_mtime_ns + 1))


def test_a_run_is_one_worker_s_until_it_gives_it_up(study: StudyFolder, clock: Clock) -> None:
    first, second = worker(study, "a"), worker(study, "b")
    assert first.take(RUN)
    assert first.take(RUN)
    assert not second.take(RUN)
    assert second.others[RUN].job_id == "a"
    assert second.take("another")
    first.__exit__()
    assert second.take(RUN)
    assert (first.holds("none"), second.holds(RUN)) == (False, True)


def test_who_is_looked_at_for_long_and_never_changes_is_lost(
    study: StudyFolder, clock: Clock, other: Claims
) -> None:
    """Its clock, and that of the file system, may be hours ahead or behind."""
    os.utime(alive_file(study.logs, "there-1"), (1.0, 1.0))
    mine, third = worker(study, "a"), worker(study, "b")
    assert not mine.take(RUN)
    assert mine.may_be_free_soon(), "it was not seen to live yet"
    clock.now += SILENT
    assert not mine.take(RUN)
    clock.now += 1
    assert mine.take(RUN)
    assert mine.lost[RUN] == ["there-1"]
    assert not third.take(RUN), "it is ours, though the first claim is still there"
    assert third.others[RUN].job_id == "a"
    assert not other.holds(RUN), "if it only slept, it has to leave the run to us"
    assert mine.holds(RUN)


def test_who_gives_signs_of_life_is_not_lost_whatever_its_clock_says(
    study: StudyFolder, clock: Clock, other: Claims
) -> None:
    mine = worker(study, "a")
    for _ in range(20):
        assert not mine.take(RUN)
        clock.now += SILENT / 2
        beat("there-1", study)
    assert not mine.may_be_free_soon()
    clock.now += SILENT * 10  # we slept: what it did meanwhile is not known
    beat("there-1", study)
    assert not mine.take(RUN)


def test_who_left_in_the_middle_or_whose_process_is_gone_is_lost_at_once(
    study: StudyFolder, other: Claims, clock: Clock
) -> None:
    program = (
        "import sys; from pathlib import Path; sys.path.insert(0, sys.argv[2])\n"
        "from test_dispatch_claims import StudyFolder, worker, RUN\n"
        "assert worker(StudyFolder(Path(sys.argv[1])), 'gone').take('other')"
    )
    subprocess.run([sys.executable, "-c", program, study.folder, HERE], check=True)
    mine = worker(study, "a")
    assert mine.take("other")
    assert mine.lost["other"] == ["gone"]
    state = WorkerState(alive_file(study.logs, "there-1"))
    state.note(left="asked to leave (SIGTERM)")
    assert mine.take(RUN)


def test_a_claim_that_was_never_written_is_taken_over_in_the_end(
    study: StudyFolder, clock: Clock
) -> None:
    mine = worker(study, "a")
    (study.claims / f"{RUN}.0").touch()
    assert not mine.take(RUN)
    clock.now += SILENT + 1
    assert mine.take(RUN)


def test_a_job_that_was_queued_again_has_its_runs_at_once(
    study: StudyFolder, other: Claims
) -> None:
    again = worker(study, "there-1")
    assert again.take(RUN)
    assert again.lost[RUN] == []


def test_claims_of_recorded_runs_stay_until_all_have_seen_the_record(
    study: StudyFolder, clock: Clock
) -> None:
    mine = worker(study, "a")
    for run in ("x", "y", RUN):
        mine.take(run)
    mine.end(["x", "y"])
    clock.now += SILENT
    mine.end([])
    assert len(list(study.claims.iterdir())) == 3
    assert mine.take("y")  # it is tried once more
    clock.now += 1
    mine.end([])
    assert sorted(path.name for path in study.claims.iterdir()) == [f"{RUN}.0", "y.0"]
    mine.end([RUN])
    mine.__exit__()
    assert [path.name for path in study.claims.iterdir()] == [f"{RUN}.0"]


def test_a_worker_that_nobody_asks_after_takes_everything(study: StudyFolder) -> None:
    mine = Claims(study, WorkerState())
    assert mine.take(RUN)
    assert mine.holds(RUN)
    assert not study.claims.exists()


RACE = """
import sys, time
from pathlib import Path
sys.path.insert(0, sys.argv[3])
from test_dispatch_claims import StudyFolder, worker
mine, tries = worker(StudyFolder(Path(sys.argv[1])), sys.argv[2]), int(sys.argv[4])
print("ready", flush=True)
begin = float(sys.stdin.readline())
for number in range(tries):
    while time.time() < begin + 0.02 * number:
        pass
    print(int(mine.take(f"{number:016x}")))
print("done", flush=True)
sys.stdin.readline()  # or it would be lost
"""


@pytest.mark.slow
def test_of_workers_that_try_at_the_same_moment_one_gets_the_run(study: StudyFolder) -> None:
    """A hundred times two; of every second run a worker was lost before."""
    tries = 100
    study.claims.mkdir(exist_ok=True)
    for number in range(0, tries, 2):
        mark = f"{this_system()} 7"
        (study.claims / f"{number:016x}.0").write_text(f"gone\n1\n{mark}\n")
    got: list[list[str]] = []
    with ExitStack() as stack:
        both = [
            stack.enter_context(
                subprocess.Popen(
                    [*(sys.executable, "-c", RACE, study.folder, name), HERE, str(tries)],
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    text=True,
                )
            )
            for name in "xy"
        ]
        for each in both:
            assert each.stdout is not None
            assert each.stdout.readline() == "ready\n"
        begin = time.time() + 0.5
        for each in both:
            assert each.stdin is not None
            each.stdin.write(f"{begin}\n")
            each.stdin.flush()
        for each in both:
            assert each.stdout is not None
            got.append(list(iter(each.stdout.readline, "done\n")))
    assert [len(each) for each in got] == [tries, tries]
    assert all(int(x) + int(y) == 1 for x, y in zip(*got, strict=True)), got
    assert 0 < sum(map(int, got[0])) < tries, "they did not meet"
