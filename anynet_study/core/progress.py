"""Progress of long work: a bar with ETA on a terminal, plain lines otherwise."""

import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Protocol

SECONDS_BETWEEN_LINES = 10.0
SECONDS_OF_PATIENCE = 2.0


class Report(Protocol):
    """Called with the number of units done so far and, if it helps, a short note."""

    def __call__(self, done: int, note: str = "") -> None: ...


@contextmanager
def progress(description: str, total: int, start: int = 0, of: str = "") -> Iterator[Report]:
    """Yield a function that reports how many of `total` units are done.

    `start` units were done before this began; they count as done but not for the ETA. In plain
    lines it is told from the second report on: the first unit has the start of all workers in it.
    `of` stands behind the number that is done: "/TOTAL" by default.
    """
    of = of or f"/{total}"
    from rich.console import Console

    console = Console(file=sys.stderr)
    if console.is_terminal:
        from rich.progress import (
            BarColumn,
            Progress,
            TextColumn,
            TimeElapsedColumn,
            TimeRemainingColumn,
        )

        columns = (
            TextColumn("{task.description}"),
            BarColumn(),
            TextColumn("{task.completed:.0f}" + of),
            TimeElapsedColumn(),
            TextColumn("ETA"),
            TimeRemainingColumn(),
            TextColumn("{task.fields[note]}"),
        )
        with Progress(*columns, console=console) as bar:
            task = bar.add_task(description, total=total, completed=start, note="")
            yield lambda done, note="": bar.update(task, completed=done, note=note)
    else:
        yield _line_reporter(description, total, start, of)


@contextmanager
def progress_if_long(description: str, total: int, of: str = "") -> Iterator[Report]:
    """Yield a function as of `progress` that shows nothing in the first seconds.

    Plain lines also wait for something to be done: work that ends in an error without it has that
    error as its one line.
    """
    began = time.monotonic()
    report: Report | None = None
    with ExitStack() as shown:

        def patient(done: int, note: str = "") -> None:
            nonlocal report
            worth_a_line = done > 0 or sys.stderr.isatty()
            if report is None and worth_a_line and time.monotonic() - began > SECONDS_OF_PATIENCE:
                report = shown.enter_context(progress(description, total, done, of))
            if report is not None:
                report(done, note)

        yield patient


def _line_reporter(description: str, total: int, start: int, of: str) -> Report:
    first: tuple[float, int] | None = None
    last, shown = time.monotonic(), start
    print(f"{description}: {start}{of}", file=sys.stderr, flush=True)

    def report(done: int, note: str = "") -> None:
        nonlocal first, last, shown
        now = time.monotonic()
        if first is None and done > start:
            first = now, done
        if done == shown or (done < total and now - last < SECONDS_BETWEEN_LINES):
            return
        last, shown = now, done
        eta = ""
        if first and first[1] < done < total:
            eta = f", ETA {duration((now - first[0]) / (done - first[1]) * (total - done))}"
        note = f", {note}" if note else ""
        print(f"{description}: {done}{of}{eta}{note}", file=sys.stderr, flush=True)

    return report


def duration(seconds: float) -> str:
    """Write a duration for people: `45 s`, `3 min 20 s`, `7 h 05 min`, `85 days`."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02d} s"
    if whole < 48 * 3600:
        return f"{whole // 3600} h {whole % 3600 // 60:02d} min"
    return f"{whole / 86400:.1f} days"
