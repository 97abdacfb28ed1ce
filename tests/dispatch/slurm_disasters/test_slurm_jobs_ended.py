"""Jobs that Slurm ends in the middle: cancelled, requeued, out of time, preempted."""

import time

import pytest
from disaster_study import RUNS, DisasterStudy, slurm, waited_for

pytestmark = [pytest.mark.slurm, pytest.mark.slow]


def test_scancel_in_the_middle(study: DisasterStudy, undisturbed: DisasterStudy) -> None:
    assert study.launch() == RUNS
    study.wait_for_a_run()
    slurm("scancel", *study.jobs())
    study.finish()
    study.check(undisturbed)


def test_scontrol_requeue(study: DisasterStudy, undisturbed: DisasterStudy) -> None:
    study.launch()
    study.wait_for_a_run()
    (job,) = study.jobs()
    slurm("scontrol", "requeue", job)
    begin_at_once(job)
    assert study.launch() == 0  # the job that comes back has them
    study.wait_for_its_jobs()
    assert len(study.recorded()) == RUNS
    study.check(undisturbed)


def test_a_time_limit_hit(study: DisasterStudy, undisturbed: DisasterStudy) -> None:
    study.launch()
    study.wait_for_a_run()
    (job,) = study.jobs()
    for worker in study.workers():  # as if it was slow: Slurm looks at limits twice a minute
        worker.suspend()
    slurm("scontrol", "update", f"JobId={job}", f"EndTime={time.strftime('%FT%T')}")
    study.wait_for_its_jobs()
    assert "TIMEOUT" in slurm("sacct", "--jobs", job, "--duplicates", "--format=State")
    assert len(study.recorded()) < RUNS
    study.finish()
    study.check(undisturbed)


def test_preemption_by_a_higher_partition(study: DisasterStudy, undisturbed: DisasterStudy) -> None:
    study.launch("launch.slurm.partition=low", "launch.slurm.gpus_per_node=1")  # there is one
    study.wait_for_a_run()
    (job,) = study.jobs()
    higher = ["--partition=high", "--gpus-per-node=1", f"--job-name=anynet-{study.name}"]
    slurm("sbatch", *higher, "--output=/dev/null", "--wrap=true")
    begin_at_once(job)
    study.wait_for_its_jobs()
    assert len(study.recorded()) == RUNS  # it came back by itself
    assert "PREEMPTED" in slurm("sacct", "--jobs", job, "--duplicates", "--format=State")
    study.check(undisturbed)


def begin_at_once(job: str) -> None:
    """Wait until a job is back in the queue, and spare it the minutes for which Slurm delays it."""
    pending = ("squeue", "--noheader", "--jobs", job, "--states", "pending")
    waited_for(lambda: slurm(*pending), f"job {job} to be queued again")
    slurm("scontrol", "update", f"JobId={job}", "StartTime=now")
