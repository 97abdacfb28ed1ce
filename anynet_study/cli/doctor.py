"""The command that probes a site."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from anynet_study.cli.options import AsJson

Folder = Annotated[Path, typer.Argument(metavar="FOLDER", help="Folder of studies, or a study.")]
STYLES = {"ok": "", "note": "yellow", "problem": "red"}


def doctor(folder: Folder = Path(), as_json: AsJson = False) -> None:
    """Probe this site, and say what to configure.

    Slurm: limits of arrays and queues, partitions and GPUs, preemption and requeueing, accounting.
    The folder's file system: renames, locks, room, quota. What does not answer is
    reported. Nothing is changed. Without Slurm, all else is probed.

    \b
    Examples:
      anynet-study doctor
      anynet-study doctor paper --json
    """
    from rich.console import Console

    from anynet_study.cli.tables import rich_table
    from anynet_study.engine.dispatch import examine

    results = examine(_place(folder))
    if as_json:
        print(json.dumps([asdict(result) for result in results], indent=2))
        return
    table = rich_table(
        ["check", "found", "advice"],
        [(result.check, result.found, result.advice) for result in results],
        left=3,
    )
    for column, width in zip(table.columns, (17, 25), strict=False):
        column.max_width = width
    for row, result in zip(table.rows, results, strict=True):
        row.style = STYLES[result.level]
    Console().print(table)


def _place(folder: Path) -> Path:
    """The folder, or that of the study of this name."""
    from anynet_study.core.errors import UserError
    from anynet_study.engine.study_folder import StudyFolder

    if folder.is_dir():
        return folder
    try:
        return StudyFolder.open(folder).folder
    except UserError:
        return folder
