"""Submission to Slurm by submitit: job arrays, as many as the site takes now.

submitit neither splits arrays at the site's limit (facebookincubator/submitit#1624) nor removes
what it wrote for jobs that were refused (#1592). It writes a pickle and two logs for each task of
an array, and there is no public way to share them: runs are packed into few long jobs, and a
`Task` is small. The state of jobs is never asked of submitit, which asks sacct for each of them
(#1759) and needs it to answer (#1720): `ledger.live_jobs` asks squeue once for all.
"""

import io
import os
import re
import shlex
import shutil
import tempfile
from collections.abc import Iterable, Sequence
from contextlib import redirect_stderr
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import submitit
from submitit.core.utils import FailedJobError, FailedSubmissionError
from submitit.helpers import DelayedSubmission

from anynet_study.core.errors import UserError, WorkFailedError
from anynet_study.core.files import read_regular
from anynet_study.engine.dispatch.executors import (
    CPUS,
    MAX_TIMEOUTS,
    executor_for,
    outside_of_jobs,
    pretended_slurm,
    slurm_executor,
    with_options,
)
from anynet_study.engine.dispatch.failures import NextAttempts
from anynet_study.engine.dispatch.ledger import Call, intend, logs_name, settle
from anynet_study.engine.dispatch.opened import OpenStudy
from anynet_study.engine.dispatch.pack import pack_jobs
from anynet_study.engine.dispatch.slurm.commands import comment_of
from anynet_study.engine.dispatch.slurm.site import Site
from anynet_study.engine.dispatch.snapshot import Snapshot, snapshot, take_for
from anynet_study.engine.dispatch.work import Task
from anynet_study.engine.planning import PlannedRun
from anynet_study.engine.study_folder import StudyFolder
from anynet_study.engine.sweep import Sweep

#: The queue takes no more jobs now, or not so many at once: fewer may be taken, or later.
FULL = re.compile(
    r"MaxSubmit|SubmitJob\w*Limit|MaxJobCount|sleeping and retrying|temporarily unavailable"
    r"|job array spec|violates accounting/QOS policy"
)
#: Of these it is told that the number of jobs is the reason.
COUNTED = re.compile(r"MaxSubmit|SubmitJob\w*Limit|MaxJobCount|sleeping|temporarily unavailable")
#: The job may be queued all the same.
UNCERTAIN = re.compile(r"timed out|[Uu]nable to contact|Zero Bytes|connect failure|make sense of")
#: Files of submitit that it renames once a job has an id.
TEMPORARY = re.compile(r"(\.submission_file_)?[0-9a-f]{32}\.(pkl|sh)")
#: Stands for that of a submission.
TOKEN = "0" * 12


class RefusedError(WorkFailedError):
    """sbatch did not take a job, in its words."""

    def __init__(self, words: str) -> None:
        self.words = words
        hint = "" if self.is_full else "; anynet-study doctor shows what this site has"
        super().__init__(f"sbatch: {words}{hint}")

    @property
    def is_full(self) -> bool:
        """Tell whether there is no room for so many jobs now."""
        return bool(FULL.search(self.words))

    @property
    def is_counted(self) -> bool:
        """Tell whether the number of jobs is the reason, beyond doubt."""
        return bool(COUNTED.search(self.words))

    @property
    def is_slow(self) -> bool:
        """Tell whether sbatch tried for two minutes, which submitit waits for."""
        return "sleeping and retrying" in self.words

    @property
    def is_certain(self) -> bool:
        """Tell whether no job was queued, beyond doubt."""
        return not UNCERTAIN.search(self.words)


@dataclass(frozen=True)
class Submitted:
    """What a launch submitted, and what Slurm has no room for now."""

    runs: int
    jobs: Sequence[Any]
    runs_left: int = 0
    jobs_left: int = 0
    #: Why they are left, in Slurm's words.
    reason: str = ""


def check_slurm(study: StudyFolder, sweep: Sweep, executor: submitit.Executor | None) -> None:
    """Raise UserError where jobs cannot be submitted from here, or not with these options."""
    for command in ("sbatch", "srun"):
        if shutil.which(command) is None:
            raise UserError(
                f"launch.cluster = slurm: there is no {command} here; is Slurm on this machine?"
            )
    slurm_executor(executor or executor_for(study, sweep.launch), sweep, Site())


def submit_to_slurm(
    study: OpenStudy, executor: submitit.Executor, runs: Iterable[PlannedRun], how: NextAttempts
) -> Submitted:
    """Queue the runs as job arrays and return at once; `how`: with which retries, on which nodes.

    Where Slurm has no room for all of them, half as many at a time are tried (a tenth where sbatch
    took its time), down to one, and the first ones are queued. Raises WorkFailedError with its
    words where it takes none for another reason.
    """
    folder, sweep, site, code = study.folder, study.sweep, Site.ask(), take_for(study.folder)
    tasks, longest = [], 0.0
    for job in pack_jobs(sweep.launch, runs):
        tasks.append(" ".join(run.run_id for run in job))
        longest = max(longest, sum(run.seconds for run in job))
    if not tasks:
        return Submitted(0, ())
    executor = slurm_executor(executor, sweep, site, longest, sorted(how.excluded_nodes))
    # Arrays that share a number of jobs at a time run one after the other.
    parallel = executor.parameters.get("array_parallelism")
    chained = parallel is not None and parallel < len(tasks)
    waiting, jobs, most = tasks, list["submitit.Job[None]"](), max(1, site.array_size)
    refusal: RefusedError | None = None
    while waiting and most:
        array = waiting[:most]
        after = _array_of(jobs[-1]) if chained and jobs else None
        try:
            jobs += _submit(folder, executor, code, array, Call.of(how.retries), after)
        except RefusedError as error:
            if error.is_full:  # fewer may fit
                refusal, most = error, len(array) // (10 if error.is_slow else 2)
                continue
            before = f" ({len(jobs)} jobs were queued before)" if jobs else ""
            raise WorkFailedError(f"{error}{before}") from None
        waiting = waiting[most:]
    if refusal and not jobs and not refusal.is_counted:
        raise refusal
    left = _runs_in(waiting)
    reason = refusal.words if refusal else ""
    return Submitted(_runs_in(tasks) - left, jobs, left, len(waiting), reason)


def _submit(
    study: StudyFolder,
    executor: submitit.Executor,
    code: Snapshot,
    tasks: Sequence[str],
    call: Call,
    after: str | None,
) -> list["submitit.Job[None]"]:
    """Submit an array. Whatever happens, its jobs can be found, and have what they need.

    Before they are queued, the ledger knows what they do, and by which token Slurm would list them.
    Raises RefusedError.
    """
    count, logs = len(tasks), logs_name(study.logs, executor.folder)
    token = intend(study.jobs, tasks, is_array=count > 1, logs=logs, call=call)
    task = Task(str(study.folder.absolute()), token)
    pickle = _write_pickle(study, executor, task)
    array = array_of(executor, code, token, count, pickle, after)
    try:
        jobs = submitted_by(array, task, count)
    except RefusedError as error:
        if error.is_certain:
            settle(study.jobs, token, "")
            for path in (pickle, *_left_by_submitit(executor.folder, token)):
                path.unlink()
        raise
    settle(study.jobs, token, _array_of(jobs[0]))
    return jobs


def array_of(
    executor: submitit.Executor,
    code: Snapshot,
    token: str,
    count: int,
    pickle: Path,
    after: str | None = None,
) -> submitit.Executor:
    """An executor for an array of `count` jobs that import `code`, begun when `after` has ended.

    `after` is an array, too. `token` names the submission in the ledger; `pickle` is the callable
    that a job takes where submitit was killed before it put one there.
    """
    said, mask = executor.parameters, os.umask(0o022)
    os.umask(mask)
    chain = [said.get("dependency"), f"afterany:{after}" if after else None]
    options: dict[str, Any] = {
        "comment": " ".join(filter(None, [said.get("comment"), comment_of(token)])),
        "array_parallelism": min(said.get("array_parallelism") or count, count),
        "setup": [
            *(*said.get("setup", ()), *code.setup, f"umask {mask:03o}"),
            *(_own_pickle(executor.folder, pickle), CPUS),
        ],
    }
    if dependency := ",".join(filter(None, chain)):
        options["dependency"] = dependency
    return with_options(executor, **options)


def _own_pickle(folder: Path, pickle: Path) -> str:
    """A line of shell: submitit writes what a job calls only after sbatch has answered."""
    job = '"${SLURM_ARRAY_JOB_ID:+${SLURM_ARRAY_JOB_ID}_}${SLURM_ARRAY_TASK_ID:-$SLURM_JOB_ID}"'
    source, target = shlex.quote(str(pickle.absolute())), shlex.quote(str(folder))
    return f"cp -n {source} {target}/{job}_submitted.pkl"


def _write_pickle(study: StudyFolder, executor: submitit.Executor, task: Task) -> Path:
    minutes = executor.parameters["time"]
    path = study.logs / f"{task.token}.pkl"
    study.logs.mkdir(parents=True, exist_ok=True)
    submission = DelayedSubmission(task)
    submission.set_timeout(minutes, getattr(executor, "max_num_timeout", MAX_TIMEOUTS))
    with outside_of_jobs():
        submission.dump(path)
    return path


def submitted_by(executor: submitit.Executor, task: Task, count: int) -> list["submitit.Job[None]"]:
    """Have submitit call sbatch; what sbatch says against it is raised, and not printed."""
    try:
        with outside_of_jobs(list(executor.parameters)), redirect_stderr(io.StringIO()):
            jobs: list[submitit.Job[None]] = executor.submit_array([task] * count)
            return jobs
    except FailedJobError as error:
        words = str(error) or str(error.__cause__)
    except FailedSubmissionError as error:
        words = str(error)
    except OSError as error:
        words = error.strerror or str(error)
    lines = (line.removeprefix("sbatch: error: ").strip() for line in words.splitlines())
    raise RefusedError("; ".join(filter(None, lines)))


def _left_by_submitit(folder: Path, token: str) -> list[Path]:
    """Return what submitit wrote for jobs that were refused."""
    written = (path for path in folder.iterdir() if TEMPORARY.fullmatch(path.name))
    return [path for path in written if token.encode() in read_regular(path)]


def first_script(
    study: StudyFolder, sweep: Sweep, site: Site, longest: float, tasks: int
) -> tuple[dict[str, Any], str]:
    """The options of a sweep's jobs, and the script of its first array; `tasks` are all jobs.

    Nothing is submitted or written to the study: submitit writes elsewhere, and to a Slurm that is
    pretended.
    """
    with tempfile.TemporaryDirectory() as name, pretended_slurm(Path(name)):
        there = StudyFolder(Path(name, *study.folder.absolute().parts[1:]))
        executor = slurm_executor(executor_for(there, sweep.launch), sweep, site, longest)
        count, pickle = min(max(1, site.array_size), tasks), there.logs / f"{TOKEN}.pkl"
        array = array_of(
            executor, snapshot(there.code, own=study.own_sources()), TOKEN, count, pickle
        )
        jobs = submitted_by(array, Task("", TOKEN), count)
        script = jobs[0].paths.submission_file.read_text(encoding="utf-8").replace(name, "")
        return executor.parameters, script


def _array_of(job: "submitit.Job[None]") -> str:
    """Slurm's id of the array that a job is of, or of a single job."""
    return str(job.job_id).partition("_")[0]


def _runs_in(tasks: Iterable[str]) -> int:
    return sum(task.count(" ") + 1 for task in tasks)
