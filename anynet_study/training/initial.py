"""The network with which a run starts."""

from typing import Any

import torch
from torch import nn

from anynet_study.models import AnyNet, build
from anynet_study.training.spec import RunSpec

#: Final weights by name, as `state_dict` gives them.
Weights = dict[str, Any]


def initial_network(spec: RunSpec, classes: int, weights: Weights | None = None) -> AnyNet:
    """The network of `spec`, on the CPU: from its seed, or with pretrained `weights`.

    Of pretrained weights all but the head are taken, which is new for the run's classes. With
    `trained: head` only the head is trainable (a linear probe).
    """
    # Drawn on the CPU: the same initial weights on every device.
    generator = torch.Generator().manual_seed(spec.seed_for("initialisation"))
    network = build(spec.architecture, classes, generator=generator)
    assert (weights is None) == (spec.pretrained is None), (
        "weights exactly where they are asked for"
    )
    if weights is not None:
        body = {name: value for name, value in weights.items() if not name.startswith("head.")}
        network.load_state_dict(network.state_dict() | body)
    if spec.recipe.trained == "head":
        network.requires_grad_(False)
        network.head.requires_grad_(True)
    return network


def training_mode(network: nn.Module, spec: RunSpec) -> None:
    """Batch statistics are of the batch where they are trained, else as they were pretrained."""
    network.train(spec.recipe.trained == "all")
