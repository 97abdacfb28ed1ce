"""Torch's optimiser of a recipe: the definition of the update."""

from collections.abc import Iterable

import torch
from torch import Tensor, nn

from anynet_study.training.recipe import Recipe


def make_optimizer(
    recipe: Recipe, parameters: Iterable[nn.Parameter], lr: Tensor | float, fused: bool = True
) -> torch.optim.Optimizer:
    """The optimiser of the trainable parameters; `fused`: one kernel for the whole update."""
    trained = [parameter for parameter in parameters if parameter.requires_grad]
    how = {"fused": True} if fused else {"foreach": False}
    if recipe.optimizer == "adamw":
        return torch.optim.AdamW(
            trained, lr=lr, betas=recipe.betas, weight_decay=recipe.weight_decay, **how
        )
    return torch.optim.SGD(
        trained,
        lr=lr,
        momentum=recipe.momentum,
        nesterov=recipe.nesterov,
        weight_decay=recipe.weight_decay,
        **how,
    )
