"""Optimisers of a recipe."""

from collections.abc import Iterable
from typing import Any

import torch
from torch import Tensor, nn

from anynet_study.training.recipe import Recipe


def make_optimizer(
    recipe: Recipe,
    parameters: Iterable[nn.Parameter],
    lr: Tensor | float,
    fused: bool = False,
    graph: bool = False,
) -> torch.optim.Optimizer:
    """The recipe's optimiser of the trainable parameters.

    `fused`: one kernel for the whole update, else a parameter at a time. `graph`: it will be part
    of a CUDA graph.
    """
    trained = [parameter for parameter in parameters if parameter.requires_grad]
    how: dict[str, Any] = {"fused": True} if fused else {"foreach": False}
    if recipe.optimizer == "adamw":
        return torch.optim.AdamW(
            trained,
            lr=lr,
            betas=recipe.betas,
            weight_decay=recipe.weight_decay,
            capturable=graph,
            **how,
        )
    return torch.optim.SGD(
        trained,
        lr=lr,
        momentum=recipe.momentum,
        nesterov=recipe.nesterov,
        weight_decay=recipe.weight_decay,
        **how,
    )


def fill_state(optimizer: torch.optim.Optimizer) -> None:
    """Give an optimiser the state of zeros that it would make at its first step.

    What is there before the first step can be saved, restored and part of a CUDA graph.
    """
    for group in optimizer.param_groups:
        on_device = bool(group.get("capturable") or group.get("fused"))
        for parameter in group["params"]:
            if isinstance(optimizer, torch.optim.AdamW):
                device = parameter.device if on_device else "cpu"
                optimizer.state[parameter] = {
                    "step": torch.zeros((), dtype=torch.float32, device=device),
                    "exp_avg": torch.zeros_like(parameter),
                    "exp_avg_sq": torch.zeros_like(parameter),
                }
            elif group["momentum"] > 0:
                optimizer.state[parameter] = {"momentum_buffer": torch.zeros_like(parameter)}
