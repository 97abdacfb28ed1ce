"""Reading an .npy file that may be hostile: no pickles, and nothing is taken at its word."""

import io
import math

import numpy as np
from numpy.lib import format as npy_format
from numpy.typing import NDArray

from anynet_study.data.source.source import Source
from anynet_study.errors import UserError

MAX_BYTES = 256 << 20


def read_npy(
    source: Source, name: str, kinds: tuple[str, ...], row_shape: tuple[int, ...]
) -> NDArray[np.generic]:
    """The (N, *row_shape) array of a type in `kinds` that the file `name` holds.

    UserError if it holds another, or if the bytes are not as many as its header says: numpy's
    own reader would first allocate what the header claims.
    """
    where = source.where(name)
    try:
        content = source.member(name).read(MAX_BYTES)
        file = io.BytesIO(content)
        if npy_format.read_magic(file) != (1, 0):
            raise ValueError("a version of the format that is not read")
        shape, fortran, dtype = npy_format.read_array_header_1_0(file)
        rest = memoryview(content)[file.tell() :]
        if dtype.str not in kinds or shape[1:] != row_shape or len(shape) < 1 or fortran:
            raise ValueError(f"shape {shape} and type {dtype.str}")
        if len(rest) != math.prod(shape) * dtype.itemsize:
            raise ValueError(f"{len(rest)} bytes are not an array of shape {shape}")
        return np.frombuffer(rest, dtype).reshape(shape)
    except Exception as error:  # numpy's parser of headers raises nearly anything
        reason = str(error).partition("\n")[0]
        wanted = f"(N{''.join(f', {side}' for side in row_shape)}) of {' or '.join(kinds)}"
        raise UserError(f"{where}: not an .npy array {wanted} ({reason})") from error
