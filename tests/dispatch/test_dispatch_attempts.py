"""What becomes of the runs of jobs that are gone, and retry: with a Slurm made of scripts."""

import json
import os
import time
from pathlib import Path
from typing import Any

import pytest
from scripted_study import LIMIT, begun, command, killed_at, submitted
from test_dispatch_recorded import row
from tiny_study import Type, typing_in

from anynet_study.cli.prepared import Prepared
from anynet_study.dispatch import ledger
from anynet_study.dispatch.failures import next_attempts
from anynet_study.dispatch.recorded import Again, JournalReader
from anynet_study.dispatch.slurm.commands import reasons
from anynet_study.dispatch.slurm.site import worth_avoiding
from anynet_study.store import JournalWriter


@pytest.fixture
def tiny(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Prepared:
    return begun(tmp_path, monkeypatch)


@pytest.fixture
def type_(tiny: Prepared, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> Type:
    return typing_in(Path.cwd(), monkeypatch, capsys)


def attempts(tiny: Prepared) -> Any:
    reader = JournalReader(tiny.study.journals)
    return next_attempts(tiny.study, tiny.sweep, tiny.planned, reader, [])


def test_a_run_at_which_two_jobs_were_killed_fails_and_is_tried_elsewhere(tiny: Prepared) -> None:
    command("sinfo", "for n in 1 2 3 4; do echo n$n|n$n.cluster.org; done".replace("|", "'|'"))
    submitted(tiny, slice(0, 2), slice(0, 2))
    run = killed_at(tiny, "7_0", 1, LIMIT, "n1.cluster.org")
    first = attempts(tiny)
    assert (dict(first.recorded.runs), dict(first.again)) == ({}, {})
    assert first.avoid == {"n1"}
    killed_at(tiny, "7_1", 1, LIMIT.replace("n1", "n2"), "n2.cluster.org")
    second = attempts(tiny)
    assert {it.kind for it in second.recorded.failed().values()} == {"timeout"}
    assert dict(second.again) == {run: Again(1, 0)}
    assert second.avoid == {"n1", "n2"}
    third = attempts(tiny)  # the deaths are what the failure is of
    assert third.recorded.failures == second.recorded.failures
    (journal,) = tiny.study.journals.iterdir()
    assert journal.stat().st_size


def test_sacct_knows_of_some_why_they_were_killed(tiny: Prepared) -> None:
    command("sacct", "echo '7_0|OUT_OF_MEMORY'; echo '7_1|CANCELLED by 0'; echo '9|TIMEOUT'")
    assert reasons(["7_0", "7_1"]) == {
        "7_0": ("oom", "killed for want of memory"),
        "7_1": ("", "cancelled"),
    }
    submitted(tiny, slice(0, 2), slice(2, 4), slice(0, 2))
    run = killed_at(tiny, "7_0", 1)
    killed_at(tiny, "7_1", 2)
    assert dict(attempts(tiny).again) == {run: Again(0, 1)}
    command("sacct", "echo 'Slurm accounting storage is disabled' >&2; exit 1")
    both = {run: Again(0, 1), tiny.planned[2].run_id: Again(0, 1)}
    assert dict(attempts(tiny).again) == both


def test_a_run_that_is_saved_in_each_job_never_fails_by_time(tiny: Prepared) -> None:
    submitted(tiny, slice(0, 2), slice(0, 2))
    for job in ("7_0", "7_1"):
        run = killed_at(tiny, job, 1, LIMIT)
    tiny.study.checkpoints.mkdir()
    later = time.time() + 5
    (tiny.study.checkpoints / f"{run}.pt").touch()
    os.utime(tiny.study.checkpoints / f"{run}.pt", (later, later))
    assert dict(attempts(tiny).recorded.runs) == {}


@pytest.mark.parametrize(
    ("hosts", "avoided"),
    [
        ({"n1"}, {"n1"}),
        ({"n1.org", "n2"}, {"n1", "n2"}),
        ({"n1", "n2", "n3"}, set()),
        ({"x"}, set()),
    ],
)
def test_no_more_than_half_of_the_nodes_are_avoided(
    tiny: Prepared, hosts: set[str], avoided: set[str]
) -> None:
    command("sinfo", 'for n in 1 2 3 4; do echo "n$n|n$n"; done')
    assert worth_avoiding(hosts) == avoided
    command("sinfo", "exit 1")
    assert worth_avoiding(hosts) == frozenset()


def test_retry_is_for_kinds_and_leaves_the_study_what_it_is(tiny: Prepared, type_: Type) -> None:
    kinds = type_("retry", "tiny", "--only", "oom,memory")
    assert kinds.code == 2
    assert "no 'memory'; legal: code, data, node, oom, timeout" in kinds.line
    assert type_("retry", "tiny", "population.count=9").code == 2


def test_retry_submits_failures_of_a_kind_however_often_they_were_tried(
    tiny: Prepared, type_: Type
) -> None:
    with JournalWriter(tiny.study.new_journal()) as writer:
        for number, kind in enumerate(["oom", "oom", "code", "data"]):
            for _ in range(4):
                named = tiny.planned[number].named()
                writer.append(row(**named, status="failed", failure_kind=kind))
    command("sbatch", "cat $1 > script; echo Submitted batch job 12")
    command("scontrol", "true")
    command("sinfo", "true")
    told = json.loads(type_("retry", "tiny", "--only", "oom,code", "--json").out)
    assert (told["submitted"], told["retried"], told["jobs_left"]) == (3, 3, 0)
    (job,) = ledger.read(tiny.study.jobs)
    assert set(job.runs) == set(tiny.planned[:3].ids())
    everything = json.loads(type_("retry", "tiny", "--json").out)
    assert (everything["submitted"], everything["retried"]) == (12, 4)
