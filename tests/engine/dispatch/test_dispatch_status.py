"""How far a study is, and when it will be done: against records and jobs written by hand."""

import json
import re
import time
from collections.abc import Iterable, Sequence
from typing import Any

import pytest
from fake_slurm import slurm_job
from hypothesis import given
from hypothesis import strategies as st
from scripted_study import command
from test_dispatch_recorded import row
from tiny_study import Type

from anynet_study.analysis.analyses.health import Concern
from anynet_study.engine.dispatch.ledger import LiveJob, SubmittedJob
from anynet_study.engine.dispatch.opened import OpenStudy
from anynet_study.engine.dispatch.recorded import JournalReader
from anynet_study.engine.dispatch.status import Jobs, Left, Status, eta, study_status
from anynet_study.store import JournalWriter

NOW = 10_000.0


def journal(tiny: OpenStudy, runs: Iterable[int], status: str = "completed", **more: Any) -> None:
    """Record the runs at these places of the plan."""
    with JournalWriter(tiny.folder.new_journal()) as writer:
        for number in runs:
            writer.append(row(**tiny.plan[number].named() | {"status": status} | more))


def job(tiny: OpenStudy, number: int, runs: Iterable[int], at: float = 9000.0) -> SubmittedJob:
    ids = " ".join(tiny.plan[place].run_id for place in runs)
    return SubmittedJob(f"7_{number}", "slurm", "login", at, ids)


def status(tiny: OpenStudy, jobs: Jobs = Jobs()) -> Status:  # noqa: B008
    reader = JournalReader(tiny.folder.journals)
    return study_status(tiny.plan, reader.read(), jobs, reader.throughput(NOW), NOW)


def test_runs_by_how_they_ended_and_failures_by_kind(tiny: OpenStudy) -> None:
    journal(tiny, [0, 1, 2, 3])
    journal(tiny, [4], "diverged", error=90.0)
    journal(tiny, [5, 6], "failed", failure_kind="oom")
    journal(tiny, [7], "failed", failure_kind="node")
    journal(tiny, [3], "failed", failure_kind="code")  # by another worker: it is completed
    now = status(tiny)
    assert (now.completed, now.diverged, now.failed, now.missing) == (4, 1, 3, 4)
    assert now.failures == {"oom": 2, "node": 1}
    assert (now.rows_complete, now.rows) == (2, 4)
    assert now.datasets == {"digits": (3, 4), "digits-2": (3, 4), "blobs": (2, 4)}
    assert (now.jobs, now.unassigned, now.is_active) == (0, 4, False)


def test_runs_are_running_queued_or_in_no_job(tiny: OpenStudy) -> None:
    journal(tiny, [0])
    jobs = [job(tiny, 0, [0, 1, 2]), job(tiny, 1, [3, 4]), job(tiny, 2, [5, 6])]
    live = [LiveJob(jobs[0], "running", 9500.0, "n1"), LiveJob(jobs[1], "pending", None, "", "QOS")]
    now = status(tiny, Jobs(live, jobs))
    assert (now.running, now.queued, now.unassigned) == (2, 2, 7)
    assert (now.jobs, now.jobs_running, now.jobs_queued, now.queue_reason) == (2, 1, 1, "QOS")
    assert now.jobs_lost == 1
    assert now.is_active
    assert now.eta_seconds is not None
    assert now.eta_seconds <= sum(run.seconds for run in tiny.plan[1:5])
    assert now.eta_assumes == "queued jobs follow the 1 job that runs now"


def test_a_job_is_not_lost_whose_runs_another_has(tiny: OpenStudy) -> None:
    again = job(tiny, 1, [1, 2])
    now = status(tiny, Jobs([LiveJob(again, "running", 9.0)], [job(tiny, 0, [1, 2]), again]))
    assert now.jobs_lost == 0


def test_a_failed_run_that_a_later_job_has_is_under_way(tiny: OpenStudy) -> None:
    journal(tiny, range(12), "failed", started=5000.0)
    before, after = job(tiny, 0, [0], 4000.0), job(tiny, 1, [1], 6000.0)
    live = [LiveJob(submitted, "running", 9000.0) for submitted in (before, after)]
    now = status(tiny, Jobs(live, [before, after]))
    assert (now.failed, now.running, now.unassigned) == (12, 1, 0)


def test_status_shows_all_within_80_columns(tiny: OpenStudy, type_: Type) -> None:
    journal(tiny, [0, 1], seconds=1800.0, started=time.time() - 2000)
    journal(tiny, [2], "failed", failure_kind="oom", started=time.time() - 1000)
    ids = [[run.run_id for run in tiny.plan[a:b]] for a, b in ((3, 6), (6, 9))]
    marks = [slurm_job(tiny.folder.jobs, f"{n}", runs) for n, runs in enumerate(ids)]
    command("squeue", f"echo '1|PENDING|N/A||Priority|{marks[1]}'")
    told = type_("status", "tiny")
    assert told.code == 0
    lines = told.out.splitlines()
    assert max(map(len, lines)) <= 80
    assert "runs: 2 completed, 0 diverged, 1 failed (oom 1), 9 missing of 12" in lines
    assert "jobs: 1 waiting (3 runs; Priority)" in lines
    assert "in no job: 6 runs; 1 job ended early; launch (or run) again to continue" in lines
    # The longer this test takes, the slower: 3 runs since 2000 s ago.
    pace = next(line for line in lines if line.startswith("pace: "))
    assert re.match(r"pace: [45]\.?\d* runs an hour; cost so far: 1 core-hours", pace)
    assert any(line.startswith("ETA: not known before a job runs") for line in lines)


def test_a_concern_gives_the_terminal_no_orders(
    tiny: OpenStudy, type_: Type, monkeypatch: pytest.MonkeyPatch
) -> None:
    journal(tiny, [0])
    found = [Concern("guessing", "\x1b[31mred: −0.1")]
    monkeypatch.setattr("anynet_study.cli.concerns.concerns_so_far", lambda *_: found)
    assert type_("status", "tiny").out.startswith("\\x1b[31mred: -0.1\n")


def test_a_study_that_is_complete_says_what_comes_next(tiny: OpenStudy, type_: Type) -> None:
    said = "all planned runs are recorded; what they say: anynet-study report tiny"
    journal(tiny, range(11))
    assert said not in type_("status", "tiny").out
    journal(tiny, [11])
    assert type_("status", "tiny").out.splitlines()[-1] == said


@pytest.mark.parametrize("reason", ["JobHeldUser", "launch failed requeued held"])
def test_jobs_that_nobody_will_start_are_named(tiny: OpenStudy, type_: Type, reason: str) -> None:
    runs = [run.run_id for run in tiny.plan]
    a, b = (slurm_job(tiny.folder.jobs, f"{n}", [runs[n]]) for n in range(2))
    command("squeue", f"echo '0|PENDING|N/A||Priority|{a}'; echo '1|PENDING|N/A||{reason}|{b}'")
    lines = type_("status", "tiny").out.splitlines()
    assert "held by Slurm: 1 job; to release them: scontrol release 1" in lines


def test_a_silent_squeue_hides_nothing_else(tiny: OpenStudy, type_: Type) -> None:
    journal(tiny, [0, 1])
    slurm_job(tiny.folder.jobs, "1", [tiny.plan[3].run_id])
    command("squeue", "echo slurmctld is away >&2; exit 1")
    told = type_("status", "tiny", "--json")
    assert told.code == 0
    now = json.loads(told.out)
    assert (now["completed"], now["missing"]) == (2, 10)
    assert "slurmctld is away" in now["jobs_unknown"]
    assert "slurmctld is away" in " ".join(type_("status", "tiny").out.split())


@pytest.mark.slow
def test_watching_ends_when_no_job_is_left(tiny: OpenStudy, type_: Type) -> None:
    mark = slurm_job(tiny.folder.jobs, "1", [tiny.plan[3].run_id])
    command("squeue", f"test -e ran || {{ touch ran; echo '1|RUNNING|100|n1|None|{mark}'; }}")
    looks = [
        json.loads(line)
        for line in type_("status", "tiny", "--watch", "--every", 1, "--json").out.splitlines()
    ]
    assert [look["jobs_running"] for look in looks] == [1, 0]
    assert [look["jobs_lost"] for look in looks] == [0, 1]
    told = type_("status", "tiny", "--watch")
    assert len(told.out.splitlines()) == 1
    assert "0/12 recorded, jobs: 0 running, 0 waiting" in told.out
    assert type_("status", "tiny", "--watch", "--every", 0).code == 2


def test_collect_says_failures_by_kind(tiny: OpenStudy, type_: Type) -> None:
    journal(tiny, range(2, 12))
    journal(tiny, [0, 1], "failed", failure_kind="code")
    assert type_("collect", "tiny").out.endswith(
        "2 failed (code 2; why: anynet-study status tiny)\n"
    )


def queued(number: int, runs: Sequence[str], started: float | None = None) -> LiveJob:
    submitted = SubmittedJob(str(number), "slurm", "login", 0.0, " ".join(runs))
    return LiveJob(submitted, "pending" if started is None else "running", started)


def of(left: dict[str, float]) -> Left:
    return lambda runs: [left[run_id] for run_id in runs if run_id in left]


def seconds(jobs: Sequence[LiveJob], left: dict[str, float], now: float = 0.0) -> float | None:
    found = eta(jobs, of(left), {}, now)
    assert found is not None
    return found.seconds


def test_the_run_under_way_has_been_at_it_since_the_last_ended() -> None:
    left = {"b": 20.0, "c": 30.0}
    jobs, ended = [queued(1, "abc", 1000.0)], {"a": 1009.0}
    soon, late = eta(jobs, of(left), ended, 1014.0), eta(jobs, of(left), ended, 9999.0)
    assert soon is not None
    assert late is not None
    assert soon.seconds == 20 + 30 - 5
    assert late.seconds == 30.0  # the one under way may end at any moment, as far as is known


def test_while_none_runs_it_is_not_known_when_one_will() -> None:
    found = eta([queued(1, "ab"), queued(2, "c")], of({"a": 1.0, "b": 2.0, "c": 3.0}), {}, 0.0)
    assert found is not None
    assert (found.seconds, found.work) == (None, 6.0)
    assert eta([], of({"a": 1.0}), {}, 0.0) is None


@given(
    running=st.lists(st.integers(0, 20), min_size=1, max_size=4),
    waiting=st.lists(st.integers(0, 20), max_size=6),
)
def test_as_a_simulation_second_by_second(running: list[int], waiting: list[int]) -> None:
    lengths = [*running, *waiting]
    left = {f"r{n}": float(length) for n, length in enumerate(lengths)}
    jobs = [queued(n, [f"r{n}"], 0.0 if n < len(running) else None) for n in range(len(lengths))]
    slots, queue, clock = list(running), list(waiting), 0
    while True:
        slots = [queue.pop(0) if slot == 0 and queue else slot for slot in slots]
        while queue and 0 in slots:
            slots[slots.index(0)] = queue.pop(0)
        if not any(slots):
            break
        slots = [max(0, slot - 1) for slot in slots]
        clock += 1
    assert seconds(jobs, left) == clock
