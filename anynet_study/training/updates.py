"""The fast engine's update of the weights: one kernel for all of them.

The kernels of torch's own fused optimisers, without the classes around them: these import torch's
compiler when they are first made, which takes as long again as importing torch.
"""

from collections.abc import Iterable

import torch
from torch import Tensor, nn

from anynet_study.training.recipe import Recipe

#: Of AdamW, added to the root of the second moment: torch's default.
EPSILON = 1e-8


class Update:
    """SGD or AdamW as the recipe says, at the rate in the tensor `lr`.

    Its state is there from the beginning, as zeros, so that it can be saved at any time and be
    part of a CUDA graph.
    """

    def __init__(self, recipe: Recipe, parameters: Iterable[nn.Parameter], lr: Tensor) -> None:
        self.recipe, self.lr = recipe, lr
        self.trained: list[Tensor] = [each for each in parameters if each.requires_grad]
        adamw = recipe.optimizer == "adamw"
        averages = 2 if adamw else int(recipe.momentum > 0)
        #: For each kind of average of the gradients a tensor for each trained parameter.
        self.averages = [[torch.zeros_like(p) for p in self.trained] for _ in range(averages)]
        #: Of AdamW: steps done, a tensor for each trained parameter.
        self.counts = [torch.zeros((), device=p.device) for p in self.trained] if adamw else []

    def state(self) -> list[Tensor]:
        """All that changes beside the weights, in a fixed order."""
        return [*self.counts, *(tensor for kind in self.averages for tensor in kind)]

    def zero_grad(self) -> None:
        """Let go of the gradients: the next ones are written, not added."""
        for parameter in self.trained:
            parameter.grad = None

    @torch.no_grad()
    def step(self) -> None:
        """Update every trained parameter by its gradient."""
        gradients = [each.grad for each in self.trained if each.grad is not None]
        assert len(gradients) == len(self.trained), "every trained parameter is used"
        if self.recipe.optimizer == "adamw":
            torch._foreach_add_(self.counts, 1)
            torch._fused_adamw_(
                self.trained,
                gradients,
                self.averages[0],
                self.averages[1],
                [],
                self.counts,
                lr=self.lr,
                beta1=self.recipe.betas[0],
                beta2=self.recipe.betas[1],
                weight_decay=self.recipe.weight_decay,
                eps=EPSILON,
                amsgrad=False,
                maximize=False,
            )
            return
        torch._fused_sgd_(
            self.trained,
            gradients,
            self.averages[0] if self.averages else [],
            weight_decay=self.recipe.weight_decay,
            momentum=self.recipe.momentum,
            lr=self.lr,
            dampening=0.0,
            nesterov=self.recipe.nesterov,
            maximize=False,
            is_first_step=False,
        )
