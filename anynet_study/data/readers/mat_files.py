"""MATLAB 5 files that may be hostile, made safe for a parser that believes what they claim.

The parser inflates without bound, and allocates an array of objects before it reads the first.
"""

import math
import struct
import zlib
from collections.abc import Iterator
from typing import NamedTuple

MAX_INFLATED = 32 << 20
MAX_DEPTH = 8
HEADER_BYTES = 128
#: Kinds of elements.
MATRIX, COMPRESSED = 14, 15
#: Classes of matrices whose entries are elements themselves: cells, structures, objects.
OF_ELEMENTS = (1, 2, 3)
TAG_BYTES = 8


class _Element(NamedTuple):
    kind: int
    body: memoryview


def checked_mat(content: bytes) -> bytes:
    """The same file without compression; ValueError if it claims more than it holds.

    So memory is bounded by `MAX_INFLATED` and what the parser makes of it.
    """
    if content[126:128] != b"IM":
        raise ValueError("not a little-endian MATLAB 5 file")
    parts, left = [content[:HEADER_BYTES]], MAX_INFLATED
    for kind, body in _elements(memoryview(content)[HEADER_BYTES:], padded=False):
        if kind == COMPRESSED:
            part = zlib.decompressobj().decompress(body, left + 1)
        else:
            part = struct.pack("<II", kind, len(body)) + bytes(body)
        left -= len(part)
        if left < 0:
            raise ValueError(f"more than {MAX_INFLATED} bytes")
        for inner in _elements(memoryview(part)):
            _check(inner, MAX_DEPTH)
        parts.append(part)
    return b"".join(parts)


def _check(element: _Element, depth: int) -> None:
    if element.kind != MATRIX or not element.body:
        return
    if depth == 0:
        raise ValueError("nested too deep")
    flags, dimensions, *entries = _elements(element.body)
    sides = struct.unpack(f"<{len(dimensions.body) // 4}i", dimensions.body)
    if flags.body[0] in OF_ELEMENTS and math.prod(sides) > len(element.body) // TAG_BYTES:
        raise ValueError(f"{len(element.body)} bytes cannot hold {math.prod(sides)} entries")
    for entry in entries:
        _check(entry, depth - 1)


def _elements(content: memoryview, padded: bool = True) -> Iterator[_Element]:
    """The elements one after the other; ValueError for one that leaves `content`."""
    position = 0
    while position < len(content):
        if len(content) - position < TAG_BYTES:
            raise ValueError("truncated")
        kind, size = struct.unpack_from("<II", content, position)
        start, end = position + TAG_BYTES, position + TAG_BYTES + size
        if kind >> 16:  # a small element: size and data are in the tag
            kind, size = kind & 0xFFFF, kind >> 16
            start, end = position + 4, position + 4 + size
            if size > 4:
                raise ValueError("a small element that is not small")
            position += TAG_BYTES
        else:
            position = end + (-size % 8 if padded else 0)
        if end > len(content):
            raise ValueError("truncated")
        yield _Element(kind, content[start:end])
