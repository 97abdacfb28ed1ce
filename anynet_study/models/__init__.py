"""The torch module of an Architecture, exact rewrites of it for speed, and compiled kernels.

Each name is imported when it is first used: asking for the compiled kernels imports no torch.
"""

from typing import TYPE_CHECKING

from anynet_study.lazy import on_first_use

if TYPE_CHECKING:
    from anynet_study.models.anynet import AnyNet, build
    from anynet_study.models.kernels import compiled_kernels
    from anynet_study.models.rewrites import accelerate

__all__ = ["AnyNet", "accelerate", "build", "compiled_kernels"]

__getattr__ = on_first_use(
    __name__,
    {
        "AnyNet": "anynet",
        "accelerate": "rewrites",
        "build": "anynet",
        "compiled_kernels": "kernels",
    },
)
