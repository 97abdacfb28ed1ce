"""Procedures that run on the device alone: eagerly, or recorded once as CUDA graphs."""

from collections import deque
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from anynet_study.core.errors import first_line

#: Runs before the recording: libraries choose their kernels and take their workspaces.
WARM_UP = 3
#: Replays that the host may be ahead of the device. Enough to keep it busy; more would delay what
#: the host waits for, as a checkpoint before a preemption, and hold the batches of all of them.
LEAD = 8
Body = Callable[[], None]
#: Torch's name of the memory of a graph.
Pool = Any


class Programs:
    """The procedures of one run, each run many times, as a CUDA graph or as it is.

    A graph is recorded at the first call, on the current stream, which must not be the default
    one. The graphs of a run are never replayed at the same time, so they share their memory. All
    are kept until the run ends: torch frees the workspaces of a stream's matrix products with the
    first graph of it that goes. Procedures are given at every call instead of being kept: their
    owner keeps the programs, and in a cycle of the two the memory of a GPU would wait for Python's
    garbage collection.
    """

    def __init__(self, graph: bool) -> None:
        self._wanted = graph
        self._recorded: dict[str, Paced] = {}

    def __call__(self, name: str, body: Body, changes: Callable[[], Sequence[Tensor]]) -> None:
        """Run `body`, which is the same at every call with this `name`.

        It must not wait for the device or make anything on the host. `changes` lists all that it
        changes: what precedes a recording leaves no trace.
        """
        if not self._wanted:
            body()
            return
        if name not in self._recorded:
            warm_up(body, changes())
            pools = [it.pool() for it in self._recorded.values()]
            self._recorded[name] = cuda_graph(body, pools[0] if pools else None)
        self._recorded[name].replay()


class BrokenRecordingError(RuntimeError):
    """A recording broke off, and this torch does not recover from that in the same process.

    Before version 2.12 its memory stays with the recording, which counts as going on.
    """


def recovers(version: str = torch.__version__) -> bool:
    """Tell whether a process can go on after a recording that broke off, with torch of this
    version.
    """
    major, minor = version.split(".")[:2]
    return (int(major), int(minor)) >= (2, 12)


def cuda_graph(body: Body, pool: Pool | None = None) -> "Paced":
    """Record `body` on the current stream, with the memory of another graph if that is given.

    Raises what `body` does, or BrokenRecordingError where the process cannot go on after that.
    """
    graph = torch.cuda.CUDAGraph()
    try:
        with torch.cuda.graph(
            graph,
            pool=pool,
            stream=torch.cuda.current_stream(),
            # Threads that read batches may take pinned memory meanwhile.
            capture_error_mode="thread_local",
        ):
            body()
    except Exception as error:
        if recovers():
            raise
        raise BrokenRecordingError(f"a recording broke off: {first_line(error)}") from error
    return Paced(graph, lambda: torch.cuda.Event(blocking=True))


class Paced:
    """A CUDA graph whose replays the host tells the device only little ahead of time."""

    def __init__(
        self, recording: torch.cuda.CUDAGraph, make_event: Callable[[], torch.cuda.Event]
    ) -> None:
        self._recording, self._make_event = recording, make_event
        self._told: deque[torch.cuda.Event] = deque()

    def pool(self) -> Pool:
        """The memory of the recording."""
        return self._recording.pool()

    def replay(self) -> None:
        """Replay, after waiting for the replay that was `LEAD` replays ago."""
        if len(self._told) < LEAD:
            event = self._make_event()
        else:
            event = self._told.popleft()
            event.synchronize()
        self._recording.replay()
        event.record()
        self._told.append(event)


def warm_up(body: Body, changes: Sequence[Tensor]) -> None:
    """Run `body` a few times, each time as if it was the first, and leave no trace."""
    before = [tensor.detach().clone() for tensor in changes]
    for _ in range(WARM_UP):
        body()
        # After each: a step too far would read past the end of the epoch's tables.
        with torch.no_grad():
            for tensor, value in zip(changes, before, strict=True):
                tensor.copy_(value)
