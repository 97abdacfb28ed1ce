"""Checked frames: Arrow IPC messages that carry their own checksum.

Arrow streams have no checksums: a flipped bit reads as another number, and one damaged message
hides all that follow. Here each message states, in its own custom metadata, the version of its
record, a CRC-32 of itself and the length of its body. So a frame is believed only if it is whole,
and the next whole one after a damaged stretch is found by looking for it. The file stays an
ordinary Arrow stream.
"""

import io
import re
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import BinaryIO

import pyarrow as pa

from anynet_study.errors import UserError

CONTINUATION = b"\xff\xff\xff\xff"
END_OF_STREAM = CONTINUATION + bytes(4)
MAX_METADATA = 1 << 14
SCAN_WINDOW = 1 << 20

_MARK = re.compile(rb"record v([0-9]{3}) crc32=([0-9a-f]{8}) body=([0-9]{12})")
# Where a frame may begin: the continuation marker and a metadata length in 1..2^24.
_BEGINNING = re.compile(rb"(?=\xff{4}(?!\x00{4})[\x00-\xff]{3}\x00)")


@dataclass(frozen=True)
class Frame:
    """One whole record on disk: its bytes in the file are [offset, end)."""

    offset: int
    end: int
    message: bytes

    def batch(self, schema: pa.Schema) -> pa.RecordBatch:
        """Decode the frame. Raises ValueError or OSError if it is not one row of `schema`."""
        batch = pa.ipc.read_record_batch(pa.py_buffer(self.message), schema)
        batch.validate(full=True)
        if batch.num_rows != 1:
            raise ValueError(f"{batch.num_rows} rows where one belongs")
        return batch


class NotAFrameError(Exception):
    """The bytes here are not a whole record; `short` if the file ends before they could be."""

    def __init__(self, short: bool) -> None:
        super().__init__()
        self.short = short


def encode(batch: pa.RecordBatch, version: int) -> bytes:
    """The Arrow IPC message of `batch`, with its checksum filled in."""
    blank = f"record v{version:03d} crc32={0:08x} body={0:012d}"
    sink = io.BytesIO()
    with pa.ipc.new_stream(sink, batch.schema) as stream:
        stream.write_batch(batch, custom_metadata={"anynet_study.check": blank})
    header = len(batch.schema.serialize())
    frame = bytearray(sink.getvalue()[header : -len(END_OF_STREAM)])
    metadata_end = 8 + int.from_bytes(frame[4:8], "little")
    mark = _MARK.search(frame, 8, metadata_end)
    assert mark is not None, "Arrow keeps custom metadata as plain bytes"
    frame[slice(*mark.span(3))] = b"%012d" % (len(frame) - metadata_end)
    crc_at = slice(*mark.span(2))
    frame[crc_at] = b"%08x" % zlib.crc32(frame)
    return bytes(frame)


def read_frame(file: BinaryIO, offset: int, size: int, version: int) -> Frame:
    """The frame at `offset` of a file of `size` bytes.

    Raises NotAFrameError if there is none, UserError if a newer version than `version` wrote it.
    """
    file.seek(offset)
    prefix = file.read(8)
    length = int.from_bytes(prefix[4:], "little")
    if not (prefix + CONTINUATION[len(prefix) :]).startswith(CONTINUATION):
        raise NotAFrameError(short=False)
    if len(prefix) == 8 and not 0 < length <= MAX_METADATA:
        raise NotAFrameError(short=False)
    metadata = file.read(length)
    if len(prefix) < 8 or len(metadata) < length:
        raise NotAFrameError(short=True)
    mark = _MARK.search(metadata)
    if mark is None:
        raise NotAFrameError(short=False)
    end = offset + 8 + length + int(mark[3])
    if end > size:
        raise NotAFrameError(short=True)
    frame = prefix + metadata + file.read(int(mark[3]))
    at = 8 + mark.start(2)
    if zlib.crc32(frame[:at] + b"%08x" % 0 + frame[at + 8 :]) != int(mark[2], 16):
        raise NotAFrameError(short=False)
    if int(mark[1]) > version:
        raise UserError(
            f"{file.name}: holds records of version {int(mark[1])}, this anynet-study reads up to "
            f"{version}: install the newer one"
        )
    return Frame(offset, end, frame)


def frames(
    file: BinaryIO, start: int, size: int, version: int, problems: list[str]
) -> Iterator[Frame]:
    """Every whole frame in bytes [start, size), in order; what was skipped goes to `problems`."""
    offset = start
    while offset < size:
        try:
            frame = read_frame(file, offset, size, version)
        except NotAFrameError as fault:
            if _is_end(file, offset):
                offset += len(END_OF_STREAM)
                continue
            following = _next_frame(file, offset + 1, size, version)
            problems.append(_describe(offset, following, size, fault.short))
            if following is None:
                return
            frame = following
        yield frame
        offset = frame.end


def _is_end(file: BinaryIO, offset: int) -> bool:
    file.seek(offset)
    return file.read(len(END_OF_STREAM)) == END_OF_STREAM


def _next_frame(file: BinaryIO, start: int, size: int, version: int) -> Frame | None:
    for window in range(start, size, SCAN_WINDOW):
        file.seek(window)
        for match in _BEGINNING.finditer(file.read(min(SCAN_WINDOW + 7, size - window))):
            try:
                return read_frame(file, window + match.start(), size, version)
            except NotAFrameError:
                continue
    return None


def _describe(offset: int, following: Frame | None, size: int, short: bool) -> str:
    if following is not None:
        return f"bytes {offset} to {following.offset - 1} are damaged and were skipped"
    if short:
        return (
            f"ends inside a record (byte {offset} of {size}): its worker was killed, or is writing"
        )
    return f"damaged from byte {offset} to its end at {size}"
