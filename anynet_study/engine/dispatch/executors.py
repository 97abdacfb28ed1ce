"""submitit's executors: where jobs run, with which options, and how their processes begin.

A caller may give any executor of submitit's for Slurm, this machine or this process (debug). It is
never changed: a launch adds what it needs to a copy.
"""

import os
import shlex
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from copy import deepcopy
from math import ceil
from pathlib import Path
from typing import Any, Literal

import submitit

from anynet_study.core.errors import UserError
from anynet_study.engine.dispatch.slurm.site import Site
from anynet_study.engine.study_folder import StudyFolder
from anynet_study.engine.sweep import Launch, Sweep

Cluster = Literal["slurm", "local", "debug", "none"]

#: Time limits that a job may hit: it gets on in each. submitit counts every preemption as one, too,
#: where the limit is ten minutes or less (facebookincubator/submitit#1656).
MAX_TIMEOUTS = 1000
#: The shortest time limit of our own choice, in minutes.
SHORTEST_MIN = 15
#: Warning before a time limit, in seconds: enough for a checkpoint.
WARNING = 90
#: Slurm looks at time limits so often, in seconds, and may warn so much earlier.
LOOKS = 30
#: srun takes the number of CPUs from nowhere else (Slurm 22.05 and later).
CPUS = 'export SRUN_CPUS_PER_TASK="${SLURM_CPUS_PER_TASK:-1}"'

#: Where Slurm is, which submitit's `clean_env` takes away with the defaults of a user
#: (facebookincubator/submitit#1814).
PLACES = frozenset({"SLURM_CONF", "SLURM_CONF_SERVER", "SLURM_CLUSTERS"})
#: Who pays, and where: a user's own defaults, unless an executor says otherwise.
DEFAULTS = {
    "SBATCH_ACCOUNT": "account",
    "SBATCH_PARTITION": "partition",
    "SBATCH_QOS": "qos",
    "SBATCH_RESERVATION": "reservation",
    "SBATCH_CLUSTERS": "clusters",
}
#: The devices of a job, which mean nothing to another.
DEVICES = (
    "CUDA_VISIBLE_DEVICES",
    "HIP_VISIBLE_DEVICES",
    "ROCR_VISIBLE_DEVICES",
    "GPU_DEVICE_ORDINAL",
)


def cluster_of(executor: Any) -> Cluster:
    """Return where an executor runs its jobs (none: where it likes). UserError if it is none."""
    kinds: dict[type, Cluster] = {
        submitit.SlurmExecutor: "slurm",
        submitit.DebugExecutor: "debug",
    }
    named = getattr(executor, "cluster", "")  # of an AutoExecutor
    for kind, cluster in kinds.items():
        if isinstance(executor, kind) or named == cluster:
            return cluster
    if callable(getattr(executor, "submit", None)):
        return "none"
    raise UserError(
        f"executor: {type(executor).__name__} has no submit(function); legal: executors of "
        "submitit, concurrent.futures, Dask, Parsl, mpi4py and the like"
    )


def executor_for(study: StudyFolder, launch: Launch) -> submitit.Executor:
    """The executor that a sweep asks for, with its options; Slurm's needs `srun` on PATH."""
    if launch.cluster == "debug":
        return submitit.DebugExecutor(study.logs)
    own = dict(launch.slurm)
    timeouts, python = own.pop("max_num_timeout", MAX_TIMEOUTS), own.pop("python", None)
    if _is_the_batch_shell(own):  # the worker takes its place, and gets the warning
        python = f"exec {python or shlex.quote(sys.executable)}"
    executor = submitit.AutoExecutor(
        study.logs, cluster="slurm", slurm_max_num_timeout=timeouts, slurm_python=python
    )
    return with_options(executor, **own)


def with_options(executor: submitit.Executor, **options: Any) -> submitit.Executor:
    """A copy of an executor with further options, by submitit's names for its cluster."""
    changed = deepcopy(executor)
    if isinstance(changed, submitit.AutoExecutor):
        options = {f"{changed.cluster}_{name}": it for name, it in options.items()}
    changed.update_parameters(**options)
    return changed


def slurm_executor(
    executor: submitit.Executor,
    sweep: Sweep,
    site: Site,
    longest: float = 0.0,
    exclude: Sequence[str] = (),
) -> submitit.Executor:
    """An executor for Slurm with what it does not say itself.

    `longest`: predicted seconds of the longest job. Nodes to `exclude` are so besides its own.
    Raises UserError where a job's time limit leaves no time before the warning of its end.
    """
    said = executor.parameters
    minutes = said.get("time") or default_limit(sweep, site, said.get("partition", ""), longest)
    defaults = {
        "job_name": f"anynet-{sweep.name}",
        "time": minutes,
        "cpus_per_task": 1,
        "signal_delay_s": min(WARNING, 10 * minutes),
    }
    options = {name: said.get(name, default) for name, default in defaults.items()}
    if exclude:
        excluded = filter(None, [said.get("exclude"), *sorted(set(exclude))])
        options["exclude"] = ",".join(excluded)
    options["additional_parameters"] = _additional({**said, **options})
    _check_limit(options)
    made = with_options(executor, **options)
    # Sites that check keys refuse submitit's own (facebookincubator/submitit#1632, #1758), and an
    # AutoExecutor does not take None for it.
    made.parameters.setdefault("wckey", None)
    return made


def default_limit(sweep: Sweep, site: Site, partition: str, longest: float) -> int:
    """Minutes after which Slurm ends a job, where nobody says.

    Twice what it is predicted to take, for predictions err; no more than the site allows.
    """
    minutes = max(SHORTEST_MIN, ceil(2 * max(sweep.launch.job_minutes, longest / 60)))
    allowed = site.longest(partition)
    return minutes if allowed is None else max(1, min(minutes, int(allowed)))


@contextmanager
def outside_of_jobs(options: Sequence[str] = ()) -> Iterator[None]:
    """In this block a process begins as from a login shell: not as a part of the job around it.

    Without it, jobs of a job array look for the files of that (facebookincubator/submitit#1782). A
    user's defaults for `sbatch` stay, except those that `options` state. Nobody else can change
    what submitit writes in this block, for jobs execute it.
    """
    environment = os.environ
    kept = PLACES | {name for name, option in DEFAULTS.items() if option not in options}
    values = {name: environment[name] for name in kept if name in environment}
    mask = os.umask(0o022)
    os.umask(mask | 0o022)
    try:
        with submitit.helpers.clean_env(DEVICES):
            environment.update(values)
            yield
    finally:
        os.umask(mask)


@contextmanager
def pretended_slurm(folder: Path) -> Iterator[None]:
    """In this block `sbatch` takes every script and queues none: for the text that it would get.

    submitit has no public way to make a script without submitting it.
    """
    for name in ("srun", "sbatch"):
        program = folder / name
        program.write_text("#!/bin/sh\necho Submitted batch job 1\n")
        program.chmod(0o700)
    before = os.environ.get("PATH")
    os.environ["PATH"] = os.pathsep.join(filter(None, [str(folder), before]))
    try:
        yield
    finally:
        os.environ.pop("PATH")
        if before is not None:
            os.environ["PATH"] = before


def _additional(options: dict[str, Any]) -> dict[str, Any]:
    """Options beside submitit's: a job comes back after a node failed, whatever the site's way.

    Without srun the worker takes the place of the batch shell, which gets the warning alone.
    """
    given = options.get("additional_parameters") or {}
    ours: dict[str, Any] = {} if "no-requeue" in given else {"requeue": True}
    if _is_the_batch_shell(options):
        ours["signal"] = f"B:{submitit.JobEnvironment.USR_SIG}@{options['signal_delay_s']}"
    return {**ours, **given}


def _is_the_batch_shell(options: dict[str, Any]) -> bool:
    return not options.get("use_srun", True) and not options.get("teardown")


def _check_limit(options: dict[str, Any]) -> None:
    minutes, warning = options["time"], options["signal_delay_s"]
    if 60 * minutes <= warning + LOOKS:
        raise UserError(
            f"launch.slurm.timeout_min: {minutes} minutes leave no time before the warning "
            f"{warning} s ahead of the end (signal_delay_s); legal: more than "
            f"{(warning + LOOKS) / 60:g} minutes"
        )
