"""The network of a run: as it begins, and laid out for speed or to save memory."""

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from typing import cast

import torch
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from anynet_study.core.errors import UserError
from anynet_study.data import DatasetView
from anynet_study.engine.models import (
    AnyNet,
    GeneralisedMean,
    accelerate,
    construct,
    head_name,
    use_bfloat16,
)
from anynet_study.engine.training.checkpoint import Weights
from anynet_study.engine.training.options import Options
from anynet_study.engine.training.recipe import ResolvedRecipe
from anynet_study.engine.training.spec import RunSpec
from anynet_study.engine.training.zero_shot import name_of_head, zero_shot_head


def new_network(spec: RunSpec, view: DatasetView) -> nn.Module:
    """The network of `spec` from its seed, on the CPU, with the head that its loss asks for."""
    # Drawn on the CPU: the same initial weights on every device.
    seed = spec.seed_for("initialisation")
    network = construct(spec.architecture, len(view.classes), spec.recipe.resolution, seed)
    if spec.recipe.loss == "clip":
        name = head_name(network)
        features = cast(nn.Linear, network.get_submodule(name)).in_features
        network.set_submodule(name, zero_shot_head(spec, view, features))
    if spec.recipe.loss == "l1":
        name = head_name(network)
        features = cast(nn.Linear, network.get_submodule(name)).in_features
        network.set_submodule(name, Grades(features, len(view.classes), spec.seed_for("grades")))
    if spec.recipe.pooling == "gem":
        assert isinstance(network, AnyNet), "others are refused"
        network.pool = GeneralisedMean()
    return network


class Grades(nn.Linear):
    """A head of one number for classes that are grades 0, 1, ...; its logits are minus distances.

    The likeliest class is the grade that is nearest to the number.
    """

    grades: Tensor

    def __init__(self, features: int, classes: int, seed: int) -> None:
        """The number begins near the middle of the grades."""
        super().__init__(features, 1)
        self.register_buffer("grades", torch.arange(float(classes)), persistent=False)
        generator = torch.Generator().manual_seed(seed)
        with torch.no_grad():
            self.weight.normal_(0.0, 0.01, generator=generator)
            self.bias.fill_((classes - 1) / 2)

    def forward(self, input: Tensor) -> Tensor:
        """(N, features) to logits (N, classes)."""
        return -(super().forward(input) - self.grades).abs()


def initial_network(spec: RunSpec, view: DatasetView, weights: Weights | None = None) -> nn.Module:
    """The network of `spec`, on the CPU: from its seed, or with pretrained `weights`.

    Of pretrained weights all but the head are taken, which is new for the run's classes, unless
    the run takes that over, too. One that goes on from another's state has weights of its own until
    that is read. With `trained: head` only the head is trainable (a linear probe).
    """
    network = new_network(spec, view)
    from_other = spec.pretrained is not None and spec.inherits != "state"
    wanted = from_other or spec.weights is not None
    assert (weights is not None) == wanted, "weights exactly where they are asked for"
    if weights is not None:
        own, whole = network.state_dict(), spec.inherits == "weights"
        fresh = f"{name_of_head(network)}.", *(["pool."] if spec.recipe.pooling == "gem" else [])
        taken = {name for name in own if whole or not name.startswith(fresh)}
        _check_fits(own, weights, taken)
        network.load_state_dict(own | {name: weights[name] for name in taken})
    if spec.recipe.trained == "head":
        network.requires_grad_(False)
        network.get_submodule(name_of_head(network)).requires_grad_(True)
    return network


def _check_fits(own: Weights, weights: Weights, taken: set[str]) -> None:
    """Raises UserError where a network has not the weights that are taken over, or other shapes."""
    for name in own:
        if name not in taken:
            continue
        if name not in weights:
            raise UserError(f"the weights to start from are of another network: {name} is missing")
        shapes = [tuple(each[name].shape) for each in (weights, own)]
        if shapes[0] != shapes[1]:
            raise UserError(
                f"the weights to start from are of another network: {name} has the shape "
                f"{shapes[0]}, this network's {shapes[1]}"
            )


def training_mode(network: nn.Module, spec: RunSpec) -> None:
    """Set training mode, unless only the head is trained: then statistics stay as pretrained."""
    network.train(spec.recipe.trained == "all")


def arrange(
    network: nn.Module, recipe: ResolvedRecipe, device: torch.device, options: Options
) -> nn.Module:
    """Move `network` to `device` and prepare it, in place, for the images of `recipe`.

    `options` are those of the run, as `fitting` gives them.

    A network that is not an AnyNet is not changed: nobody knows which changes would be safe.
    """
    network.to(device)
    if not isinstance(network, AnyNet):
        return network
    if device.type == "cpu" and options.channels_last:
        network.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
    if options.bfloat16:
        use_bfloat16(network, recipe.resolution, options.backend)
    else:
        accelerate(network, recipe.resolution, options.backend)
    if options.recompute:
        recompute_stages(network)
    return network


def arrange_as_defined(network: nn.Module, recipe: ResolvedRecipe) -> None:
    """Prepare `network`, in place, for the reference engine, with torch's own layers.

    What is no AnyNet is trained in float32 alone.
    """
    if recipe.precision == "bfloat16":
        assert isinstance(network, AnyNet), "others are refused"
        use_bfloat16(network, recipe.resolution)


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
