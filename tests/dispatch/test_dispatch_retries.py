"""Which runs count as failed by their workers' deaths, and which failed runs are tried again."""

import os
from pathlib import Path

import pytest
from fake_slurm import slurm_job

from anynet_study.dispatch.endings import KILLED, Ending
from anynet_study.dispatch.failures import (
    EVERY_KIND,
    Death,
    deaths_in,
    fatal,
    nodes_failed_on,
    out_of_memory_kills,
    retries,
    unfinished_jobs,
)
from anynet_study.dispatch.recorded import Again, Failure, Recorded
from anynet_study.study_folder import StudyFolder


def end(kind: str = "node", **changes: object) -> Ending:
    fields = {"runs": ("a",), "words": "killed", "host": "n1", "ended": 1e9, "attached": False}
    return Ending(**{"kind": kind, **fields, **changes})  # type: ignore[arg-type]


def death(ended: float, run_id: str = "a", kind: str = "oom", words: str = "killed") -> Death:
    return Death(run_id, kind, words, "n1", ended)  # type: ignore[arg-type]


def failed(*kinds: str, host: str = "n1") -> Recorded:
    failures = [Failure(kind, host, 10.0 * (n + 1)) for n, kind in enumerate(kinds)]
    return Recorded({"a": "failed", "b": "completed"}, frozenset(), {"a": failures})


def test_cancelled_preempted_and_attached_workers_are_no_deaths(tmp_path: Path) -> None:
    ends = [end(""), end("node", attached=True), end("timeout", runs=())]
    assert deaths_in(StudyFolder(tmp_path), ends) == []
    (found,) = deaths_in(StudyFolder(tmp_path), [end("oom")])
    assert (found.run_id, found.kind) == ("a", "oom")


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
    assert fatal([death(5.0)], {}) == []
    assert fatal([death(5.0), death(6.0, "b")], {}) == []
    (last,) = fatal([death(6.0), death(5.0, kind="node")], {})
    assert last == death(6.0)
    known = {"a": [Failure("oom", "n1", 7.0)]}
    assert fatal([death(5.0), death(6.0)], known) == []
    assert fatal([death(5.0), death(6.0), death(8.0)], known) == [death(8.0)]


@pytest.mark.parametrize("kind", sorted(EVERY_KIND))
def test_what_may_pass_is_tried_again_up_to_the_limit(kind: str) -> None:
    passes = kind in ("oom", "node", "timeout")
    assert ("a" in retries(failed(kind), 3)) is passes
    assert ("a" in retries(failed(kind, kind), 3)) is passes
    assert retries(failed(kind, kind, kind), 3) == {}
    assert retries(failed(*[kind] * 3), None, EVERY_KIND)["a"].failures == 3
    assert retries(failed(kind), None, {"data"}).keys() == ({"a"} if kind == "data" else set())


def test_each_want_of_memory_is_a_step_less_of_it() -> None:
    assert retries(failed("oom"), 3)["a"] == Again(1, 1)
    assert retries(failed("oom", "node"), 3)["a"] == Again(2, 1)
    assert retries(failed("node"), 3, deaths=[death(30.0)])["a"] == Again(1, 1)
    unknown, with_node = death(1.0, "c", "node", KILLED[1]), death(1.0, "d", "node", "lost")
    assert retries(failed("code"), 3, deaths=[unknown, with_node]) == {"c": Again(0, 1)}


def test_nodes_to_avoid_are_those_of_timeouts_and_lost_nodes() -> None:
    recorded = failed("node", host="n4")
    assert nodes_failed_on(recorded, {"a"}) == {"n4"}
    assert nodes_failed_on(recorded, {"b"}) == frozenset()
    assert nodes_failed_on(failed("oom"), {"a"}) == frozenset()
    assert nodes_failed_on(failed("oom"), {"a"}, [death(1.0, kind="node")]) == {"n1"}


def test_jobs_with_runs_left_are_those_that_failed_or_never_ended() -> None:
    done, left, retried = (slurm_job(str(n), runs) for n, runs in enumerate(["b", "bc", "ab"]))
    jobs = [done, left, retried]
    assert unfinished_jobs(jobs, failed("node"), set()) == [left, retried]
    assert unfinished_jobs(jobs, failed("node"), {left.job_id}) == [retried]


def test_the_system_counts_what_it_killed(tmp_path: Path) -> None:
    (tmp_path / "vmstat").write_text("nr_free_pages 1\noom_kill 3\noom_kill_other 9\n")
    assert out_of_memory_kills(tmp_path / "vmstat") == 3
    assert out_of_memory_kills(tmp_path / "none") == 0
    assert out_of_memory_kills() >= 0
