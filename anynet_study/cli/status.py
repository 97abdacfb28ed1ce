"""A study's status as a table for people."""

from rich.console import Console
from rich.table import Table

from anynet_study.dispatch.status import Status
from anynet_study.progress import duration


def print_status(name: str, status: Status) -> None:
    """Print counts by dataset and what is under way."""
    table = Table(title=f"study {name}", title_justify="left")
    table.add_column("dataset")
    table.add_column("recorded", justify="right")
    table.add_column("planned", justify="right")
    for dataset, (done, planned) in status.datasets.items():
        table.add_row(dataset, str(done), str(planned))
    console = Console()
    console.print(table)
    console.print(
        f"runs: {status.completed} completed, {status.diverged} diverged, "
        f"{status.failed} failed, {status.missing} missing of {status.planned}",
        *_evaluations(status),
        f"architectures with all their runs: {status.rows_complete} of {status.rows}",
        f"jobs queued or running: {status.jobs}" + _eta(status),
        sep="\n",
        highlight=False,
        soft_wrap=True,
    )


def _evaluations(status: Status) -> list[str]:
    if not status.evaluations_planned:
        return []
    return [f"further evaluations: {status.evaluations} of {status.evaluations_planned}"]


def _eta(status: Status) -> str:
    if status.eta_seconds is None:
        return ""
    basis = f" ({status.eta_basis})" if status.eta_basis else ""
    return f", ETA {duration(status.eta_seconds)}{basis}"
