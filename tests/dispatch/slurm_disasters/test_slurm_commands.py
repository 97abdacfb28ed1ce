"""status, cancel, logs, retry and doctor on a real Slurm."""

import json
from pathlib import Path
from typing import Any

import pytest
from disaster_study import A_JOB_A_RUN, HELD, RUNS, DisasterStudy, slurm, waited_for

pytestmark = [pytest.mark.slurm, pytest.mark.slow]


def told(study: DisasterStudy, *arguments: object) -> Any:
    """What a command answers in JSON."""
    answer = study.tell(*arguments, "--json")
    assert answer.code == 0, answer.err
    return json.loads(answer.out)


def test_cancel_ends_the_study_s_own_jobs_and_launch_goes_on(
    study: DisasterStudy, undisturbed: DisasterStudy
) -> None:
    stranger = slurm("sbatch", "--parsable", "--hold", "--wrap=true").strip()
    try:
        study.launch(A_JOB_A_RUN, HELD)
        now = told(study, "status", study.name)
        assert (now["jobs_queued"], now["queued"], now["unassigned"]) == (RUNS, RUNS, 0)
        assert "Held" in now["queue_reason"]
        assert f"0 jobs that ran, {RUNS} that waited" in study.tell("cancel", study.name).out
        assert study.jobs() == []
        assert stranger in slurm("squeue", "--noheader", "--format=%i").split()
    finally:
        slurm("scancel", stranger)
    assert "no job of" in study.tell("cancel", study.name).out
    study.finish()
    study.check(undisturbed)


def test_a_cancelled_worker_saves_and_its_run_has_not_failed(
    study: DisasterStudy, undisturbed: DisasterStudy
) -> None:
    study.launch()
    study.wait_for_a_run()
    assert "1 jobs that ran" in study.tell("cancel", study.name).out
    study.wait_for_its_jobs()
    (job,) = told(study, "logs", study.name)
    assert (job["state"], job["note"]) == ("ended", "cancelled")
    log = study.tell("logs", study.name, job["job"])
    assert log.code == 0
    assert ": saved on" in log.out
    study.finish()
    assert told(study, "status", study.name)["failures"] == {}
    study.check(undisturbed)


def test_a_run_at_which_two_workers_were_killed_has_failed_until_it_is_tried_again(
    study: DisasterStudy,
) -> None:
    one_is_slow = [
        "population.count=1",
        "recipes.basic.overrides.digits.epochs=4000",
        "launch.attempts=1",
    ]
    for _ in range(2):
        study.launch(*one_is_slow)
        waited_for(lambda: _is_at_the_slow_run(study), "the run that is slow")
        (worker,) = study.workers()
        worker.kill()
        study.wait_for_its_jobs()
    # The others came first in the second job: their worker is not to end by that run.
    assert list(study.recorded().values()) == ["completed"] * 3
    launched = told(study, "launch", "sweep.yaml", *one_is_slow)
    assert (launched["failed"], launched["submitted"]) == (1, 0)
    assert told(study, "status", study.name)["failures"] == {"node": 1}
    assert told(study, "retry", study.name, "--only", "oom", HELD)["submitted"] == 0
    again = told(study, "retry", study.name, "--only", "node", HELD)
    assert (again["submitted"], again["retried"]) == (1, 1)


def _is_at_the_slow_run(study: DisasterStudy) -> bool:
    job = next(iter(study.jobs("RUNNING")), None)
    words = study.tell("logs", study.name, job).out.split() if job else []
    return words[-3:-2] == ["digits"] and words[-1] == "begins"


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
