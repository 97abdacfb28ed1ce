"""Submission to Slurm: job arrays, as many as the site takes now."""

import os
import shutil
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass

from anynet_study.dispatch.job import Job, job_file, script_file
from anynet_study.dispatch.ledger import intend, settle
from anynet_study.dispatch.pack import pack_jobs
from anynet_study.dispatch.plan import PlannedRun
from anynet_study.dispatch.process import asking_for_huge_pages
from anynet_study.dispatch.recorded import NO_RETRIES, Retries
from anynet_study.dispatch.slurm.sbatch import QueueFullError, RefusedError, sbatch
from anynet_study.dispatch.slurm.script import ArrayExecutor, sbatch_text, slurm_executor
from anynet_study.dispatch.slurm.site import Site
from anynet_study.dispatch.snapshot import snapshot, take
from anynet_study.errors import UserError, WorkFailedError
from anynet_study.files import write_text
from anynet_study.study_folder import StudyFolder
from anynet_study.sweep import Sweep


@dataclass(frozen=True)
class Submitted:
    """What a launch submitted, and what Slurm has no room for now."""

    runs: int
    jobs: int
    runs_left: int = 0
    jobs_left: int = 0
    #: Why they are left, in Slurm's words.
    reason: str = ""


def slurm_tasks(sweep: Sweep, runs: Iterable[PlannedRun]) -> Iterator[tuple[str, float]]:
    """The ids of the runs of each Slurm job, separated by spaces, and its predicted seconds."""
    for job in pack_jobs(sweep.launch, runs):
        yield " ".join(run.run_id for run in job), sum(run.seconds for run in job)


def check_slurm(study: StudyFolder, sweep: Sweep) -> None:
    """Raise UserError where jobs cannot be submitted from here, or not with the sweep's options."""
    if shutil.which("sbatch") is None:
        raise UserError(
            "launch.cluster = slurm: there is no sbatch here; is Slurm on this machine?"
        )
    slurm_executor(study, sweep, snapshot(study.code).setup, Site())


def submit_to_slurm(
    study: StudyFolder,
    sweep: Sweep,
    runs: Iterable[PlannedRun],
    retries: Retries = NO_RETRIES,
    exclude: Collection[str] = (),
) -> Submitted:
    """Queue the runs as job arrays and return at once; `exclude`: nodes they must not get.

    Where Slurm has no room for all of them, half as many at a time are tried, down to one, and the
    first ones are queued. Raises WorkFailedError with
    its words where it takes none for another reason.
    """
    site, code = Site.ask(), take(study.code)
    tasks, longest = [], 0.0
    for task, seconds in slurm_tasks(sweep, runs):
        tasks.append(task)
        longest = max(longest, seconds)
    if not tasks:
        return Submitted(0, 0)
    executor = slurm_executor(study, sweep, code.setup, site, longest, exclude)
    # Arrays that share a number of jobs at a time run one after the other.
    parallel = executor.parameters.get("array_parallelism")
    chained = parallel is not None and parallel < len(tasks)
    waiting, arrays, most = tasks, list[str](), max(1, site.array_size)
    refusal: QueueFullError | None = None
    while waiting and most:
        job = Job.of(study, sweep, waiting[:most], retries, most_requeues=executor.max_num_timeout)
        after = arrays[-1] if chained and arrays else None
        try:
            arrays.append(_submit(study, executor, job, after, is_array=site.array_size > 0))
        except QueueFullError as error:  # fewer may fit
            refusal, most = error, len(job.tasks) // 2
            continue
        except WorkFailedError as error:
            before = f" ({len(tasks) - len(waiting)} jobs were queued before)" if arrays else ""
            raise WorkFailedError(f"{error}{before}") from None
        waiting = waiting[most:]
    if refusal and not arrays and not refusal.is_counted:
        raise refusal
    left = _runs_in(waiting)
    sent = _runs_in(tasks) - left, len(tasks) - len(waiting)
    return Submitted(*sent, left, len(waiting), refusal.words if refusal else "")


def _submit(
    study: StudyFolder,
    executor: ArrayExecutor,
    job: Job,
    after: str | None,
    is_array: bool,
) -> str:
    """Submit an array; its id. Whatever happens, its jobs can be found, and have what they need.

    What they do is on disk before they are queued, and the ledger knows by which token Slurm would
    list them.
    """
    token = intend(study.jobs, job.tasks, is_array)
    file, script = job_file(study.logs, token), script_file(study.logs, token)
    job.write(file)
    text = sbatch_text(executor, token, len(job.tasks), after, is_array)
    write_text(script, text, mode=0o700)
    try:
        job_id = sbatch(script, executor.parameters, asking_for_huge_pages(os.environ))
    except RefusedError as error:
        if error.is_certain:
            settle(study.jobs, token, "")
            file.unlink()
            script.unlink()
        raise
    settle(study.jobs, token, job_id)
    return job_id


def _runs_in(tasks: Iterable[str]) -> int:
    return sum(task.count(" ") + 1 for task in tasks)
