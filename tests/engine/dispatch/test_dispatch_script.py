"""The sbatch script: golden text, what each option does to it, and jobs dealt to arrays."""

import os
import re
import shlex
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
import yaml
from tiny_study import TINY

from anynet_study.core.errors import UserError
from anynet_study.engine.dispatch.executors import executor_for, pretended_slurm, slurm_executor
from anynet_study.engine.dispatch.slurm.site import Site
from anynet_study.engine.dispatch.snapshot import Snapshot
from anynet_study.engine.dispatch.submission import array_of, submitted_by
from anynet_study.engine.dispatch.work import Task
from anynet_study.engine.study_folder import StudyFolder
from anynet_study.engine.sweep import Sweep

GOLDEN = """#!/bin/bash

# Parameters
#SBATCH --account=physics
#SBATCH --array=0-39%5
#SBATCH --comment=anynet-study:abc
#SBATCH --constraint='a100|h100'
#SBATCH --cpus-per-task=4
#SBATCH --dependency=afterany:17
#SBATCH --error=/s/studies/tiny/logs/%A_%a_0_log.err
#SBATCH --exclude=n1,n2
#SBATCH --gres=gpu:1
#SBATCH --job-name=anynet-tiny
#SBATCH --mem=1536MB
#SBATCH --nodes=1
#SBATCH --open-mode=append
#SBATCH --output=/s/studies/tiny/logs/%A_%a_0_log.out
#SBATCH --partition=gpu
#SBATCH --qos=long
#SBATCH --requeue
#SBATCH --signal=USR2@90
#SBATCH --time=240

# setup
module load cuda
export PYTHONPATH=/s/studies/tiny/code/7"${PYTHONPATH:+:$PYTHONPATH}"
export PYTHONSAFEPATH=1
export GLIBC_TUNABLES="${GLIBC_TUNABLES:+$GLIBC_TUNABLES:}glibc.malloc.hugetlb=1"
umask 022
cp -n /s/studies/tiny/logs/abc.pkl /s/studies/tiny/logs/\
"${SLURM_ARRAY_JOB_ID:+${SLURM_ARRAY_JOB_ID}_}${SLURM_ARRAY_TASK_ID:-$SLURM_JOB_ID}"_submitted.pkl
export SRUN_CPUS_PER_TASK="${SLURM_CPUS_PER_TASK:-1}"

# command
export SUBMITIT_EXECUTOR=slurm
srun --unbuffered --output /s/studies/tiny/logs/%A_%a_%t_log.out --error \
/s/studies/tiny/logs/%A_%a_%t_log.err PYTHON -u -m submitit.core._submit /s/studies/tiny/logs
"""


def text(
    slurm: dict[str, Any],
    tasks: int = 1,
    site: Site | None = None,
    longest: float = 0.0,
    exclude: tuple[str, ...] = (),
    after: str | None = None,
) -> str:
    """The script for a sweep with these options, as if the study was in /s."""
    launch = {"cluster": "slurm", "job_minutes": 60, "slurm": slurm}
    sweep = Sweep.model_validate({**yaml.safe_load(TINY), "launch": launch})
    with TemporaryDirectory() as name, pretended_slurm(Path(name)):
        study = StudyFolder(Path(name, "s/studies/tiny"))
        executor = executor_for(study, sweep.launch)
        executor = slurm_executor(executor, sweep, site or Site(), longest, exclude)
        code, pickle = Snapshot(study.code / "7"), study.logs / "abc.pkl"
        array = array_of(executor, code, "abc", tasks, pickle, after)
        (job, *_) = submitted_by(array, Task("", "abc"), tasks)
        script: str = job.paths.submission_file.read_text()
    return script.replace(name, "").replace(shlex.quote(sys.executable), "PYTHON")


def option(script: str, name: str) -> str | None:
    found = re.search(rf"^#SBATCH --{name}(?:=(.*))?$", script, re.M)
    return found and (found[1] or "")


def test_golden(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")  # there is no Slurm
    options = {
        "account": "physics",
        "array_parallelism": 5,
        "constraint": "a100|h100",
        "cpus_per_task": 4,
        "exclude": "n1",
        "gres": "gpu:1",
        "mem_gb": 1.5,
        "partition": "gpu",
        "qos": "long",
        "setup": ["module load cuda"],
        "timeout_min": 240,
    }
    before = os.umask(0o022)
    try:
        assert text(options, 40, exclude=("n2",), after="17") == GOLDEN
    finally:
        os.umask(before)


def test_submitit_s_wckey_is_sent_only_if_the_sweep_says_one() -> None:
    assert option(text({}), "wckey") is None
    assert option(text({"wckey": "thesis"}), "wckey") == "thesis"


def test_a_job_comes_back_unless_the_sweep_says_otherwise() -> None:
    assert option(text({}), "requeue") == ""
    never = text({"additional_parameters": {"no-requeue": True, "reservation": "course"}})
    assert option(never, "requeue") is None
    assert option(never, "reservation") == "course"


def test_python_may_be_a_command_in_a_container() -> None:
    inside = text({"python": "apptainer exec --nv study.sif python3"})
    assert "_log.err apptainer exec --nv study.sif python3 -u -m submitit." in inside
    script = text({"use_srun": False, "python": "srun --container-image=study python"})
    command = script.splitlines()[-1]
    # The warning of the time limit goes to the process that the batch shell becomes.
    assert command.startswith("exec srun --container-image=study python -u -m submitit.")
    assert option(script, "signal") == "B:USR2@90"


def test_a_limit_that_the_warning_comes_before_is_refused() -> None:
    with pytest.raises(UserError, match="timeout_min: 1 minutes leave no time before the warning"):
        text({"timeout_min": 1, "signal_delay_s": 60})


def test_one_job_is_no_array() -> None:
    script = text({"comment": "mine"})
    assert option(script, "array") is None
    assert option(script, "comment") == "'mine anynet-study:abc'"
    assert option(script, "output") == "/s/studies/tiny/logs/%j_0_log.out"
