"""Reading the python form of CIFAR without running what a pickle asks for.

The real NumPy functions in a pickle let a tiny file allocate gigabytes, so the only names that
resolve are inert stand-ins that remember their arguments. The pure-Python unpickler is used
because the compiled one grows its memo table to any index that the file names.
"""

import io
import pickle
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

#: Instructions, and what follows each, of the official files: half a million at most.
MOST_READS = 5_000_000


class _Counted(io.BytesIO):
    """A pickle of a bounded number of instructions: each of a byte may make an object of 70."""

    reads = 0

    def read(self, size: int | None = -1) -> bytes:
        self.reads += 1
        if self.reads > MOST_READS:
            raise pickle.UnpicklingError(f"more than {MOST_READS} instructions")
        return super().read(size)


class _Inert:
    """Stands for `numpy.ndarray` and `numpy.dtype`: keeps its state, does nothing."""

    arguments: tuple[object, ...] = ()
    state: object = None

    def __init__(self, *arguments: object) -> None:
        self.arguments = arguments

    def __setstate__(self, state: object) -> None:
        self.state = state


def _inert(*arguments: object) -> _Inert:
    return _Inert(*arguments)


_ALLOWED = {
    ("numpy.core.multiarray", "_reconstruct"): _inert,
    ("numpy._core.multiarray", "_reconstruct"): _inert,
    ("numpy", "ndarray"): _Inert,
    ("numpy", "dtype"): _Inert,
}


def _skip_frame(unpickler: Any) -> None:
    """A frame is read at once, past the count of instructions; its contents mean the same."""
    unpickler.read(8)  # its length


class _Unpickler(pickle._Unpickler):
    #: Without the one instruction that allocates what the file merely claims to hold.
    dispatch: ClassVar[dict[int, Any]] = {
        code: run
        for code, run in pickle._Unpickler.dispatch.items()
        if code != pickle.BYTEARRAY8[0]
    } | {pickle.FRAME[0]: _skip_frame}

    def find_class(self, module: str, name: str) -> Any:
        try:
            return _ALLOWED[module, name]
        except KeyError:
            raise pickle.UnpicklingError(f"asks for {module}.{name}") from None


def load_dictionary(content: bytes) -> dict[bytes, Any]:
    """The dictionary with keys of bytes that a pickle holds; ValueError if it is anything else."""
    try:
        loaded = _Unpickler(_Counted(content), encoding="bytes").load()
    except Exception as error:  # a hostile pickle can raise nearly anything
        raise ValueError(str(error)) from error
    if not isinstance(loaded, dict):
        raise ValueError("no dictionary")
    return loaded


def byte_rows(value: object, columns: int) -> NDArray[np.uint8]:
    """The (N, columns) uint8 array that a pickle describes; ValueError if it describes another."""
    state = value.state if isinstance(value, _Inert) else None
    if isinstance(state, tuple) and len(state) == 5:
        _, shape, kind, fortran, data = state
        described = (
            isinstance(kind, _Inert) and kind.arguments[:1] in ((b"u1",), ("u1",))
        ) and not fortran
        if described and isinstance(data, bytes) and len(data) % columns == 0 and data:
            rows = np.frombuffer(data, np.uint8).reshape(-1, columns)
            if rows.shape == shape:
                return rows
    raise ValueError(f"the pixels are not a whole (N, {columns}) array of bytes")
