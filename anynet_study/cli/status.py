"""The command `status`: how far a study is, once or again and again."""

import json
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from anynet_study.cli.study import AsJson, StudyName
from anynet_study.errors import UserError, WorkFailedError

if TYPE_CHECKING:
    from anynet_study.cli.prepared import Prepared
    from anynet_study.dispatch.recorded import JournalReader
    from anynet_study.dispatch.status import Status

Watch = Annotated[bool, typer.Option("--watch", help="Look again until no job is left.")]
Every = Annotated[float, typer.Option("--every", help="With --watch: seconds between two looks.")]

SHORTEST_WAIT = 1.0


def status(
    study_name: StudyName,
    watch: Annotated[
        bool, typer.Option("--watch", help="Look again until no job is left.")
    ] = False,
    every: Annotated[float, typer.Option("--every", help="Seconds between two looks.")] = 10.0,
    as_json: AsJson = False,
) -> None:
    """Say how far a study is: its runs, its jobs, and when they will be done.

    Reads the study's own files, and asks squeue once if it has jobs in Slurm; sacct is not needed.
    With --watch it looks again until no job of the study runs or waits: in place on a terminal,
    otherwise a line a look (with --json, of JSON). Ctrl-C ends the watching, and no job.

    \b
    Examples:
      anynet-study status quickstart
      anynet-study status paper --watch --every 30
      anynet-study status paper --json
    """
    from anynet_study.cli.prepared import reopen
    from anynet_study.dispatch.recorded import JournalReader

    if every < SHORTEST_WAIT:
        raise UserError(f"--every: {every:g} s is too often; legal: {SHORTEST_WAIT:g} or more")
    prepared = reopen(study_name)
    reader = JournalReader(prepared.study.journals)

    def look() -> "Status":
        return current_status(prepared, reader)

    if watch:
        _watch(prepared.sweep.name, look, every, as_json)
    elif as_json:
        print(json.dumps(asdict(look()), indent=2))
    else:
        from rich.console import Console

        from anynet_study.cli.status_text import status_text

        Console().print(status_text(prepared.sweep.name, look()))


def current_status(prepared: "Prepared", reader: "JournalReader") -> "Status":
    """A study's status now. That squeue does not answer is part of it."""
    from anynet_study.dispatch import ledger
    from anynet_study.dispatch.status import Jobs, study_status

    study, recorded = prepared.study, reader.read()
    ended = recorded.ended(prepared.planned)
    submitted = ledger.read(study.jobs)
    try:
        jobs = Jobs(ledger.live_jobs(study.jobs, ended), submitted)
    except WorkFailedError as error:
        jobs = Jobs(unknown=str(error))
    learned = prepared.learned(recorded) if jobs.live else None
    return study_status(prepared.planned, recorded, jobs, reader.pace(), time.time(), learned)


def _watch(name: str, look: "Callable[[], Status]", every: float, as_json: bool) -> None:
    """Show one status after the other until nothing is under way, or Ctrl-C."""
    from rich.console import Console
    from rich.live import Live

    from anynet_study.cli.status_text import status_line, status_text

    console = Console()
    try:
        if as_json or not console.is_terminal:
            for now in _looks(look, every):
                line = json.dumps(asdict(now)) if as_json else status_line(now)
                print(line, flush=True)
            return
        with Live(console=console, auto_refresh=False) as shown:
            for now in _looks(look, every):
                shown.update(status_text(name, now), refresh=True)
    except KeyboardInterrupt:
        return


def _looks(look: "Callable[[], Status]", every: float) -> "Iterator[Status]":
    while True:
        now = look()
        yield now
        if not now.under_way:
            return
        time.sleep(every)
