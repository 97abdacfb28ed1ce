"""Update the weights: by torch's optimisers, or in the fast engine by their kernels."""

from collections.abc import Iterable
from typing import Any

import torch
from torch import Tensor, nn

from anynet_study.engine.training.recipe import Recipe

#: Of AdamW, added to the root of the second moment: torch's default.
EPSILON = 1e-8


def make_optimizer(
    recipe: Recipe, parameters: Iterable[nn.Parameter], lr: Tensor | float
) -> torch.optim.Optimizer:
    """Torch's optimiser of the trainable parameters: the definition of the update."""
    trained = [parameter for parameter in parameters if parameter.requires_grad]
    decay = recipe.weight_decay
    if recipe.optimizer == "adamw":
        return torch.optim.AdamW(trained, lr=lr, betas=recipe.betas, weight_decay=decay, fused=True)
    momentum, nesterov = recipe.momentum, recipe.nesterov
    return torch.optim.SGD(trained, lr, momentum, 0.0, decay, nesterov, fused=True)


class Update:
    """SGD or AdamW as the recipe says, at the rate in the tensor `lr`: one kernel for all weights.

    The kernels are those of torch's fused optimisers, without the classes around them: these import
    torch's compiler when they are first made, which takes as long again as importing torch. The
    state is there from the beginning, as zeros, so that it can be saved at any time and be part of
    a CUDA graph.
    """

    def __init__(self, recipe: Recipe, parameters: Iterable[nn.Parameter], lr: Tensor) -> None:
        self.recipe, self.lr = recipe, lr
        self.trained: list[Tensor] = [weights for weights in parameters if weights.requires_grad]
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
        """Update every trained parameter by its gradient; one that was not used stays."""
        used = [place for place, weights in enumerate(self.trained) if weights.grad is not None]
        trained, counts, *averages = (
            [tensors[place] for place in used] if tensors else []
            for tensors in (self.trained, self.counts, *self.averages)
        )
        gradients = [weights.grad for weights in trained if weights.grad is not None]
        how: dict[str, Any] = {
            "lr": self.lr,
            "weight_decay": self.recipe.weight_decay,
            "maximize": False,
        }
        if self.recipe.optimizer == "adamw":
            torch._foreach_add_(counts, 1)
            first, second = averages
            beta1, beta2 = self.recipe.betas
            torch._fused_adamw_(
                trained,
                gradients,
                first,
                second,
                [],
                counts,
                beta1=beta1,
                beta2=beta2,
                eps=EPSILON,
                amsgrad=False,
                **how,
            )
            return
        torch._fused_sgd_(
            trained,
            gradients,
            averages[0] if averages else [],
            momentum=self.recipe.momentum,
            dampening=0.0,
            nesterov=self.recipe.nesterov,
            is_first_step=False,
            **how,
        )
