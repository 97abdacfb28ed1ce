"""Reading tables, JSON, arrays, pickles and MATLAB files that may be hostile.

Nothing is taken at its word: memory is bounded by what a file holds, not by what it claims.
"""

import csv
import io
import json
import math
import pickle
import struct
import zlib
from collections.abc import Iterator
from itertools import islice
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.lib import format as npy_format
from numpy.typing import NDArray

from anynet_study.data.source.member import Member
from anynet_study.data.source.source import Source
from anynet_study.errors import UserError

#: Most bytes of a table, and of a JSON file: parsed they take several times as much memory.
TABLE_BYTES, JSON_BYTES = 128 << 20, 64 << 20
#: Most rows of a table: no source has more files.
MAX_ROWS = 3_000_000
#: The first line of a table is shorter.
HEADER_BYTES = 64 << 10
NPY_BYTES = 256 << 20
#: Instructions of a pickle, and what follows each: the official CIFAR files have half a million.
MOST_READS = 5_000_000
#: Most bytes that a MATLAB file inflates to, and most matrices inside one another.
MAT_INFLATED, MAT_DEPTH = 32 << 20, 8
#: Kinds of elements of a MATLAB file.
MATRIX, COMPRESSED = 14, 15
#: Classes of matrices whose entries are elements themselves: cells, structures, objects.
OF_ELEMENTS = (1, 2, 3)
MAT_HEADER, MAT_TAG = 128, 8


def read_table(source: Source, name: str, columns: tuple[str, ...]) -> list[dict[str, str]]:
    """The rows of a comma- or tab-separated file, reduced to `columns`; UserError if damaged."""
    where = source.where(name)
    try:
        text = source.member(name).read(TABLE_BYTES).decode("utf-8-sig")
        delimiter = _delimiter(text.partition("\n")[0])
        rows = csv.DictReader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
        missing = [column for column in columns if column not in (rows.fieldnames or [])]
        if missing:
            raise UserError(f"{where}: no column {missing[0]!r}; needed: {', '.join(columns)}")
        some = islice(rows, MAX_ROWS + 1)
        table = [{column: row[column] or "" for column in columns} for row in some]
        if len(table) > MAX_ROWS:
            raise ValueError(f"more than {MAX_ROWS} rows")
    except (csv.Error, ValueError) as error:
        raise UserError(f"{where}: not a readable table ({error})") from error
    if not table:
        raise UserError(f"{where}: the table has no rows")
    return table


def columns_of(source: Source, name: str) -> list[str]:
    """The column names of a comma- or tab-separated file; none if it is not one."""
    member = source.member(name)
    try:
        start = Member(member.file, member.offset, min(HEADER_BYTES, member.length()))
        line = start.read(HEADER_BYTES).decode("utf-8-sig", errors="replace").partition("\n")[0]
        return next(csv.reader([line.rstrip("\r")], delimiter=_delimiter(line)), [])
    except (OSError, csv.Error):
        return []


def _delimiter(line: str) -> str:
    return "\t" if "\t" in line else ","


def checked_id(where: str, identifier: str) -> str:
    """Return an image id of the table `where`; UserError if it could name another folder."""
    if not identifier or identifier in (".", "..") or any(mark in identifier for mark in "/\\\0"):
        raise UserError(f"{where}: {identifier!r} is not an image id")
    return identifier


def read_json(source: Source, name: str) -> Any:
    """What the file `name`, a path from the source, holds; UserError if it is not whole JSON."""
    try:
        return json.loads(source.member(name).read(JSON_BYTES))
    except (ValueError, RecursionError) as error:
        reason = str(error).partition("\n")[0]
        raise UserError(f"{source.where(name)}: not a readable JSON file ({reason})") from error


def read_texts(source: Source, name: str) -> dict[str, str]:
    """The JSON object of texts that the file `name` holds; UserError if it is not one."""
    content = read_json(source, name)
    if not isinstance(content, dict) or not all(isinstance(v, str) for v in content.values()):
        raise UserError(f"{source.where(name)}: not an object of texts")
    return content


def read_npy(
    source: Source, name: str, kinds: tuple[str, ...], row_shape: tuple[int, ...]
) -> NDArray[np.generic]:
    """The (N, *row_shape) array of a type in `kinds` that the file `name` holds, without pickles.

    UserError if it holds another, or if the bytes are not as many as its header says: numpy's
    own reader would first allocate what the header claims.
    """
    where = source.where(name)
    try:
        content = source.member(name).read(NPY_BYTES)
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


class _Counted(io.BytesIO):
    """A pickle of a bounded number of instructions: each of one byte may make an object of 70."""

    reads = 0

    def read(self, size: int | None = -1) -> bytes:
        self.reads += 1
        if self.reads > MOST_READS:
            raise pickle.UnpicklingError(f"more than {MOST_READS} instructions")
        return super().read(size)


class _Inert:
    """Stands for `numpy.ndarray` and `numpy.dtype`: keeps its state, does nothing.

    The real NumPy functions in a pickle let a tiny file allocate gigabytes.
    """

    state: object = None

    def __init__(self, *arguments: object) -> None:
        self.arguments = arguments

    def __setstate__(self, state: object) -> None:
        self.state = state


#: All that a pickle may ask for; it gets inert stand-ins.
_ALLOWED = {
    ("numpy.core.multiarray", "_reconstruct"),
    ("numpy._core.multiarray", "_reconstruct"),
    ("numpy", "ndarray"),
    ("numpy", "dtype"),
}


def _skip_frame(unpickler: Any) -> None:
    """A frame is read at once, past the count of instructions; its contents mean the same."""
    unpickler.read(8)  # its length


class _Unpickler(pickle._Unpickler):
    """In pure Python: the compiled one grows its memo table to any index that the file names."""

    #: Without the one instruction that allocates what the file merely claims to hold.
    dispatch: ClassVar[dict[int, Any]] = {
        code: run
        for code, run in pickle._Unpickler.dispatch.items()
        if code != pickle.BYTEARRAY8[0]
    } | {pickle.FRAME[0]: _skip_frame}

    def find_class(self, module: str, name: str) -> Any:
        if (module, name) not in _ALLOWED:
            raise pickle.UnpicklingError(f"asks for {module}.{name}")
        return _Inert


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


class _Element(NamedTuple):
    """An element of a MATLAB file."""

    kind: int
    body: memoryview


def checked_mat(content: bytes) -> bytes:
    """The same MATLAB 5 file without compression; ValueError if it claims more than it holds.

    scipy's parser inflates without bound, and allocates an array of objects before it reads the
    first. Memory is then bounded by `MAT_INFLATED` and what the parser makes of it.
    """
    if content[126:128] != b"IM":
        raise ValueError("not a little-endian MATLAB 5 file")
    parts, left = [content[:MAT_HEADER]], MAT_INFLATED
    for kind, body in _elements(memoryview(content)[MAT_HEADER:], padded=False):
        if kind == COMPRESSED:
            part = zlib.decompressobj().decompress(body, left + 1)
        else:
            part = struct.pack("<II", kind, len(body)) + bytes(body)
        left -= len(part)
        if left < 0:
            raise ValueError(f"more than {MAT_INFLATED} bytes")
        for inner in _elements(memoryview(part)):
            _check_element(inner, MAT_DEPTH)
        parts.append(part)
    return b"".join(parts)


def _check_element(element: _Element, depth: int) -> None:
    if element.kind != MATRIX or not element.body:
        return
    if depth == 0:
        raise ValueError("nested too deep")
    flags, dimensions, *entries = _elements(element.body)
    sides = struct.unpack(f"<{len(dimensions.body) // 4}i", dimensions.body)
    if flags.body[0] in OF_ELEMENTS and math.prod(sides) > len(element.body) // MAT_TAG:
        raise ValueError(f"{len(element.body)} bytes cannot hold {math.prod(sides)} entries")
    for entry in entries:
        _check_element(entry, depth - 1)


def _elements(content: memoryview, padded: bool = True) -> Iterator[_Element]:
    """The elements one after the other; ValueError for one that leaves `content`."""
    position = 0
    while position < len(content):
        if len(content) - position < MAT_TAG:
            raise ValueError("truncated")
        kind, size = struct.unpack_from("<II", content, position)
        start, end = position + MAT_TAG, position + MAT_TAG + size
        if kind >> 16:  # a small element: size and data are in the tag
            kind, size = kind & 0xFFFF, kind >> 16
            start, end = position + 4, position + 4 + size
            if size > 4:
                raise ValueError("a small element that is not small")
            position += MAT_TAG
        else:
            position = end + (-size % 8 if padded else 0)
        if end > len(content):
            raise ValueError("truncated")
        yield _Element(kind, content[start:end])
