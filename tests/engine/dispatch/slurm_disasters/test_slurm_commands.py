"""What status, logs and doctor say of a real Slurm."""

import json
from pathlib import Path
from typing import Any

import pytest
from disaster_study import RUNS, DisasterStudy, slurm

pytestmark = [pytest.mark.slurm, pytest.mark.slow]


def told(study: DisasterStudy, *arguments: object) -> Any:
    """What a command answers in JSON."""
    answer = study.tell(*arguments, "--json")
    assert answer.code == 0, answer.err
    return json.loads(answer.out)


def test_a_cancelled_worker_saves_its_run_has_not_failed_and_jobs_of_others_stay(
    study: DisasterStudy, undisturbed: DisasterStudy
) -> None:
    others = slurm("sbatch", "--parsable", "--hold", "--output=/dev/null", "--wrap=true").strip()
    assert study.launch() == RUNS
    study.wait_for_a_run()
    ended = study.tell("cancel", study.name)
    assert ended.out == "cancelled: 1 running job\n"
    study.wait_for_its_jobs()
    assert slurm("squeue", "--noheader", "--format=%i", "--jobs", others).strip() == others
    slurm("scancel", others)
    (job,) = told(study, "logs", study.name)
    assert (job["state"], job["note"]) == ("ended", "cancelled")
    log = study.tell("logs", study.name, job["job"])
    assert log.code == 0
    assert ": saved on" in log.out
    study.finish()
    assert told(study, "status", study.name)["failures"] == {}
    study.check(undisturbed)


def test_the_doctor_knows_this_cluster(
    study: DisasterStudy, cluster: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = {row["check"]: row["found"] for row in told(study, "doctor")}
    assert found["MaxArraySize"] == "11"
    assert found["preemption"].startswith("REQUEUE")
    assert "2 jobs" in found["QOS two"]
    assert found["sacct"] == "on"
    assert {"partition main (default)", "partition low", "partition high"} <= set(found)
    monkeypatch.setenv("SLURM_CONF", str(cluster / "no-accounts/slurm.conf"))
    without = {row["check"]: row["found"] for row in told(study, "doctor")}
    assert without["sacct"].startswith("off")
    assert without["MaxArraySize"] == "11"
