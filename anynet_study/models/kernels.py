"""The kernels of csrc/: compiled when the package is installed, where there is GCC on x86-64.

They are called through ctypes with addresses, and need neither Python's headers nor torch's; this
module imports no torch either. `operators` wraps them for torch.
"""

import ctypes
from functools import cache
from importlib.util import find_spec
from typing import Any, Literal

#: What vectors a kernel is compiled for. Results are the same bits.
Instructions = Literal["avx2", "avx512"]

_C_TYPES: dict[str, Any] = {
    "p": ctypes.c_void_p,
    "z": ctypes.c_ssize_t,
    "d": ctypes.c_double,
    "b": ctypes.c_bool,
}
#: The arguments of each kernel, a letter of `_C_TYPES` each.
_ARGUMENTS = {
    "pointwise_forward": "pppbzzzdd" + 10 * "p",
    "pointwise_backward": "pppppbzzz" + 8 * "p" + "bp",
    "pointwise_workspace": "zz",
}


def compiled_kernels() -> Instructions | None:
    """The best kernels that are installed and that this CPU can run; None where there are none."""
    widest = getattr(_library(), "widest_vectors", None)
    found: dict[int, Instructions] = {512: "avx512", 256: "avx2"}
    return found.get(widest()) if widest is not None else None


@cache
def function(name: str, dtype: str, instructions: str) -> Any:
    """A kernel for numbers of `dtype` (float32 or float64)."""
    found = getattr(_library(), f"{name}_{dtype}_{instructions}")
    found.argtypes = [_C_TYPES[letter] for letter in _ARGUMENTS[name]]
    found.restype = ctypes.c_ssize_t if name == "pointwise_workspace" else None
    return found


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
