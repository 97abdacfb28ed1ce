"""Drawing a study's figures into a folder, several at once where the system can fork."""

import multiprocessing
import os
import signal
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from multiprocessing.connection import Connection
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from anynet_study.analysis import plots
from anynet_study.analysis.analyses import FIGURES
from anynet_study.analysis.study import Study
from anynet_study.core.errors import DoesNotApplyError, WorkFailedError
from anynet_study.core.files import updating_folder, write_text
from anynet_study.core.sheets import csv_text

if TYPE_CHECKING:  # a report without figures need not wait for matplotlib
    from anynet_study.analysis.plots import Look

P = TypeVar("P")
R = TypeVar("R")

#: With fewer pieces than this, a further process does not pay.
FEWEST = 4

SUFFIXES = ("png", "pdf", "svg", "csv")


@dataclass(frozen=True)
class DrawnFigure:
    """One figure of a folder: files by their ending, or the reason why it was left out."""

    name: str
    title: str
    caption: str
    files: dict[str, Path]
    #: Inches.
    width: float = 0.0
    left_out: str = ""


def draw_figures(
    study: Study,
    folder: Path,
    names: Sequence[str] = FIGURES,
    formats: Sequence[str] = ("png", "svg"),
    dpi: int = 200,
    look: "Look | None" = None,
) -> list[DrawnFigure]:
    """Write the named figures and, as `<name>.csv`, what is drawn; say which do not apply.

    Raises:
        UserError: a name or a format is unknown.
    """
    if not names:
        return []
    figures = [study.study_figure(name) for name in names]
    tables = [study.analysis_of(figure) for figure in figures]
    needed = {each.name for each in tables if each.table} | {n for f in figures for n in f.needs}
    study.make([name for name in study.analyses if name in needed])  # before processes part
    chosen = [figure.name for figure in figures]
    look = look or plots.Look()
    looks = replace(look, names=study.networks | dict(look.names))
    outdated: list[str] = []
    with updating_folder(folder, outdated) as made:
        drawn = side_by_side(
            lambda name: _draw(study, made, name, formats, dpi, looks),
            chosen,
            len(os.sched_getaffinity(0)),
        )
        left_out = [one.name for one in drawn if one.left_out]
        outdated += [f"{name}.{suffix}" for name in left_out for suffix in SUFFIXES]
    return [
        replace(one, files={ending: folder / path.name for ending, path in one.files.items()})
        for one in drawn
    ]


def _draw(
    study: Study, folder: Path, name: str, formats: Sequence[str], dpi: int, look: "Look"
) -> DrawnFigure:
    title, caption = study.study_figure(name).title, study.caption(name)
    with look.drawing():
        try:
            figure, data = study.figure(name), study.figure_data(name)
            plots.check_drawn(figure)
            look.apply(figure)
            paths = plots.save(figure, folder / name, formats, dpi)
        except DoesNotApplyError as error:
            return DrawnFigure(name, title, caption, {}, left_out=str(error))
    write_text(folder / f"{name}.csv", csv_text(data))
    files = {path.suffix[1:]: path for path in paths}
    return DrawnFigure(name, title, caption, files, figure.get_figwidth())


def remove_figure(folder: Path, name: str) -> None:
    """Remove the files of a figure that was drawn earlier and no longer applies."""
    for suffix in SUFFIXES:
        (folder / f"{name}.{suffix}").unlink(missing_ok=True)


def side_by_side(work: Callable[[P], R], pieces: Sequence[P], processes: int) -> list[R]:
    """Run `work` on every piece in parallel, and return the results in order.

    The processes are forks: they share everything that `work` refers to, so only the results are
    pickled. None outlives its share of the pieces, whatever happens to this process. An exception
    of `work` is raised here.

    Raises:
        WorkFailedError: a process was killed.
    """
    if processes < 2 or len(pieces) < FEWEST or sys.platform != "linux":
        return [work(piece) for piece in pieces]
    context = multiprocessing.get_context("fork")
    started = []
    try:
        for number in range(1, processes):
            mine, theirs = context.Pipe(duplex=False)
            share = pieces[number::processes]
            process = context.Process(target=_do, args=(work, share, theirs), daemon=True)
            process.start()
            theirs.close()
            started.append((process, mine))
        shares = [[work(piece) for piece in pieces[::processes]]]
        shares += [_received(answer) for _, answer in started]
    finally:
        for process, answer in started:
            answer.close()
            process.terminate()
            process.join()
    return [shares[place % processes][place // processes] for place in range(len(pieces))]


def _do(work: Callable[[P], R], share: Sequence[P], answer: Connection) -> None:
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # the first process reports Ctrl-C
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    try:
        answer.send([work(piece) for piece in share])
    except Exception as error:
        answer.send(error)


def _received(answer: "Connection[None, list[R] | Exception]") -> list[R]:
    try:
        found = answer.recv()
    except EOFError:
        raise WorkFailedError("a process that drew figures was killed") from None
    if isinstance(found, Exception):
        raise found
    return found
