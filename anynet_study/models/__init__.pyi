from .anynet import AnyNet as AnyNet
from .anynet import build as build
from .backend import (
    Backend as Backend,
)
from .backend import (
    BackendKind as BackendKind,
)
from .backend import (
    libraries as libraries,
)
from .backend import (
    processor as processor,
)
from .backend import (
    resolve_backend as resolve_backend,
)
from .kernels import compiled_kernels as compiled_kernels
from .rewrites import accelerate as accelerate
