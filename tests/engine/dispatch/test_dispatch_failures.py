"""Which runs fail with their workers and which are tried again, on a Slurm made of scripts."""

import json
import os
from pathlib import Path
from typing import Any

import pytest
from scripted_study import LIMIT, command, killed_at, submitted
from test_dispatch_recorded import row
from tiny_study import Type

from anynet_study.engine.dispatch import ledger
from anynet_study.engine.dispatch.failures import (
    EVERY_KIND,
    KILLED,
    Death,
    Ending,
    deaths_in,
    fatal_deaths,
    next_attempts,
    nodes_failed_on,
    out_of_memory_kills,
    retries,
    unfinished_jobs,
)
from anynet_study.engine.dispatch.ledger import SubmittedJob
from anynet_study.engine.dispatch.opened import OpenStudy
from anynet_study.engine.dispatch.recorded import Failure, JournalReader, Recorded, Retry
from anynet_study.engine.dispatch.slurm.commands import end_reasons
from anynet_study.engine.dispatch.slurm.site import nodes_to_exclude
from anynet_study.engine.study_folder import StudyFolder
from anynet_study.engine.training import Options, with_less_memory
from anynet_study.store import JournalWriter


def end(kind: str = "node", **changes: object) -> Ending:
    fields = {"runs": {"a": 7e8}, "words": "killed", "host": "n1", "ended": 1e9}
    return Ending(**{"kind": kind, **fields, **changes})  # type: ignore[arg-type]


def death(ended: float, run_id: str = "a", kind: str = "oom", **changes: object) -> Death:
    return Death(run_id, end(kind, ended=ended, **changes))


def failed(*kinds: str, host: str = "n1") -> Recorded:
    failures = [Failure(kind, host, 10.0 * (n + 1)) for n, kind in enumerate(kinds)]
    return Recorded({"a": "failed", "b": "completed"}, frozenset(), {"a": failures})


def test_cancelled_preempted_and_attached_workers_are_no_deaths(tmp_path: Path) -> None:
    ends = [end(""), end("node", attached=True), end("timeout", runs={})]
    assert deaths_in(StudyFolder(tmp_path), ends) == []
    (found,) = deaths_in(StudyFolder(tmp_path), [end("oom")])
    assert (found.run_id, found.end.kind) == ("a", "oom")


@pytest.mark.parametrize(("kind", "counts"), [("timeout", 0), ("node", 0), ("oom", 1), ("code", 1)])
def test_a_run_that_was_saved_on_the_way_only_goes_on_later(
    tmp_path: Path, kind: str, counts: int
) -> None:
    study = StudyFolder(tmp_path)
    study.checkpoints.mkdir()
    (study.checkpoints / "a.pt").touch()
    assert len(deaths_in(study, [end(kind)])) == counts  # saved after 1e9
    os.utime(study.checkpoints / "a.pt", (5e8, 5e8))
    assert len(deaths_in(study, [end(kind)])) == 1  # by a worker before


def test_a_run_fails_by_two_deaths_and_later_by_one_more() -> None:
    assert fatal_deaths([death(5.0)], {}) == []
    assert fatal_deaths([death(5.0), death(6.0, "b")], {}) == []
    (last,) = fatal_deaths([death(6.0), death(5.0, kind="node")], {})
    assert last == death(6.0)
    known = {"a": [Failure("oom", "n1", 7.0)]}
    assert fatal_deaths([death(5.0), death(6.0)], known) == []
    assert fatal_deaths([death(5.0), death(6.0), death(8.0)], known) == [death(8.0)]


@pytest.mark.parametrize("kind", sorted(EVERY_KIND))
def test_what_may_pass_is_tried_again_up_to_the_limit(kind: str) -> None:
    passes = kind in ("oom", "node", "timeout")
    assert ("a" in retries(failed(kind), 3)) is passes
    assert ("a" in retries(failed(kind, kind), 3)) is passes
    assert retries(failed(kind, kind, kind), 3) == {}
    assert retries(failed(*[kind] * 3), None, EVERY_KIND)["a"].failures == 3
    assert retries(failed(kind), None, {"data"}).keys() == ({"a"} if kind == "data" else set())


def test_each_want_of_memory_is_a_step_less_of_it() -> None:
    assert retries(failed("oom"), 3)["a"] == Retry(1, 1)
    assert retries(failed("oom", "node"), 3)["a"] == Retry(2, 1)
    assert retries(failed("node"), 3, deaths=[death(30.0)])["a"] == Retry(1, 1)
    unknown, with_node = death(1.0, "c", "node", words=KILLED[1]), death(1.0, "d", "node")
    assert retries(failed("code"), 3, deaths=[unknown, with_node]) == {"c": Retry(0, 1)}


def test_what_was_on_a_gpu_when_that_was_lost_is_tried_alone_and_the_culprit_fails() -> None:
    first = [death(1.0, run, "code", gpu_lost=True) for run in "abcd"]
    assert fatal_deaths(first, {}) == []
    again = retries(Recorded({}, frozenset(), {}), 3, deaths=first)
    assert {run: again[run] for run in "abcd"} == dict.fromkeys("abcd", Retry(0, 1))
    assert with_less_memory(Options(at_once=4), 1) == Options(at_once=1)
    alone = death(2.0, "c", "code", gpu_lost=True)
    assert fatal_deaths([*first, alone], {}) == [alone]


def test_nodes_to_exclude_are_those_of_timeouts_and_lost_nodes() -> None:
    recorded = failed("node", host="n4")
    assert nodes_failed_on(recorded, {"a"}) == {"n4"}
    assert nodes_failed_on(recorded, {"b"}) == frozenset()
    assert nodes_failed_on(failed("oom"), {"a"}) == frozenset()
    assert nodes_failed_on(failed("oom"), {"a"}, [death(1.0, kind="node")]) == {"n1"}


def test_jobs_with_runs_left_are_those_that_failed_or_never_ended() -> None:
    done, left, retried = (
        SubmittedJob(str(n), "slurm", "n1", 0.0, " ".join(runs))
        for n, runs in enumerate(["b", "bc", "ab"])
    )
    jobs = [done, left, retried]
    assert unfinished_jobs(jobs, failed("node"), set()) == [left, retried]
    assert unfinished_jobs(jobs, failed("node"), {left.job_id}) == [retried]


def test_the_system_counts_what_it_killed(tmp_path: Path) -> None:
    (tmp_path / "vmstat").write_text("nr_free_pages 1\noom_kill 3\noom_kill_other 9\n")
    assert out_of_memory_kills(tmp_path / "vmstat") == 3
    assert out_of_memory_kills(tmp_path / "none") == 0
    assert out_of_memory_kills() >= 0


def attempts(tiny: OpenStudy) -> Any:
    reader = JournalReader(tiny.folder.journals)
    return next_attempts(tiny, reader, [])


def test_a_run_at_which_two_jobs_were_killed_fails_and_is_tried_elsewhere(tiny: OpenStudy) -> None:
    command("sinfo", "for n in 1 2 3 4; do echo n$n|n$n.cluster.org; done".replace("|", "'|'"))
    submitted(tiny, slice(0, 2), slice(0, 2))
    run = killed_at(tiny, "7_0", 1, LIMIT, "n1.cluster.org")
    first = attempts(tiny)
    assert (dict(first.recorded.runs), dict(first.retries)) == ({}, {})
    assert first.excluded_nodes == {"n1"}
    killed_at(tiny, "7_1", 1, LIMIT.replace("n1", "n2"), "n2.cluster.org")
    second = attempts(tiny)
    assert {failure.kind for failure in second.recorded.failed().values()} == {"timeout"}
    assert dict(second.retries) == {run: Retry(1, 0)}
    assert second.excluded_nodes == {"n1", "n2"}
    third = attempts(tiny)  # the deaths are what the failure is of
    assert third.recorded.failures == second.recorded.failures
    (journal,) = tiny.folder.journals.iterdir()
    assert journal.stat().st_size


def test_sacct_knows_of_some_why_they_were_killed(tiny: OpenStudy) -> None:
    command("sacct", "echo '7_0|OUT_OF_MEMORY'; echo '7_1|CANCELLED by 0'; echo '9|TIMEOUT'")
    assert end_reasons(["7_0", "7_1"]) == {
        "7_0": ("oom", "killed for want of memory"),
        "7_1": ("", "cancelled"),
    }
    submitted(tiny, slice(0, 2), slice(2, 4), slice(0, 2))
    run = killed_at(tiny, "7_0", 1)
    killed_at(tiny, "7_1", 2)
    assert dict(attempts(tiny).retries) == {run: Retry(0, 1)}
    command("sacct", "echo 'Slurm accounting storage is disabled' >&2; exit 1")
    both = {run: Retry(0, 1), tiny.plan[2].run_id: Retry(0, 1)}
    assert dict(attempts(tiny).retries) == both


@pytest.mark.parametrize(
    ("hosts", "excluded"),
    [
        ({"n1"}, {"n1"}),
        ({"n1.org", "n2"}, {"n1", "n2"}),
        ({"n1", "n2", "n3"}, set()),
        ({"x"}, set()),
    ],
)
def test_no_more_than_half_of_the_nodes_are_excluded(
    tiny: OpenStudy, hosts: set[str], excluded: set[str]
) -> None:
    command("sinfo", 'for n in 1 2 3 4; do echo "n$n|n$n"; done')
    assert nodes_to_exclude(hosts) == excluded
    command("sinfo", "exit 1")
    assert nodes_to_exclude(hosts) == frozenset()


def test_retry_is_for_kinds_and_leaves_the_study_what_it_is(tiny: OpenStudy, type_: Type) -> None:
    kinds = type_("retry", "tiny", "--only", "oom,memory")
    assert kinds.code == 2
    assert "unknown 'memory'; choose from code, data, node, oom, timeout" in kinds.line
    assert type_("retry", "tiny", "population.count=9").code == 2


def test_retry_submits_failures_of_a_kind_however_often_they_were_tried(
    tiny: OpenStudy, type_: Type
) -> None:
    with JournalWriter(tiny.folder.new_journal()) as writer:
        for number, kind in enumerate(["oom", "oom", "code", "data"]):
            for _ in range(4):
                named = tiny.plan[number].named()
                writer.append(row(**named, status="failed", failure_kind=kind))
    command("sbatch", "cat $1 > script; echo Submitted batch job 12")
    command("scontrol", "true")
    command("sinfo", "true")
    told = json.loads(type_("retry", "tiny", "--only", "oom,code", "--json").out)
    assert (told["submitted"], told["retried"], told["jobs_left"]) == (3, 3, 0)
    (job,) = ledger.submitted_jobs(tiny.folder.jobs)
    assert set(job.runs) == set(tiny.plan[:3].ids())
    everything = json.loads(type_("retry", "tiny", "--json").out)
    assert (everything["submitted"], everything["retried"]) == (12, 4)
