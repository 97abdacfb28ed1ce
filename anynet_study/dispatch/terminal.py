"""Starting processes that have nothing to do with our terminal."""

import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager

TERMINAL_SIGNALS = (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGTSTP)


@contextmanager
def apart_from_the_terminal() -> Iterator[None]:
    """What is started inside inherits neither our streams nor the signals that a terminal sends.

    A pipe or script that reads what we print ends with us, not with the last worker; and Ctrl-C
    or a closed terminal ends no worker.
    """
    ignored = {each: signal.signal(each, signal.SIG_IGN) for each in TERMINAL_SIGNALS}
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
        for each, handler in ignored.items():
            signal.signal(each, handler)
