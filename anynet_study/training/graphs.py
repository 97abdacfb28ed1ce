"""A procedure that runs on the device alone: eagerly, or recorded once as a CUDA graph."""

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

#: Runs before the recording: libraries choose their kernels and take their workspaces.
WARM_UP = 3


class Program:
    """`body`, to be run many times. It must not wait for the device or make anything on the host.

    As a graph it is recorded at the first call, on the current stream, which must not be the
    default one. `changes` lists all that it changes: the warm-up leaves no trace.
    """

    def __init__(
        self,
        body: Callable[[], None],
        changes: Callable[[], Sequence[Tensor]],
        graph: bool,
        share_memory_with: "Program | None" = None,
    ) -> None:
        self._body, self._changes = body, changes
        self._wanted = graph
        self._sharer = share_memory_with
        self._graph: torch.cuda.CUDAGraph | None = None

    def __call__(self) -> None:
        if not self._wanted:
            self._body()
            return
        if self._graph is None:
            warm_up(self._body, self._changes())
            self._graph = self._record()
        self._graph.replay()

    def _record(self) -> torch.cuda.CUDAGraph:
        graph = torch.cuda.CUDAGraph()
        other = self._sharer._graph if self._sharer else None
        torch.cuda.synchronize()
        with torch.cuda.graph(
            graph,
            pool=other.pool() if other else None,
            stream=torch.cuda.current_stream(),
            # Other runs of this process may be at work on their streams meanwhile.
            capture_error_mode="thread_local",
        ):
            self._body()
        return graph


def warm_up(body: Callable[[], None], changes: Sequence[Tensor]) -> None:
    """Run `body` a few times and put everything back as it was."""
    before = [tensor.detach().clone() for tensor in changes]
    for _ in range(WARM_UP):
        body()
    with torch.no_grad():
        for tensor, value in zip(changes, before, strict=True):
            tensor.copy_(value)
