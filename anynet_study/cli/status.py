"""The command `status`: the progress of a study, once or repeatedly."""

import json
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

from anynet_study.cli.options import AsJson, StudyName, opt
from anynet_study.cli.study import by_kind
from anynet_study.core.errors import UserError, counted
from anynet_study.core.progress import duration

if TYPE_CHECKING:
    from rich.console import Group

    from anynet_study.engine.dispatch import Status

SHORTEST_WAIT, LONGEST_WAIT = 1.0, 86_400.0


def status(
    study_name: StudyName,
    watch: Annotated[bool, opt("Look again until no job is left.", "--watch")] = False,
    every: Annotated[float, opt("Seconds between two looks.", "--every")] = 10.0,
    as_json: AsJson = False,
) -> None:
    """Show the progress of a study, of its runs and its jobs.

    Reads the study's own files, and asks squeue once if it has jobs in Slurm; sacct is not needed.
    What already makes the study's answer worth little, such as networks that only guess, comes
    first (but for --watch). With --watch it looks again until no job of the study runs or waits: in
    place on a terminal, otherwise one line per look (with --json, of JSON). Ctrl-C stops watching,
    but no job.

    \b
    Examples:
      anynet-study status quickstart
      anynet-study status paper --watch --every 30
      anynet-study status paper --json
    """
    from anynet_study.cli.terminal import Terminal
    from anynet_study.engine.dispatch import JournalReader, current_status, open_study

    if not SHORTEST_WAIT <= every <= LONGEST_WAIT:
        legal = f"{SHORTEST_WAIT:g} to {LONGEST_WAIT:g}"
        raise UserError(f"--every: {every:g} s is too often or too seldom; legal: {legal}")
    study = open_study(study_name)
    reader = JournalReader(study.folder.journals, study.folder.results)

    def look() -> "Status":
        return current_status(study, reader)

    if watch:
        _watch(study.sweep.name, study_name, look, every, as_json)
        return
    now = look()
    concerns = []
    if reader.records:
        from anynet_study.cli.concerns import concerns_so_far

        concerns = concerns_so_far(study, reader)
    if as_json:
        told = [vars(concern) for concern in concerns]
        print(json.dumps({**asdict(now), "concerns": told}, indent=2))
    else:
        console = Terminal()
        for concern in concerns:
            console.print(f"{concern}\n")
        console.print(status_text(study.sweep.name, study_name, now))


def _watch(
    title: str, name: str, look: "Callable[[], Status]", every: float, as_json: bool
) -> None:
    """Show the status repeatedly, until nothing can change any more or Ctrl-C is pressed."""
    from rich.console import Console
    from rich.live import Live

    console = Console()
    try:
        if as_json or not console.is_terminal:
            for now in _looks(look, every):
                line = json.dumps(asdict(now)) if as_json else status_line(now)
                print(line, flush=True)
            return
        with Live(console=console, auto_refresh=False) as shown:
            for now in _looks(look, every):
                shown.update(status_text(title, name, now), refresh=True)
    except KeyboardInterrupt:
        return


def _looks(look: "Callable[[], Status]", every: float) -> "Iterator[Status]":
    while True:
        now = look()
        yield now
        if not now.is_active:
            return
        time.sleep(every)


def status_text(title: str, name: str, status: "Status") -> "Group":
    """Counts by dataset, queued and missing runs; `name`: how the user called the study."""
    from rich.console import Group
    from rich.text import Text

    from anynet_study.cli.tables import rich_table

    rows = [(dataset, *counts) for dataset, counts in status.datasets.items()]
    table = rich_table(["dataset", "recorded", "planned"], rows, title=f"study {title}")
    return Group(
        table, *(Text(line, overflow="fold") for line in status_lines(status, name) if line)
    )


def status_line(status: "Status") -> str:
    """The time, and the counts that change."""
    parts = [
        f"{time.strftime('%FT%T%z')}  {status.planned - status.missing}/{status.planned} recorded",
        f"{status.failed} failed" if status.failed else "",
        status.jobs_unknown or f"jobs: {status.jobs_running} running, {status.jobs_queued} waiting",
        f"ETA {duration(status.eta_seconds)}" if status.eta_seconds is not None else "",
    ]
    return ", ".join(filter(None, parts))


def status_lines(status: "Status", name: str = "STUDY") -> list[str]:
    """Further lines about the study of this name; empty if there is nothing to report."""
    from anynet_study.engine.dispatch import damage_in_words

    kinds = f" ({by_kind(status.failures)})" if status.failures else ""
    evaluations = f"{status.evaluations} of {status.evaluations_planned}"
    return [
        f"runs: {status.completed} completed, {status.diverged} diverged, {status.failed} failed"
        f"{kinds}, {status.missing} missing of {status.planned}",
        f"tuning: {counted(status.awaited, 'further run')} when these have ended"
        if status.awaited
        else "",
        f"further evaluations: {evaluations}" if status.evaluations_planned else "",
        *damage_in_words(status.damage),
        f"results.h5 has what is in no journal: {status.only_in_store}; to have it back: "
        f"anynet-study collect {name} --restore"
        if status.only_in_store
        else "",
        *_failed(status, name),
        f"architectures whose runs are all recorded: {status.rows_complete} of {status.rows}"
        + (", failed runs among them" if status.failed else ""),
        _jobs(status),
        _held(status),
        *_silent(status),
        _left(status, name),
        _throughput(status),
        _eta(status),
        status.backends,
        _complete(status, name),
    ]


def _failed(status: "Status", name: str) -> list[str]:
    """Why runs failed, and what to do about it."""
    lines = [f"failed ({kind}): {reason}" for kind, reason in status.failure_reasons.items()]
    if lines and not status.jobs:
        lines.append(
            f"to try failed runs again: anynet-study retry {name}; what each said: "
            f"anynet-study logs {name} RUN"
        )
    return lines


def _jobs(status: "Status") -> str:
    if status.jobs_unknown:
        return f"jobs: {status.jobs_unknown}"
    if not status.jobs:
        return "jobs: none"
    parts = []
    if status.jobs_running:
        parts.append(f"{status.jobs_running} running ({counted(status.running, 'run')})")
    if status.jobs_queued:
        why = f"; {status.queue_reason}" if status.queue_reason else ""
        parts.append(f"{status.jobs_queued} waiting ({counted(status.queued, 'run')}{why})")
    elif status.queued:
        parts.append(f"which take {counted(status.queued, 'further run')}")
    return f"jobs: {', '.join(parts)}"


def _held(status: "Status") -> str:
    if not status.jobs_held:
        return ""
    first, more = " ".join(status.jobs_held[:3]), " ..." if len(status.jobs_held) > 3 else ""
    held = counted(len(status.jobs_held), "job")
    return f"held by Slurm: {held}; to release them: scontrol release {first}{more}"


def _silent(status: "Status") -> list[str]:
    """Jobs that may hang."""
    return [
        f"no sign of life for {duration(seconds)}: job {job}; to end it: anynet-study cancel"
        for job, seconds in status.jobs_silent.items()
    ]


def _left(status: "Status", name: str) -> str:
    """Runs that are in no job, if that is known."""
    if status.jobs_unknown or not status.unassigned:
        return ""
    if status.only_in_store:  # nothing is to be trained before
        return f"in no job: {counted(status.unassigned, 'run')}"
    if status.in_parts:
        missing = f"not back from its parts: {counted(status.unassigned, 'run')}"
        return f"{missing}; when they are: anynet-study collect {name} --from FOLDER"
    lost = f"; {counted(status.jobs_lost, 'job')} ended early" if status.jobs_lost else ""
    worker = f"start a worker (anynet-study work {name})"
    what = worker if status.by_workers else "launch (or run) again"
    return f"in no job: {counted(status.unassigned, 'run')}{lost}; {what} to continue"


def _throughput(status: "Status") -> str:
    if status.runs_per_hour is None:
        return ""
    spent = [
        f"{_number(hours)} {'core-hours' if device == 'cpu' else f'GPU-hours ({device})'}"
        for device, hours in status.hours.items()
    ]
    return (
        f"pace: {_number(status.runs_per_hour)} runs an hour; "
        f"cost so far: {', '.join(spent) or 'none'}"
    )


def _complete(status: "Status", name: str) -> str:
    if status.missing or status.failed or status.is_active:
        return ""
    return f"all planned runs are recorded; what they say: anynet-study report {name}"


def _number(value: float) -> str:
    return f"{value:.3g}" if value < 100 else f"{value:,.0f}"


def _eta(status: "Status") -> str:
    if not status.eta_assumes:
        return ""
    if status.eta_seconds is None:
        return "ETA: not known before a job runs"
    when = duration(status.eta_seconds)
    return f"ETA: {when}, if {status.eta_assumes}; predicted by: {status.eta_basis}"
