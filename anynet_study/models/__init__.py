"""The torch module of an Architecture, exact rewrites of it for speed, and compiled kernels.

Each name is imported when it is first used: asking for the compiled kernels imports no torch.
"""

from typing import TYPE_CHECKING

from anynet_study.lazy import on_first_use

if TYPE_CHECKING:
    from anynet_study.models.anynet import AnyNet, Basic, Bottleneck, Vanilla, build
    from anynet_study.models.backend import (
        Backend,
        BackendKind,
        libraries,
        processor,
        resolve_backend,
    )
    from anynet_study.models.kernels import compiled_kernels
    from anynet_study.models.rewrites import MiddleTap, accelerate

__all__ = [
    "AnyNet",
    "Backend",
    "BackendKind",
    "Basic",
    "Bottleneck",
    "MiddleTap",
    "Vanilla",
    "accelerate",
    "build",
    "compiled_kernels",
    "libraries",
    "processor",
    "resolve_backend",
]

_HOMES = {
    "anynet": ("AnyNet", "Basic", "Bottleneck", "Vanilla", "build"),
    "backend": ("Backend", "BackendKind", "libraries", "processor", "resolve_backend"),
    "kernels": ("compiled_kernels",),
    "rewrites": ("MiddleTap", "accelerate"),
}
__getattr__ = on_first_use(
    __name__, {name: module for module, names in _HOMES.items() for name in names}
)
