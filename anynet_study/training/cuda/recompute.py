"""Memory for time: activations inside a stage are computed again in the backward pass."""

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext

import torch
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from anynet_study.models import AnyNet


def recompute_stages(network: AnyNet) -> None:
    """Keep only the inputs of stages between the passes of a step, in place.

    The result is the same, bit for bit where convolutions are repeatable: batch norm sees whole
    batches, unlike with smaller ones, and its running statistics are counted once.
    """
    for place, stage in enumerate(network.stages):
        assert isinstance(stage, nn.Sequential)
        network.stages[place] = RecomputedStage(*stage)


class RecomputedStage(nn.Sequential):
    """A stage that remembers its input alone; its blocks have the names that they had."""

    def forward(self, maps: Tensor) -> Tensor:
        if not torch.is_grad_enabled():
            return super().forward(maps)  # type: ignore[no-any-return,no-untyped-call]
        result: Tensor = checkpoint(
            super().forward,
            maps,
            use_reentrant=False,
            preserve_rng_state=False,  # nothing in a network is random
            context_fn=lambda: (nullcontext(), _same_buffers(self)),
        )
        return result


@contextmanager
def _same_buffers(stage: nn.Module) -> Iterator[None]:
    """Running statistics as they were: the second forward pass must not count again."""
    buffers = list(stage.buffers())
    before = [buffer.clone() for buffer in buffers]
    try:
        yield
    finally:
        with torch.no_grad():
            for buffer, value in zip(buffers, before, strict=True):
                buffer.copy_(value)
