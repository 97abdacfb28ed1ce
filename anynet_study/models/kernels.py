"""The kernels of csrc/, which are compiled when the package is installed if there is a C compiler.

They are called through ctypes with addresses, and need neither Python's headers nor torch's; this
module imports no torch either.
"""

import ctypes
from collections.abc import Callable
from functools import cache
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from torch import Tensor, dtype

Kernel = Callable[..., Any]
#: What is passed as it is.
_PLAIN = {int, float, bool, type(None)}

#: Of a norm: the kernels keep some numbers of each channel on the stack.
MOST_CHANNELS = 1 << 14

_C_TYPES: dict[str, Any] = {
    "p": ctypes.c_void_p,
    "z": ctypes.c_ssize_t,
    "d": ctypes.c_double,
    "b": ctypes.c_bool,
}
#: The arguments of each kernel, a letter of `_C_TYPES` each.
_ARGUMENTS = {
    "norm_forward": "ppbzzdd" + 8 * "p",
    "norm_backward": "pppbzz" + 6 * "p",
    "pointwise_forward": "pppbzzzdd" + 10 * "p",
    "pointwise_backward": "pppppbzzz" + 8 * "p" + "bp",
    "pointwise_workspace": "zz",
    "convolve": "pppbzzzzzzzp",
    "correlate": "ppzzzzzzp",
}
#: The types that kernels are compiled for.
_TYPES = {"torch.float32": "float32", "torch.float64": "float64"}


def compiled_kernels() -> Literal["none", "without AVX-512", "all"]:
    """Which kernels this process can use: those for 1x1 convolutions need a CPU with AVX-512."""
    library = _library()
    if library is None:
        return "none"
    return "all" if _has_avx512(library) else "without AVX-512"


@cache
def kernel(name: str, dtype: "dtype") -> Kernel | None:
    """The kernel for tensors of `dtype`, or None where there is none."""
    library, suffix = _library(), _TYPES.get(str(dtype))
    if library is None or suffix is None:
        return None
    if name.startswith("pointwise") and not _has_avx512(library):
        return None
    found: ctypes._NamedFuncPointer | None = getattr(library, f"{name}_{suffix}", None)
    if found is not None:
        found.argtypes = [_C_TYPES[letter] for letter in _ARGUMENTS[name]]
        found.restype = ctypes.c_ssize_t if name == "pointwise_workspace" else None
    return found


def kernels_take(dtype: "dtype", *tensors: "Tensor | None") -> bool:
    """Whether kernels for `dtype` can take all of these tensors, None apart."""
    return all(
        tensor is None or (tensor.dtype == dtype and tensor.is_contiguous()) for tensor in tensors
    )


def call(kernel: Kernel, *arguments: Any) -> Any:
    """Call `kernel` with the addresses of tensors, and all else as it is."""
    return kernel(*[given if type(given) in _PLAIN else given.data_ptr() for given in arguments])


def _has_avx512(library: ctypes.CDLL) -> bool:
    """Whether this CPU has what pointwise.c is for; other compilers leave that file empty."""
    has = getattr(library, "has_avx512", None)
    return has is not None and bool(has())


@cache
def _library() -> ctypes.CDLL | None:
    """None where nothing was compiled, or where it was for another kind of machine."""
    found = find_spec("anynet_study.models._kernels")
    if found is None or found.origin is None:
        return None
    try:
        return ctypes.CDLL(found.origin)
    except OSError:
        return None
