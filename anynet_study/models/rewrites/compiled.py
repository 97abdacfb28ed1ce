"""Kernels of this package that are compiled when it is installed, if there is a C compiler.

They are called through ctypes with addresses, and need neither Python's headers nor torch's.
"""

import ctypes
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from importlib.util import find_spec
from typing import Any

import torch
from torch import Tensor

Kernel = Callable[..., Any]

#: Of a norm: the kernels keep some numbers of each on the stack.
MOST_CHANNELS = 1 << 14

_ADDRESS, _SIZE, _NUMBER, _FLAG = ctypes.c_void_p, ctypes.c_ssize_t, ctypes.c_double, ctypes.c_bool
#: Of each kernel in norm.c, norm_back.c, grouped.c and pointwise.c, its arguments.
_ARGUMENTS: dict[str, list[Any]] = {
    "normalise": [
        *(_ADDRESS, _ADDRESS, _FLAG, _SIZE, _SIZE, _NUMBER, _NUMBER),
        *[_ADDRESS] * 8,
    ],
    "reverse": [_ADDRESS, _ADDRESS, _ADDRESS, _FLAG, _SIZE, _SIZE, *[_ADDRESS] * 6],
    "pointwise": [
        *(_ADDRESS, _ADDRESS, _ADDRESS, _FLAG, _SIZE, _SIZE, _SIZE, _NUMBER, _NUMBER),
        *[_ADDRESS] * 10,
    ],
    "pointwise_reverse": [
        *([_ADDRESS] * 5),
        *(_FLAG, _SIZE, _SIZE, _SIZE),
        *([_ADDRESS] * 8),
        *(_FLAG, _ADDRESS),
    ],
    "pointwise_room": [_SIZE, _SIZE],
    "convolve": [_ADDRESS, _ADDRESS, _ADDRESS, _FLAG, *[_SIZE] * 7, _ADDRESS],
    "correlate": [_ADDRESS, _ADDRESS, *[_SIZE] * 6, _ADDRESS],
}
_TYPES = {torch.float32: "float32", torch.float64: "float64"}


@cache
def kernel(name: str, dtype: torch.dtype) -> Kernel | None:
    """The kernel for tensors of `dtype`, or None where there is none."""
    library = _library()
    if library is None or dtype not in _TYPES:
        return None
    if name.startswith("pointwise") and not _has_wide_registers(library):
        return None
    found: ctypes._NamedFuncPointer | None = getattr(library, f"{name}_{_TYPES[dtype]}", None)
    if found is not None:
        found.argtypes = _ARGUMENTS[name]
        found.restype = _SIZE if name == "pointwise_room" else None
    return found


def _has_wide_registers(library: ctypes.CDLL) -> bool:
    """Whether this CPU has what pointwise.c is for; other compilers leave that empty."""
    has = getattr(library, "has_wide_registers", None)
    return has is not None and bool(has())


def suit(dtype: torch.dtype, *tensors: Tensor | None) -> bool:
    """Whether kernels for `dtype` can take all of these that there are."""
    return all(it is None or (it.dtype == dtype and it.is_contiguous()) for it in tensors)


def addresses(tensors: Mapping[str, Tensor | None]) -> Iterator[int]:
    """Of a module's own, in their order; looked up by name each would take as long as a kernel."""
    return (tensor.data_ptr() for tensor in tensors.values() if tensor is not None)


@cache
def _library() -> ctypes.CDLL | None:
    """None where it was not compiled, or for another kind of machine."""
    found = find_spec("anynet_study.models.rewrites._kernels")
    if found is None or found.origin is None:
        return None
    try:
        return ctypes.CDLL(found.origin)
    except OSError:
        return None
