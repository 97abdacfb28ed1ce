"""How a network is laid out for speed: the same weights by the same names."""

import torch

from anynet_study.models import AnyNet
from anynet_study.models.rewrites import accelerate
from anynet_study.training.layer_choice_measure import arrange_layers
from anynet_study.training.options import Options
from anynet_study.training.recipe import ResolvedRecipe
from anynet_study.training.recompute import recompute_stages


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
        arrange_layers(network, images, recipe.resolution, device)
    if options.recompute:
        recompute_stages(network)
    return network
