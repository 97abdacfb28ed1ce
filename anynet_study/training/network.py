"""The network of a run: as it begins, laid out for speed, and its final weights on disk."""

import io
from pathlib import Path
from typing import Any

import torch
from torch import nn

from anynet_study.files import replacing
from anynet_study.models import AnyNet, accelerate, build
from anynet_study.training.cuda.layer_timing import format_layers
from anynet_study.training.cuda.recompute import recompute_stages
from anynet_study.training.options import Options
from anynet_study.training.recipe import ResolvedRecipe
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


def arrange(
    network: AnyNet, recipe: ResolvedRecipe, device: torch.device, options: Options
) -> AnyNet:
    """Move `network` to `device` and prepare it, in place, for the images of `recipe`."""
    network.to(device)
    on_cpu = device.type == "cpu"
    if on_cpu and options.channels_last:
        network.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
    if options.rewrites:
        accelerate(network, recipe.resolution, "cpu" if on_cpu else "cuda")
    if options.measured and not on_cpu:
        images = recipe.batch_size // recipe.accumulation
        format_layers(network, images, recipe.resolution, device)
    if options.recompute:
        recompute_stages(network)
    return network


def save_weights(path: Path, run_id: str, network: nn.Module) -> None:
    """Write the weights atomically. Raises OSError where there is no room."""
    buffer = io.BytesIO()
    plain = {name: value.detach().cpu() for name, value in network.state_dict().items()}
    torch.save({"run_id": run_id, "weights": plain}, buffer)
    with replacing(path) as temporary:
        temporary.write_bytes(buffer.getbuffer())


def load_weights(path: Path, run_id: str) -> Weights | None:
    """The weights of a run; None where they are not there, damaged, or of another run."""
    try:
        content = torch.load(path, map_location="cpu", weights_only=True)
        weights: Weights = content["weights"]
        return weights if content["run_id"] == run_id else None
    except Exception:  # torch raises nearly anything on a damaged file
        return None
