"""The torch module of an Architecture, exact rewrites of it for speed, and compiled kernels.

Each name is imported when it is first used: asking for the compiled kernels imports no torch.
"""

from typing import TYPE_CHECKING

from anynet_study.lazy import on_first_use

if TYPE_CHECKING:
    from anynet_study.models.anynet import AnyNet as AnyNet
    from anynet_study.models.anynet import build as build
    from anynet_study.models.backend import Backend as Backend
    from anynet_study.models.backend import BackendKind as BackendKind
    from anynet_study.models.backend import libraries as libraries
    from anynet_study.models.backend import processor as processor
    from anynet_study.models.backend import resolve_backend as resolve_backend
    from anynet_study.models.kernels import compiled_kernels as compiled_kernels
    from anynet_study.models.rewrites import accelerate as accelerate

_HOMES = {
    "anynet": ("AnyNet", "build"),
    "backend": ("Backend", "BackendKind", "libraries", "processor", "resolve_backend"),
    "kernels": ("compiled_kernels",),
    "rewrites": ("accelerate",),
}
__getattr__ = on_first_use(
    __name__, {name: module for module, names in _HOMES.items() for name in names}
)
