"""A controller that stops and a node that crashes, on a cluster that is these tests' alone."""

import os
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
from disaster_study import DisasterStudy, begin_at_once, slurm, waited_for

SCRIPT = Path(__file__).parents[3] / "slurm.sh"

pytestmark = [pytest.mark.slurm, pytest.mark.slow]


@pytest.fixture(scope="module", autouse=True)
def _own_cluster(cluster: Path) -> Iterator[None]:
    """Another cluster, beside the one of all other tests."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ANYNET_SLURM_HOME", tempfile.mkdtemp(prefix="anynet-slurm-"))
        patch.setenv("ANYNET_SLURM_PORT", str(12000 + os.getpid() % 800 * 5))
        told = subprocess.run([SCRIPT], stdout=subprocess.PIPE, text=True, check=True, timeout=120)
        patch.setenv("SLURM_CONF", told.stdout.strip())
        yield
        subprocess.run([SCRIPT, "stop"], check=True, timeout=120)


def test_a_controller_stopped_and_started(study: DisasterStudy, undisturbed: DisasterStudy) -> None:
    study.launch()
    study.wait_for_a_run()
    (worker,) = study.workers()
    slurm("scontrol", "shutdown", "slurmctld")
    waited_for(lambda: not answers(), "the controller to stop")

    refused = study.tell("launch", "sweep.yaml")
    assert refused.code == 1
    assert refused.line.startswith("failed: squeue does not answer")
    told = study.tell("status", study.name)
    assert (told.code, told.err) == (0, "")
    assert "squeue does not answer" in " ".join(told.out.split())

    worker.resume()
    waited_for(lambda: len(study.recorded()) > 0, "the worker, which needs no controller")
    slurm("slurmctld")
    waited_for(answers, "the controller to answer")
    study.finish()
    study.check(undisturbed)


def test_a_node_that_crashes(study: DisasterStudy, undisturbed: DisasterStudy) -> None:
    study.launch()
    study.wait_for_a_run()
    (job,) = study.jobs()
    node = slurm("squeue", "--noheader", "--format=%N", "--jobs", job).strip()
    stepds = {it.ppid() for it in [*study.batch_shells(), *study.workers()]}
    for process in [*map(psutil.Process, stepds), *study.processes()]:
        process.kill()
    slurm("scontrol", "update", f"NodeName={node}", "State=DOWN", "Reason=crash")
    waited_for(lambda: is_up(node), "the node to be back")
    begin_at_once(job)
    assert study.launch() == 0  # the job that comes back has them
    study.wait_for_its_jobs()
    assert study.done()
    study.check(undisturbed)


def is_up(node: str) -> bool:
    """Whether a node takes jobs."""
    state = slurm("sinfo", "--noheader", "--nodes", node, "--partition=main", "--format=%t")
    return state.strip() in ("idle", "mix", "alloc")


def answers() -> bool:
    """Whether the controller does."""
    return subprocess.run(["sinfo"], capture_output=True, timeout=60).returncode == 0
