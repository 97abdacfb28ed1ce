"""A stingy site: small arrays, and few jobs of a user."""

from dataclasses import replace

import pytest
from disaster_study import A_JOB_A_RUN, HELD, DisasterStudy, slurm, submitted

from anynet_study.engine.dispatch import submitted_jobs

pytestmark = [pytest.mark.slurm, pytest.mark.slow]

#: Runs of ms: 6 architectures x 4 datasets.
MANY = [
    "population.count=6",
    "recipes.basic.overrides={}",
    "datasets.digits={base: digits, per_class: 4}",
]


def test_many_jobs_where_arrays_have_eleven(study: DisasterStudy) -> None:
    many = replace(study, runs=24)
    assert many.launch(*MANY, A_JOB_A_RUN, HELD) == 24
    jobs = many.jobs()
    assert len(jobs) == 24
    arrays = {job.partition("_")[0] for job in jobs}
    assert len(arrays) == 3
    assert many.launch(*MANY, A_JOB_A_RUN) == 0
    # A worker of each end of the queue does what is its own; all of them take long to begin.
    kept = [job for job in jobs if job in (min(jobs), max(jobs))]
    slurm("scancel", *(job for job in jobs if job not in kept))
    slurm("scontrol", "release", *kept)
    many.wait_for_its_jobs()
    theirs = {it.job_id: it.runs for it in submitted_jobs(many.folder / "jobs")}
    assert sorted(many.recorded()) == sorted(run for job in kept for run in theirs[job])


def test_where_a_user_may_have_two_jobs(study: DisasterStudy) -> None:
    told = study.tell("launch", "sweep.yaml", A_JOB_A_RUN, HELD, "launch.slurm.qos=two")
    assert submitted(told) == 2
    assert len(told.out.splitlines()) == 2
    assert "MaxSubmitJob" in told.out
