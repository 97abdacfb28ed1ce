"""A list of pieces of work done by several processes at once, where the system can fork."""

import multiprocessing
import signal
import sys
from collections.abc import Callable, Sequence
from multiprocessing.connection import Connection
from typing import TypeVar

from anynet_study.errors import WorkFailedError

P = TypeVar("P")
R = TypeVar("R")

#: Fewer pieces than this are not worth a process.
FEWEST = 4


def side_by_side(work: Callable[[P], R], pieces: Sequence[P], processes: int) -> list[R]:
    """The results of `work` on every piece, in order; they are pickled, the pieces are not.

    The processes are forks, which have all that `work` refers to without being sent it. None
    outlives its share of the pieces, whatever becomes of this process. What `work` raises is
    raised here.

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
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # Ctrl-C is the first process's to tell of
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
