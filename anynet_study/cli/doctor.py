"""The command that probes a site."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from anynet_study.cli.study import AsJson

if TYPE_CHECKING:
    from anynet_study.dispatch.doctor import Finding

Folder = Annotated[Path, typer.Argument(metavar="FOLDER", help="Where studies lie, or a study.")]
STYLES = {"ok": "", "note": "yellow", "problem": "red"}


def doctor(folder: Folder = Path(), as_json: AsJson = False) -> None:
    """Probe this site, and say what to set.

    Slurm: limits of arrays and queues, partitions and GPUs, preemption and requeueing, accounting.
    The folder's file system: renames, locks, room, quota. Whatever does not answer is told;
    nothing is changed, and without Slurm the rest is probed.

    \b
    Examples:
      anynet-study doctor
      anynet-study doctor paper --json
    """
    from anynet_study.dispatch.doctor import examine

    findings = examine(_place(folder))
    if as_json:
        print(json.dumps([asdict(finding) for finding in findings], indent=2))
    else:
        _print(findings)


def _place(folder: Path) -> Path:
    """The folder, or that of the study so called."""
    from anynet_study.errors import UserError
    from anynet_study.study_folder import StudyFolder

    if folder.is_dir():
        return folder
    try:
        return StudyFolder.open(folder).folder
    except UserError:
        return folder


def _print(findings: "list[Finding]") -> None:
    from rich.console import Console
    from rich.table import Table

    table = Table()
    for column, width in (("check", 17), ("found", 25), ("advice", None)):
        table.add_column(column, max_width=width, overflow="fold")
    for it in findings:
        table.add_row(it.check, it.found, it.advice, style=STYLES[it.level])
    Console().print(table)
