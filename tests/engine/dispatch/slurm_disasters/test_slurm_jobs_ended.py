"""Jobs that Slurm ends in the middle: cancelled, requeued, out of time, preempted."""

import pytest
from disaster_study import DisasterStudy, begin_at_once, in_seconds, slurm

pytestmark = [pytest.mark.slurm, pytest.mark.slow]


def test_a_time_limit_hit(study: DisasterStudy, undisturbed: DisasterStudy) -> None:
    study.launch()
    study.wait_for_a_run()
    (job,) = study.jobs()
    # The warning comes with the limit here: whoever is quick queues the job again before it ends.
    slurm("scontrol", "update", f"JobId={job}", "Requeue=0", f"EndTime={in_seconds(0)}")
    study.wait_for_its_jobs()  # Slurm looks at limits twice a minute only
    assert "TIMEOUT" in slurm("sacct", "--jobs", job, "--duplicates", "--format=State")
    assert not study.done()
    study.finish()
    study.check(undisturbed)


def test_a_warning_before_the_time_limit(study: DisasterStudy, undisturbed: DisasterStudy) -> None:
    study.launch()
    study.wait_for_a_run()
    (job,) = study.jobs()
    slurm("scontrol", "update", f"JobId={job}", f"EndTime={in_seconds(100)}")
    begin_at_once(job)
    study.wait_for_its_jobs()
    assert study.done()  # it came back by itself
    study.check(undisturbed)


def test_preemption_by_a_higher_partition(study: DisasterStudy, undisturbed: DisasterStudy) -> None:
    study.launch("launch.slurm.partition=low", "launch.slurm.gpus_per_node=1")  # there is one
    study.wait_for_a_run()
    (job,) = study.jobs()
    higher = ["--partition=high", "--gpus-per-node=1", f"--job-name=anynet-{study.name}"]
    slurm("sbatch", *higher, "--output=/dev/null", "--wrap=true")
    begin_at_once(job)
    study.wait_for_its_jobs()
    assert study.done()  # it came back by itself
    assert "PREEMPTED" in slurm("sacct", "--jobs", job, "--duplicates", "--format=State")
    study.check(undisturbed)
