"""The commands for a study's jobs and workers: work, cancel and logs."""

import json
import math
import sys
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from anynet_study.cli.options import AsJson, StudyName, opt
from anynet_study.cli.tables import print_table
from anynet_study.core.errors import UserError, WorkFailedError, counted

if TYPE_CHECKING:
    from anynet_study.engine.study_folder import StudyFolder

Name = Annotated[
    str | None,
    typer.Argument(metavar="RUN_OR_JOB", help="Id of a job, or the start of a run's id."),
]


def work(
    study_name: StudyName,
    minutes: Annotated[float, opt("Save and leave after so long.", "--minutes")] = math.inf,
    attached: Annotated[int, opt("End with this process.", "--attached", hidden=True)] = 0,
) -> None:
    """Be a worker of a launched study, until no run is left to take.

    It trains runs that no other worker is at. Start as many as you like, by hand, by ssh, or by
    any scheduler, on machines that share the study's folder and have the data; they may come and
    go at any time. A run whose worker was lost is taken over some minutes later. Without --minutes
    a worker leaves when others are at all that is left, or when it is told to (Ctrl-C, SIGTERM,
    anynet-study cancel); what it is at is saved.

    \b
    Examples:
      anynet-study launch sweeps/paper.yaml --cluster none
      anynet-study work studies/paper
      anynet-study work studies/paper --minutes 110
    """
    from anynet_study.engine.dispatch import work_at
    from anynet_study.engine.study_folder import StudyFolder

    if not minutes > 0:
        raise UserError(f"--minutes: {minutes:g} is too few; legal: more than 0")
    study = StudyFolder.open(study_name)
    begun = work_at(study, minutes, lambda line: print(line, flush=True), attached)
    print(f"{counted(begun, 'run')} begun by this worker; see: anynet-study status {study_name}")


def cancel(study_name: StudyName) -> None:
    """Cancel the jobs of a study, and no others.

    Jobs that wait are taken from the queue. Jobs that run save their state and end: launch
    continues from there; those on other machines find a file that asks them to. The command can be
    repeated.

    \b
    Example:
      anynet-study cancel paper
    """
    from anynet_study.engine.dispatch import cancel_jobs
    from anynet_study.engine.study_folder import StudyFolder

    study = StudyFolder.open(study_name)
    with study.locked():
        told = cancel_jobs(study)
    if told.running or told.queued:
        parts = [(told.running, "running"), (told.queued, "waiting")]
        print("cancelled:", ", ".join(counted(n, f"{state} job") for n, state in parts if n))
    if told.elsewhere:
        print(f"asked to leave, which takes up to a minute: workers on {', '.join(told.elsewhere)}")
    elif not told.running and not told.queued:
        print(f"no job of {study.folder} runs or waits")


def logs(
    study_name: StudyName,
    name: Name = None,
    lines: Annotated[int, opt("At most this many lines, from the end.", "--lines")] = 40,
    err: Annotated[bool, opt("Show the error output instead.", "--err")] = False,
    path: Annotated[bool, opt("Only print the path of the file.", "--path")] = False,
    as_json: AsJson = False,
) -> None:
    """Show the log of a job or run, or list the jobs.

    For a run, its own lines in the log of the latest job that trained it are shown. Without a job
    or run, the latest jobs are listed (--json: all): where each ran, how many of its runs are
    recorded by now (by any job), and how it ended.

    \b
    Examples:
      anynet-study logs paper
      anynet-study logs paper 12345_7 --err
      anynet-study logs paper 9457b0
    """
    from anynet_study.engine.dispatch import find_log, submitted_jobs
    from anynet_study.engine.study_folder import StudyFolder

    if lines < 1:
        raise UserError(f"--lines: {lines} is too few; legal: 1 or more")
    study = StudyFolder.open(study_name)
    if name is None:
        _list(study, lines, as_json)
        return
    log = find_log(study, list(submitted_jobs(study.jobs)), name)
    file = log.err if err else log.out
    if path:
        print(file)
        return
    if not file.exists():
        raise WorkFailedError(f"{file}: nothing was written; job {log.job.job_id} has not begun")
    text = log.lines(err)
    for line in text[-lines:]:
        print(line)
    if not text:
        print(f"{file}: nothing was written", file=sys.stderr)
    if not err and log.err.exists() and log.err.stat().st_size:
        print(f"there is error output, too: see it with --err, or in {log.err}", file=sys.stderr)


def _list(study: "StudyFolder", most: int, as_json: bool) -> None:
    from anynet_study.engine.dispatch import Recorded, list_jobs, live_jobs, submitted_jobs

    jobs = list(submitted_jobs(study.jobs))
    recorded = Recorded.read(study.journals)
    try:
        live = live_jobs(study)
    except WorkFailedError as error:
        live = None
        print(error, file=sys.stderr)
    listed = list_jobs(study, jobs if as_json else jobs[-most:], live, recorded)
    if as_json:
        print(json.dumps([asdict(job) for job in listed], indent=2))
    elif not listed:
        print(f"no job of {study.folder} was ever submitted")
    else:
        cells = [
            [job.job, job.state, f"{job.recorded} of {job.runs}", job.host, job.note]
            for job in listed
        ]
        print_table(["job", "state", "recorded", "host", "note"], cells, left=5)
        if len(listed) < len(jobs):
            print(f"the latest {len(listed)} of {len(jobs)} jobs; more with --lines")
