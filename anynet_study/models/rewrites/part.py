"""A part of a network as one step of autograd, with a backward pass of its own.

A step of autograd costs as much as a small layer; and a part knows which gradients it may add into.
"""

from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

#: What the forward pass keeps; the backward pass takes it from the end.
Tape = list[Tensor]
Gradients = dict[Tensor, Tensor]


class Part(nn.Module):
    """A stem or a block on rows (n * side * side, channels)."""

    def __init__(self) -> None:
        super().__init__()
        self._places: list[dict[str, nn.Parameter | None]] = []

    def run(self, rows: Tensor, tape: Tape | None) -> Tensor:
        """Return the part's output; what `reverse` needs is appended to the tape, if any."""
        raise NotImplementedError

    def reverse(self, gradient: Tensor, tape: Tape, gradients: Gradients, wanted: bool) -> Tensor:
        """Return the gradient by the input, which may be left out unless `wanted`.

        Those by parameters go to `gradients`. The memory of `gradient` and of the tape is taken
        for others, so that autograd goes back through a part once.
        """
        raise NotImplementedError

    def forward(self, rows: Tensor) -> Tensor:
        if not torch.is_grad_enabled():
            return self.run(rows, None)
        y: Tensor = _Step.apply(rows, self, *self._weights())  # type: ignore[no-untyped-call]
        return y

    def _weights(self) -> list[nn.Parameter]:
        """The parameters; their modules are looked up once, which takes as long as a layer."""
        if not self._places:
            self._places = [module._parameters for module in self.modules()]
        places = self._places
        return [weights for place in places for weights in place.values() if weights is not None]


class _Step(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, rows: Tensor, part: Part, *parameters: Tensor) -> Tensor:
        tape: Tape = []
        y = part.run(rows, tape)
        ctx.save_for_backward(*tape)
        ctx.part, ctx.parameters = part, parameters
        return y

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        gradients: Gradients = {}
        wanted = ctx.needs_input_grad[0]
        to_rows = ctx.part.reverse(
            gradient.contiguous(), list(ctx.saved_tensors), gradients, wanted
        )
        return (
            to_rows if wanted else None,
            None,
            *(gradients[weights] for weights in ctx.parameters),
        )
