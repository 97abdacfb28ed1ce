"""A study's status for people: as a table with a few lines, and as one line."""

import time

from rich.console import Group
from rich.table import Table
from rich.text import Text

from anynet_study.cli.study import by_kind
from anynet_study.dispatch.progress.status import Status
from anynet_study.errors import counted
from anynet_study.progress import duration


def status_text(name: str, status: Status) -> Group:
    """Counts by dataset, and what is under way."""
    table = Table(title=f"study {name}", title_justify="left")
    table.add_column("dataset", overflow="fold")
    table.add_column("recorded", justify="right")
    table.add_column("planned", justify="right")
    for dataset, (done, planned) in status.datasets.items():
        table.add_row(dataset, str(done), str(planned))
    return Group(table, *(Text(line, overflow="fold") for line in _lines(status) if line))


def status_line(status: Status) -> str:
    """The time, and the counts that change."""
    parts = [
        f"{time.strftime('%H:%M:%S')}  {status.planned - status.missing}/{status.planned} recorded",
        f"{status.failed} failed" if status.failed else "",
        status.jobs_unknown or f"jobs: {status.jobs_running} running, {status.jobs_queued} waiting",
        f"ETA {duration(status.eta_seconds)}" if status.eta_seconds is not None else "",
    ]
    return ", ".join(filter(None, parts))


def _lines(status: Status) -> list[str]:
    return [
        f"runs: {status.completed} completed, {status.diverged} diverged, {_failed(status)}, "
        f"{status.missing} missing of {status.planned}",
        f"further evaluations: {status.evaluations} of {status.evaluations_planned}"
        if status.evaluations_planned
        else "",
        f"architectures with all their runs: {status.rows_complete} of {status.rows}",
        _jobs(status),
        _held(status),
        _left(status),
        _pace(status),
        _eta(status),
    ]


def _failed(status: Status) -> str:
    kinds = f" ({by_kind(status.failures)})" if status.failures else ""
    return f"{status.failed} failed{kinds}"


def _jobs(status: Status) -> str:
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
    return f"jobs: {', '.join(parts)}"


def _held(status: Status) -> str:
    if not status.jobs_held:
        return ""
    first, more = " ".join(status.jobs_held[:3]), " ..." if len(status.jobs_held) > 3 else ""
    held = counted(len(status.jobs_held), "job")
    return f"held by Slurm: {held}; to let them go on: scontrol release {first}{more}"


def _left(status: Status) -> str:
    """What no job has, where that is known."""
    if status.jobs_unknown or not status.unassigned:
        return ""
    lost = f"; {counted(status.jobs_lost, 'job')} ended early" if status.jobs_lost else ""
    return f"in no job: {counted(status.unassigned, 'run')}{lost}; launch (or run) again to go on"


def _pace(status: Status) -> str:
    if status.runs_per_hour is None:
        return ""
    cost = ", ".join(_hours(device, hours) for device, hours in status.hours.items())
    return f"pace: {_number(status.runs_per_hour)} runs an hour; cost so far: {cost or 'none'}"


def _hours(device: str, hours: float) -> str:
    unit = "core-hours" if device == "cpu" else f"GPU-hours ({device})"
    return f"{_number(hours)} {unit}"


def _number(value: float) -> str:
    return f"{value:.3g}" if value < 100 else f"{value:.0f}"


def _eta(status: Status) -> str:
    if not status.eta_assumes:
        return ""
    if status.eta_seconds is None:
        return "ETA: not known before a job runs"
    when = duration(status.eta_seconds)
    return f"ETA: {when}, if {status.eta_assumes}; predicted by: {status.eta_basis}"
