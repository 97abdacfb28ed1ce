"""The command `list`: all studies and their progress."""

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from anynet_study.cli.options import AsJson
from anynet_study.cli.tables import print_table
from anynet_study.core.errors import UserError, first_line, some_of

if TYPE_CHECKING:
    from anynet_study.engine.dispatch import Status

Folder = Annotated[Path, typer.Argument(metavar="FOLDER", help="Folder of the studies.")]


@dataclass(frozen=True)
class Progress:
    """The progress of a study. If it cannot be opened, there are no counts, and `note` says why."""

    study: str
    state: str
    recorded: int | None = None
    planned: int | None = None
    failed: int | None = None
    eta_seconds: float | None = None
    note: str = ""


def list_(folder: Folder = Path("studies"), as_json: AsJson = False) -> None:
    """List the studies in a folder, and their progress.

    \b
    Examples:
      anynet-study list
      anynet-study list --json
    """
    if not folder.is_dir():
        raise UserError(f"{folder}: no such folder; studies lie where `anynet-study run` was typed")
    found = [progress(path.parent) for path in sorted(folder.glob("*/sweep.yaml"))]
    if as_json:
        print(json.dumps([asdict(study) for study in found], indent=2))
    elif not found:
        print(f"no study in {folder}")
    else:
        print_table(
            ("study", "state", "recorded", "failed", "ETA", ""), [*map(_row, found)], left=2
        )


def progress(folder: Path) -> Progress:
    """The progress of the study in a folder."""
    from anynet_study.engine.dispatch import JournalReader, current_status, open_study

    try:
        study = open_study(folder)
        status = current_status(study, JournalReader(study.folder.journals, study.folder.results))
    except (UserError, OSError) as error:
        return Progress(folder.name, "unreadable", note=first_line(error))
    recorded = status.planned - status.missing
    if status.is_active and not status.jobs_unknown:  # other hosts' workers are not listed
        state = "running" if status.jobs_running or not status.jobs else "queued"
    else:
        begun = recorded or status.jobs_lost
        state = "not begun" if not begun else "stopped" if status.missing else "done"
    return Progress(
        folder.name,
        state,
        recorded,
        status.planned,
        status.failed,
        status.eta_seconds if status.missing else None,
        status.jobs_unknown or "; ".join(_notes(status)),
    )


def _notes(status: "Status") -> list[str]:
    """Return what is wrong with the journals of a study; status says it at length."""
    notes = [f"damaged: {', '.join(some_of(status.damage, 3))}"] if status.damage else []
    lost = status.only_in_store
    return [*notes, f"in results.h5, but in no journal: {lost}"] if lost else notes


def _row(study: Progress) -> list[object]:
    from anynet_study.core.progress import duration

    if study.planned is None or study.recorded is None:
        return [study.study, study.state, None, None, None, study.note]
    share = f"{study.recorded:,} of {study.planned:,}"
    eta = "" if study.eta_seconds is None else duration(study.eta_seconds)
    return [study.study, study.state, share, study.failed, eta, study.note]
