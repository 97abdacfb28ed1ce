"""How a network is laid out for speed: the same weights by the same names."""

import torch

from anynet_study.models import AnyNet
from anynet_study.models.rewrites import accelerate
from anynet_study.training.options import Options
from anynet_study.training.recompute import recompute_stages


def arrange(network: AnyNet, resolution: int, device: torch.device, options: Options) -> AnyNet:
    """Move `network` to `device` and prepare it, in place, for images of `resolution` pixels."""
    network.to(device)
    on_cpu = device.type == "cpu"
    if on_cpu and options.channels_last:
        network.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
    if options.rewrites:
        accelerate(network, resolution, "cpu" if on_cpu else "cuda")
    if options.recompute:
        recompute_stages(network)
    return network
