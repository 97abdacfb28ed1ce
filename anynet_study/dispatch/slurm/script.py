"""The sbatch scripts of job arrays: the sweep's options in text."""

import shlex
from collections.abc import Collection, Sequence
from copy import copy
from math import ceil
from typing import Any

import submitit

from anynet_study.dispatch.slurm.commands import comment_of
from anynet_study.dispatch.slurm.site import Site
from anynet_study.errors import UserError
from anynet_study.study_folder import StudyFolder
from anynet_study.sweep import Sweep

#: Time limits that a job may hit: it gets on in each, so that it ends before.
MAX_TIMEOUTS = 1000
#: The shortest time limit of our own choice, in minutes.
SHORTEST_MIN = 15
#: Warning before a time limit, in seconds: enough for a checkpoint.
WARNING = 90
#: Slurm looks at time limits so often, in seconds, and may warn so much earlier.
LOOKS = 30
#: srun takes the number of CPUs from nowhere else (Slurm 22.05 and later).
CPUS = 'export SRUN_CPUS_PER_TASK="${SLURM_CPUS_PER_TASK:-1}"'


class ArrayExecutor(submitit.SlurmExecutor):  # type: ignore[misc]  # untyped
    """submitit's, for the text alone: it can be made without a Slurm, and submits nothing."""

    @classmethod
    def affinity(cls) -> int:
        """That there is a Slurm is for the submission to find out."""
        return 2


def slurm_executor(
    study: StudyFolder,
    sweep: Sweep,
    setup: Sequence[str],
    site: Site,
    longest: float = 0.0,
    exclude: Collection[str] = (),
) -> ArrayExecutor:
    """An executor with the sweep's Slurm options; jobs begin with the `setup`.

    `longest`: predicted seconds of the longest job. Nodes to `exclude` are so besides those
    that the sweep excludes. Raises UserError where a job's time limit leaves no time before the
    warning of its end.
    """
    own = dict(sweep.launch.slurm)
    timeouts = own.pop("max_num_timeout", MAX_TIMEOUTS)
    executor = ArrayExecutor(study.logs, timeouts, python=own.pop("python", None))
    own = executor._convert_parameters(own)
    minutes = own.get("time") or default_limit(sweep, site, longest)
    defaults = {
        "job_name": f"anynet-{sweep.name}",
        "time": minutes,
        "cpus_per_task": 1,
        "signal_delay_s": min(WARNING, 10 * minutes),
        "wckey": None,  # submitit's own is refused by sites that know theirs
    }
    options: dict[str, Any] = {**defaults, **own}
    if exclude:
        excluded = filter(None, [options.get("exclude"), *sorted(set(exclude))])
        options["exclude"] = ",".join(excluded)
    options["setup"] = [*options.get("setup", ()), *setup, CPUS]
    options["additional_parameters"] = _additional(options)
    _check_limit(options)
    executor.update_parameters(**options)
    return executor


def default_limit(sweep: Sweep, site: Site, longest: float) -> int:
    """Minutes after which Slurm ends a job, where the sweep does not say.

    Twice what it is predicted to take, for predictions err; no more than the site allows.
    """
    minutes = max(SHORTEST_MIN, ceil(2 * max(sweep.launch.job_minutes, longest / 60)))
    allowed = site.longest(sweep.launch.slurm.get("partition", ""))
    return minutes if allowed is None else max(1, min(minutes, int(allowed)))


def sbatch_text(
    executor: ArrayExecutor,
    token: str,
    tasks: int,
    after: str | None = None,
    is_array: bool = True,
) -> str:
    """The script of an array of `tasks`, begun when the array `after` has ended.

    `token` names the file that says what to do (`job.Job`).
    """
    worker = copy(executor)
    options = worker.parameters = dict(executor.parameters)
    options["comment"] = " ".join(filter(None, [options.get("comment"), comment_of(token)]))
    if is_array:
        parallel = min(options.get("array_parallelism") or tasks, tasks)
        options |= {"map_count": tasks, "array_parallelism": parallel}
    if after:
        chain = [options.get("dependency"), f"afterany:{after}"]
        options["dependency"] = ",".join(filter(None, chain))
    folder = shlex.quote(str(executor.folder))
    command = f"{executor.python} -u -m anynet_study.dispatch.job {folder} {token}"
    if _is_the_batch_shell(options):
        command = f"exec {command}"
    text: str = worker._make_submission_file_text(command, token)
    return text


def _additional(options: dict[str, Any]) -> dict[str, Any]:
    """Options beside submitit's: a job comes back after a node failed, whatever the site's way.

    Without srun the worker takes the place of the batch shell, which gets the warning alone.
    """
    given = options.get("additional_parameters", {})
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
