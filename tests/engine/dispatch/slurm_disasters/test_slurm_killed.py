"""kill -9 of everything that has a part in a study."""

import os
import time
from pathlib import Path

import psutil
import pytest
from disaster_study import LONGEST_WAIT, DisasterStudy, slurm, submitted, waited_for

pytestmark = [pytest.mark.slurm, pytest.mark.slow]

#: Python code that ends its process when the results are about to be swapped in.
KILLED_COLLECT = """
import os
replace = os.replace
def killed(source, target, **options):
    if str(target).endswith("results.h5"):
        os.kill(os.getpid(), 9)
    replace(source, target, **options)
os.replace = killed
"""
SIGKILLED = -9


def test_of_worker_after_worker_at_a_run(study: DisasterStudy, undisturbed: DisasterStudy) -> None:
    study.launch("launch.attempts=1")
    run = study.wait_for_a_run()
    kill_workers(study)
    before = time.time()
    study.launch("launch.attempts=1")
    study.wait_for_a_run(of=run, since=before)
    kill_workers(study)
    study.launch("launch.attempts=1")  # what killed two of them is not tried a third time
    study.wait_for_its_jobs()
    assert sorted(study.recorded().values()) == ["completed"] * (study.runs - 1) + ["failed"]
    assert study.launch("launch.attempts=1") == 0
    assert submitted(study.tell("retry", study.name, "--only", "node")) == 1
    study.wait_for_its_jobs()
    study.check(undisturbed)


def test_of_the_batch_shell_and_later_of_collect(
    study: DisasterStudy, undisturbed: DisasterStudy, tmp_path: Path
) -> None:
    study.launch()
    study.wait_for_a_run()
    (shell,) = study.batch_shells()
    assert psutil.Process(shell.ppid()).name() == "slurmstepd"
    for worker in study.workers():  # the system hangs up on what is suspended and loses its parent
        worker.resume()
    shell.kill()
    study.finish()

    (tmp_path / "sitecustomize.py").write_text(KILLED_COLLECT)
    paths = [str(tmp_path), *filter(None, [os.environ.get("PYTHONPATH")])]
    killed = study.begin("collect", study.name, PYTHONPATH=os.pathsep.join(paths))
    assert killed.wait(LONGEST_WAIT) == SIGKILLED
    assert not (study.folder / "results.h5").exists()
    study.check(undisturbed)


def test_of_slurmstepd_whose_worker_lives_on(
    study: DisasterStudy, undisturbed: DisasterStudy
) -> None:
    study.launch()
    study.wait_for_a_run()
    (worker,) = study.workers()
    stepds = {process.ppid() for process in [*study.batch_shells(), worker]}
    # The system hangs up on a process that is suspended when it loses its parent.
    worker.resume()
    for stepd in stepds:
        assert psutil.Process(stepd).name() == "slurmstepd"
        psutil.Process(stepd).kill()
    waited_for(lambda: worker.ppid() not in stepds, "the worker to lose its parent")
    worker.suspend()
    assert not study.done()
    slurm("scancel", *study.jobs())
    study.wait_for_its_jobs()
    study.launch()
    waited_for(lambda: len(study.workers()) == 2, "a second worker")
    worker.resume()
    study.finish()
    waited_for(lambda: not study.workers(), "the forgotten worker to end")
    study.check(undisturbed)


def kill_workers(study: DisasterStudy) -> None:
    """Kill them, and wait until their jobs have ended."""
    for worker in study.workers():
        worker.kill()
    study.wait_for_its_jobs()
