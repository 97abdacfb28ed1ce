"""A stingy site: small arrays, few jobs at a time, no `sacct`; and two launches at once."""

from dataclasses import replace
from pathlib import Path

import pytest
from disaster_study import A_JOB_A_RUN, HELD, RUNS, DisasterStudy, slurm, submitted

pytestmark = [pytest.mark.slurm, pytest.mark.slow]

#: Runs of ms: 25 architectures x 4 datasets.
MANY = [
    "population.count=25",
    "recipes.basic.overrides={}",
    "datasets.digits={base: digits, per_class: 4}",
]


def test_a_hundred_jobs_where_arrays_have_eleven(
    study: DisasterStudy, undisturbed: DisasterStudy, tmp_path: Path
) -> None:
    many = replace(study, runs=100)
    local = replace(undisturbed, above=tmp_path / "local", runs=100)
    local.run_here(*MANY)

    assert many.launch(*MANY, A_JOB_A_RUN, HELD) == 100
    jobs = many.jobs()
    assert len(jobs) == 100
    arrays = {job.partition("_")[0] for job in jobs}
    assert len(arrays) == 10
    assert many.launch(*MANY, A_JOB_A_RUN) == 0
    # A worker of each end of the queue; a hundred take long to begin.
    kept = [job for job in jobs if job in (min(jobs), max(jobs))]
    slurm("scancel", *(job for job in jobs if job not in kept))
    slurm("scontrol", "release", *kept)
    many.finish(*MANY)
    many.check(local)


def test_where_a_user_may_have_two_jobs(study: DisasterStudy, undisturbed: DisasterStudy) -> None:
    two = [A_JOB_A_RUN, "launch.slurm.qos=two"]
    told = study.tell("launch", "sweep.yaml", *two)
    assert submitted(told) == 2
    assert len(told.out.splitlines()) == 2
    assert "MaxSubmitJob" in told.out
    study.finish(*two, launches=RUNS // 2)
    study.check(undisturbed)


def test_where_sacct_is_refused(
    study: DisasterStudy, undisturbed: DisasterStudy, cluster: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SLURM_CONF", str(cluster / "no-accounts/slurm.conf"))
    with pytest.raises(AssertionError, match="accounting storage is disabled"):
        slurm("sacct")
    study.launch()
    study.wait_for_a_run()
    told = study.tell("status", study.name)
    assert (told.code, told.err) == (0, "")
    slurm("scancel", *study.jobs())
    study.finish()
    study.check(undisturbed)


def test_two_launches_at_once(study: DisasterStudy, undisturbed: DisasterStudy) -> None:
    both = [study.begin("launch", "sweep.yaml", A_JOB_A_RUN, HELD) for _ in range(2)]
    ended = sorted(process.wait(120) for process in both)
    assert ended in ([0, 0], [0, 2])  # the second is refused, or finds nothing to do
    jobs = study.jobs()
    assert len(jobs) == RUNS
    assert study.launch() == 0
    slurm("scancel", *jobs)
    study.finish()
    study.check(undisturbed)
