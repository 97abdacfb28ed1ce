"""Starting processes that have less to do with our terminal than we have."""

import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager

TERMINAL_SIGNALS = (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGTSTP)


@contextmanager
def without_our_streams() -> Iterator[None]:
    """What is started inside does not inherit our streams.

    A pipe or script that reads what we print ends with us, not with the last worker; and what
    submitit's processes say when they are interrupted does not mix with our words.
    """
    sys.stdout.flush()
    sys.stderr.flush()
    streams = {number: os.dup(number) for number in (0, 1, 2)}
    nothing = os.open(os.devnull, os.O_RDWR)
    try:
        for number in streams:
            os.dup2(nothing, number)
        yield
    finally:
        for number, stream in streams.items():
            os.dup2(stream, number)
        for descriptor in (nothing, *streams.values()):
            os.close(descriptor)


@contextmanager
def deaf_to_the_terminal() -> Iterator[None]:
    """What is started inside ignores Ctrl-C and the like, and a closed terminal."""
    ignored = {each: signal.signal(each, signal.SIG_IGN) for each in TERMINAL_SIGNALS}
    try:
        yield
    finally:
        for each, handler in ignored.items():
            signal.signal(each, handler)
