"""The array jobs of docs/cluster.md, with the variables that each scheduler sets for its tasks."""

import os
import re
import subprocess
from pathlib import Path

import pytest
import yaml
from command import ROOT, anynet_study, environment
from fake_slurm import program
from tiny_study import RUNS, TINY

from anynet_study.engine.dispatch import submitted_jobs
from anynet_study.engine.study_folder import StudyFolder
from anynet_study.store import read_journals

GUIDE = (ROOT / "docs/cluster.md").read_text()
SCRIPTS = {
    word: script
    for script in re.findall(r"```sh\n(.*?)```", GUIDE, re.DOTALL)
    for word in ("PBS", "BSUB", "$")
    if f"\n#{word} " in script
}
#: What the scheduler says to the second of two tasks.
VARIABLES = {
    "PBS": {"PBS_JOBID": "7[2].host", "PBS_ARRAY_INDEX": "2", "PBS_O_WORKDIR": "."},
    "BSUB": {"LSB_JOBID": "7", "LSB_JOBINDEX": "2", "LSB_BATCH_JID": "7[2]"},
    "$": {"JOB_ID": "7", "SGE_TASK_ID": "2", "SGE_TASK_LAST": "2", "NSLOTS": "1"},
}


def test_each_scheduler_has_a_script() -> None:
    assert SCRIPTS.keys() == VARIABLES.keys()


def test_the_job_of_kubernetes_is_well_formed() -> None:
    (job,) = (yaml.safe_load(it) for it in re.findall(r"```yaml\n(.*?)```", GUIDE, re.DOTALL))
    pod = job["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    assert (job["apiVersion"], job["kind"], pod["restartPolicy"]) == ("batch/v1", "Job", "Never")
    assert container["command"][:2] == ["anynet-study", "work"]
    assert {it["name"] for it in container["volumeMounts"]} == {it["name"] for it in pod["volumes"]}
    assert job["spec"]["completions"] == job["spec"]["parallelism"]


@pytest.mark.slow
@pytest.mark.parametrize("scheduler", VARIABLES)
def test_two_tasks_of_an_array_share_a_study(tmp_path: Path, scheduler: str) -> None:
    (tmp_path / "tiny.yaml").write_text(TINY)
    anynet_study(tmp_path, "launch", "tiny.yaml", "--cluster", "none", "name=paper")
    (tmp_path / "bin").mkdir()
    program(tmp_path / "bin", "anynet-study", 'exec python -m anynet_study "$@"')
    (tmp_path / "job.sh").write_text(SCRIPTS[scheduler])
    common = environment(tmp_path) | {"PATH": f"{tmp_path}/bin:{os.environ['PATH']}"}
    tasks = []
    for number in "12":
        own = {name: it.replace("2", number) for name, it in VARIABLES[scheduler].items()}
        tasks.append(subprocess.Popen(["sh", "job.sh"], cwd=tmp_path, env=common | own))
    assert [task.wait(600) for task in tasks] == [0, 0]
    study = StudyFolder(tmp_path / "studies/paper")
    rows = read_journals(study.journals)
    assert len(set(rows["run_id"].to_pylist())) == len(rows) == RUNS
    assert len(list(submitted_jobs(study.jobs))) == 2
