"""Checked frames: Arrow IPC messages that carry their own checksum.

Arrow streams have no checksums: a flipped bit reads as another number, and one damaged message
hides all that follow. Here each message states, in its own custom metadata, the version of its
record, a CRC-32 of itself, the length of its body, and a CRC-32 of the schema with which its stream
begins. So a frame is believed only if it is whole, the next whole one after a damaged stretch is
found by looking for it, and the schema is believed only if it is the one that the frames were
written by. The file stays an ordinary Arrow stream.
"""

import io
import re
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import pyarrow as pa

from anynet_study.core.errors import UserError

CONTINUATION = b"\xff\xff\xff\xff"
END_OF_STREAM = CONTINUATION + bytes(4)
MAX_METADATA = 1 << 14
#: Longest body of a record in bytes; a longer one is no record, however large the file.
MAX_BODY = 1 << 28

#: How the line begins on a journal in which nothing but its last record may be unfinished.
TORN = "ends inside a record"

_MARK = re.compile(
    rb"record v([0-9]{3}) crc32=([0-9a-f]{8}) body=([0-9]{12})(?: schema=([0-9a-f]{8}))?"
)
# Where a frame may begin: the continuation marker and a metadata length in 1..2^24.
_BEGINNING = re.compile(rb"(?=\xff{4}(?!\x00{4})[\x00-\xff]{3}\x00)")
_NO_CRC = b"%08x" % 0
_ONE_THREAD = pa.ipc.IpcReadOptions(use_threads=False)


def is_torn(problem: str) -> bool:
    """Tell whether what is wrong with a journal is that its last record is not whole, and no
    more.
    """
    return problem.startswith(TORN)


@dataclass(frozen=True, slots=True)
class Frame:
    """One whole record on disk: its bytes in the file are [offset, end)."""

    offset: int
    end: int
    message: bytes
    version: int
    #: CRC-32 of the schema that it was written by; None in journals of before November 2026.
    schema: int | None


class _NotAFrameError(Exception):
    """There is no whole record here; `short`: the file may end inside one."""

    def __init__(self, short: bool) -> None:
        super().__init__()
        self.short = short


def encode(batch: pa.RecordBatch, version: int) -> bytes:
    """The Arrow IPC message of `batch`, with its checksum filled in."""
    schema = batch.schema.serialize().to_pybytes()
    blank = f"record v{version:03d} crc32={0:08x} body={0:012d} schema={zlib.crc32(schema):08x}"
    sink = io.BytesIO()
    with pa.ipc.new_stream(sink, batch.schema) as stream:
        stream.write_batch(batch, custom_metadata={"anynet_study.check": blank})
    frame = bytearray(sink.getvalue()[len(schema) : -len(END_OF_STREAM)])
    metadata_end = 8 + int.from_bytes(frame[4:8], "little")
    if len(frame) - metadata_end > MAX_BODY:
        raise ValueError(f"a record of {len(frame)} bytes is too long; legal: {MAX_BODY}")
    mark = _MARK.search(frame, 8, metadata_end)
    assert mark is not None, "Arrow keeps custom metadata as plain bytes"
    frame[slice(*mark.span(3))] = b"%012d" % (len(frame) - metadata_end)
    frame[slice(*mark.span(2))] = b"%08x" % zlib.crc32(frame)
    return bytes(frame)


def decode(messages: Sequence[bytes], schema: pa.Schema) -> pa.RecordBatch:
    """The rows in frames of one schema.

    Raises ValueError or OSError if not each of them is one valid row without missing values.
    """
    stream = b"".join([schema.serialize().to_pybytes(), *messages, END_OF_STREAM])
    with pa.ipc.open_stream(pa.py_buffer(stream), options=_ONE_THREAD) as reader:
        table = reader.read_all().combine_chunks()
    table.validate(full=True)
    if len(table) != len(messages):
        raise ValueError(f"{len(table)} rows where {len(messages)} belong")
    (batch,) = table.to_batches()
    if any(map(_lacks_value, batch.columns)):
        raise ValueError("a value is missing")
    return batch


def _lacks_value(column: pa.Array) -> bool:
    lists = pa.types.is_list(column.type)
    return bool(column.null_count or (lists and column.flatten().null_count))


@dataclass(frozen=True)
class Journal:
    """The bytes of a journal, or the end of them."""

    name: str
    data: bytes
    #: The newest version of its records that can be read.
    version: int
    #: Where in the file the bytes begin.
    base: int = 0

    def frames(self, start: int, problems: list[str]) -> Iterator[Frame]:
        """Every whole frame from byte `start` on; what is skipped is added to `problems`.

        Raises UserError for a frame of a newer version.
        """
        offset = start
        while offset < len(self.data):
            try:
                frame = self._read(offset)
            except _NotAFrameError as fault:
                if self.data.startswith(END_OF_STREAM, offset):
                    offset += len(END_OF_STREAM)
                    continue
                following = self._next(offset + 1)
                problems.append(self._describe(offset, following, fault.short))
                if following is None:
                    return
                frame = following
            offset = frame.end - self.base
            yield frame

    def _read(self, offset: int) -> Frame:
        """The frame that begins at `offset`; raises _NotAFrameError if there is none."""
        prefix = self.data[offset : offset + 8]
        length = int.from_bytes(prefix[4:], "little")
        if not (prefix + CONTINUATION[len(prefix) :]).startswith(CONTINUATION):
            raise _NotAFrameError(short=False)
        if len(prefix) == 8 and not 0 < length <= MAX_METADATA:
            raise _NotAFrameError(short=False)
        head = self.data[offset : offset + 8 + length]
        if len(prefix) < 8 or len(head) < 8 + length:
            raise _NotAFrameError(short=True)
        mark = _MARK.search(head)
        if mark is None or int(mark[3]) > MAX_BODY:
            raise _NotAFrameError(short=False)
        end = offset + 8 + length + int(mark[3])
        if end > len(self.data):
            raise _NotAFrameError(short=True)
        frame = self.data[offset:end]
        if _crc(frame, mark.start(2)) != int(mark[2], 16):
            raise _NotAFrameError(short=False)
        version, schema = int(mark[1]), mark[4]
        if version > self.version:
            raise UserError(
                f"{self.name}: holds records of version {version}, and this anynet-study reads "
                f"versions up to {self.version}: install the newer one that wrote it"
            )
        written_by = None if schema is None else int(schema, 16)
        return Frame(self.base + offset, self.base + end, frame, version, written_by)

    def _next(self, start: int) -> Frame | None:
        for match in _BEGINNING.finditer(self.data, start):
            try:
                return self._read(match.start())
            except _NotAFrameError:
                continue
        return None

    def _describe(self, offset: int, following: Frame | None, short: bool) -> str:
        begin, size = self.base + offset, self.base + len(self.data)
        if following is not None:
            return f"bytes {begin} to {following.offset - 1} are damaged and were skipped"
        if short:
            killed = "its worker was killed, or is writing"
            return f"{TORN} (byte {begin} of {size}): {killed}"
        return f"damaged from byte {begin} to its end at {size}"


def _crc(frame: bytes, at: int) -> int:
    """CRC-32 of the frame as it was before its CRC was filled in at `at`."""
    view = memoryview(frame)
    return zlib.crc32(view[at + 8 :], zlib.crc32(_NO_CRC, zlib.crc32(view[:at])))
