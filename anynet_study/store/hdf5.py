"""Writing and reading HDF5: texts, numbers, tables, whole files, and checksums of all of it."""

import io
import json
import math
import os
import re
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from anynet_study.core import arrow
from anynet_study.core.errors import UnreadableError, UserError, first_line

TEXT = h5py.string_dtype("utf-8")
#: A reader of one run inflates a chunk of every column: small ones, at a few percent more to store.
CHUNK_BYTES = 1 << 15
#: Texts that take more bytes than this with padding are written with their own lengths.
MOST_PADDED = 1 << 28
#: Texts from which on they are written without a loop.
MANY = 10_000
#: Bytes of an array that are read at a time to check it.
BLOCK_BYTES = 1 << 24
#: gzip makes nothing smaller than this many times; a larger array is not all there.
MOST_COMPRESSED = 1100
#: No chunk that we write is longer, in bytes.
LONGEST_CHUNK = 1 << 30
#: Nothing in a store lies below so many groups.
DEEPEST = 5
CHECKSUMS = "checksums"
#: What reading a damaged file comes to, but for a UserError; SystemError: h5py, leaving its lock.
DAMAGE = (
    *(OSError, LookupError, RuntimeError, ValueError, TypeError, AttributeError, SystemError),
    pa.ArrowException,
)


class _Disk(io.FileIO):
    """A file that keeps its first failed write in `failure` instead of raising it.

    HDF5 cannot close a file that it fails to write to: it would report the same failure for every
    object still open, and once more when the process ends. So it is told that all went well.
    """

    failure: OSError | None = None

    def write(self, data: Any) -> int:
        rest = memoryview(data)
        try:
            while len(rest) and self.failure is None:
                rest = rest[super().write(rest) :]
        except OSError as error:
            self.failure = error
        return len(data)

    def truncate(self, size: int | None = None) -> int:
        try:
            return super().truncate(size) if self.failure is None else self.tell()
        except OSError as error:
            self.failure = error
            return self.tell()


@contextmanager
def creating(path: Path, published: Path) -> Iterator[h5py.File]:
    """Yield a new HDF5 file at `path`, without locks; at the end its checksums are added.

    Raises an OSError that names `published` if it could not be written whole.
    """
    try:
        disk = _Disk(path, "w+")
    except OSError as error:
        raise _naming(published, error) from error
    with disk:
        try:
            # Formats since HDF5 1.10 have checksums in all their structures.
            with h5py.File(disk, "w", libver=("v110", "latest")) as file:
                yield file
                if disk.failure is None:
                    write_checksums(file)
        finally:
            if disk.failure is not None:
                raise _naming(published, disk.failure) from disk.failure


def _naming(path: Path, error: OSError) -> OSError:
    return OSError(error.errno, error.strerror, str(path))


def fixed_texts(texts: str | Sequence[str]) -> Any:
    """A text, or several, as an array of fixed length in UTF-8; NUL becomes a backslash 0.

    HDF5 checks such texts when it reads them, where a damaged text of varying length may keep it
    busy for ever.
    """
    some = [texts] if isinstance(texts, str) else list(texts)
    storable = [text.replace("\0", "\\0").encode() for text in some]
    array = np.array(storable, h5py.string_dtype("utf-8", max([1, *map(len, storable)])))
    return array[0] if isinstance(texts, str) else array


def set_text(item: h5py.HLObject, name: str, value: str | Sequence[str]) -> None:
    """Write an attribute."""
    item.attrs.create(name, fixed_texts(value))


def get_text(item: h5py.HLObject, name: str, default: str | None = None) -> str:
    """Read an attribute. Raises KeyError where it is missing and there is no default."""
    if default is not None and name not in item.attrs:
        return default
    return _text(item.attrs[name])


def get_texts(item: h5py.HLObject, name: str) -> list[str]:
    """Read an attribute of several texts. Raises KeyError where it is missing."""
    return [_text(value) for value in np.atleast_1d(item.attrs[name])]


def _text(value: Any) -> str:
    return value.decode() if isinstance(value, bytes) else str(value)


def write_texts(group: h5py.Group, name: str, texts: Sequence[str] | pa.ChunkedArray) -> None:
    """Write UTF-8 texts; HDF5 cannot hold NUL, which becomes a backslash 0. A missing one is "".

    Of fixed length, which alone HDF5 compresses, and can check when they are read; unless that
    would waste memory.
    """
    column = arrow.whole(texts) if isinstance(texts, pa.ChunkedArray) else arrow.texts(texts)
    if (many := _of_one_width(column)) is not None:
        write_numbers(group, name, many)
        return
    whole = column if pa.types.is_dictionary(column.type) else column.dictionary_encode()
    known = [text.replace("\0", "\\0") for text in [*whole.dictionary.to_pylist(), ""]]
    nothing = arrow.numbers(np.array([len(known) - 1], np.int32))[0]
    codes = arrow.to_numpy(whole.indices.fill_null(nothing))
    width = max(1, *(len(text.encode()) for text in known))
    if width * len(codes) > MOST_PADDED:
        group.create_dataset(name, data=np.array(known, object)[codes], dtype=TEXT)
        return
    distinct = fixed_texts(known)
    target = create_numbers(group, name, codes.shape, distinct.dtype)
    rows = max(1, BLOCK_BYTES // width)
    for first in range(0, len(codes), rows):
        target[first : first + rows] = distinct[codes[first : first + rows]]


def _of_one_width(column: pa.Array) -> NDArray[Any] | None:
    """Texts of fixed length without a loop, where there are many and all are known, such as ids.

    Coded or not: a dictionary of ids would take many times their memory.
    """
    is_coded = pa.types.is_dictionary(column.type)
    texts = column.dictionary if is_coded else column
    if len(texts) < MANY or column.null_count or not pa.types.is_string(texts.type):
        return None
    widths = pc.min_max(pc.binary_length(texts)).as_py()
    width, end = widths["min"], texts.offset + len(texts)
    _, offsets, data = texts.buffers()
    if not width or width != widths["max"] or width * len(column) > MOST_PADDED:
        return None
    first = np.frombuffer(offsets, np.int32)[[texts.offset, end]]
    content = np.frombuffer(data, np.uint8)[first[0] : first[1]]
    if not content.all():  # HDF5 cannot hold NUL
        return None
    distinct = content.view(h5py.string_dtype("utf-8", width))
    return np.asarray(distinct[arrow.to_numpy(column.indices)] if is_coded else distinct)


def create_numbers(
    group: h5py.Group, name: str, shape: tuple[int, ...], dtype: Any
) -> h5py.Dataset:
    """An array to be filled: compressed, checksummed, in chunks of whole rows near CHUNK_BYTES."""
    options: dict[str, Any] = {}
    if 0 not in shape:
        row = int(np.prod(shape[1:])) * np.dtype(dtype).itemsize
        rows = min(shape[0], max(1, CHUNK_BYTES // row))
        options = {"chunks": (rows, *shape[1:]), "compression": "gzip", "compression_opts": 1}
        options |= {"shuffle": True, "fletcher32": True}
    return group.create_dataset(name, shape, dtype, **options)


def write_numbers(group: h5py.Group, name: str, values: NDArray[Any]) -> None:
    """Write a whole array."""
    array = create_numbers(group, name, values.shape, values.dtype)
    if values.size:
        array[...] = values


def write_table(group: h5py.Group, table: pa.Table) -> None:
    """Write an Arrow table as a group of columns: texts, numbers, true and false.

    A missing text becomes "", a missing number or truth NaN, in a column of float64 then: exact up
    to 2**53, beyond which pyarrow.ArrowInvalid is raised. Raises UserError for other types.
    """
    set_text(group, "columns", table.column_names)
    for name in table.column_names:
        column = table[name]
        if is_text(column.type):
            write_texts(group, name, column)
        else:
            write_numbers(group, name, _numbers(name, column))


def is_text(kind: pa.DataType) -> bool:
    """Tell whether a column of this type holds texts, coded or not."""
    value = kind.value_type if pa.types.is_dictionary(kind) else kind
    return bool(pa.types.is_string(value) or pa.types.is_large_string(value))


def _numbers(name: str, column: pa.ChunkedArray) -> NDArray[Any]:
    kind = column.type
    if pa.types.is_boolean(kind):
        kind = pa.uint8()
    elif pa.types.is_null(kind):
        kind = pa.float64()
    elif not (pa.types.is_integer(kind) or pa.types.is_floating(kind)):
        raise UserError(f"column {name}: {kind} cannot be stored; legal: text, numbers, booleans")
    if column.null_count and not pa.types.is_floating(kind):
        kind = pa.float64()
        column = column.cast(pa.int64())
    return arrow.to_numpy(column.cast(kind))


def read_texts(array: h5py.Dataset) -> pa.DictionaryArray:
    """Texts as a dictionary. Raises pyarrow.ArrowInvalid for what is no UTF-8."""
    if array.dtype.kind != "S":
        return arrow.texts(array.asstr()[()]).dictionary_encode()
    coded = [pa.nulls(0, pa.dictionary(pa.int32(), pa.string()))]
    for block in _blocks_of(array):
        codes = as_binary(block).dictionary_encode()
        coded.append(pa.DictionaryArray.from_arrays(codes.indices, _unpadded(codes.dictionary)))
    return pa.concat_arrays(coded)


def read_distinct(array: h5py.Dataset) -> pa.StringArray:
    """Texts that seldom repeat, of which a dictionary would take many times their memory."""
    if array.dtype.kind != "S":
        return arrow.texts(array.asstr()[()])
    blocks = [_unpadded(as_binary(block)) for block in _blocks_of(array)]
    return arrow.whole(pa.chunked_array(blocks, pa.string()))


def _unpadded(texts: pa.FixedSizeBinaryArray) -> pa.StringArray:
    return pc.ascii_rtrim(texts.cast(pa.string()), characters="\0")


def as_binary(texts: NDArray[np.bytes_]) -> pa.FixedSizeBinaryArray:
    """Texts of fixed length as Arrow, with their padding; nothing is copied."""
    kind = pa.binary(texts.dtype.itemsize)
    return pa.FixedSizeBinaryArray.from_buffers(kind, len(texts), [None, pa.py_buffer(texts)])


class LayoutError(UnreadableError):
    """Something in a store that is not as the layout says."""

    def __init__(self, where: str, what: str) -> None:
        super().__init__(f"{where} {what}")
        #: A place inside the store, such as /runs/error.
        self.where = where
        self.what = what


class Objects(Mapping[str, h5py.HLObject]):
    """Every group and array of a file by its path, as runs/error; the root's is "/".

    Making it raises LayoutError for links out of the file, groups in groups in groups, and arrays
    that claim more bytes than what is stored can give: reading them would read other files, take
    hours, or fill the memory.
    """

    def __init__(self, file: h5py.File) -> None:
        self._file = file
        # What is open takes 15 kB: columns stay open, of predictions there may be thousands.
        self._found = {path: it if path.count("/") < 2 else None for path, it in _visited(file)}

    def __getitem__(self, path: str) -> h5py.HLObject:
        item = self._found[path]
        return self._file[path] if item is None else item

    def __iter__(self) -> Iterator[str]:
        return iter(self._found)

    def __len__(self) -> int:
        return len(self._found)


def _visited(file: h5py.File) -> Iterator[tuple[str, h5py.HLObject]]:
    """Each group is entered once; HDF5's own visitors take ever longer the deeper groups lie."""
    yield "/", file["/"]
    waiting, entered = [("", file["/"])], set()
    while waiting:
        above, group = waiting.pop()
        address = h5py.h5o.get_info(group.id).addr
        if address in entered:
            continue
        entered.add(address)
        for name in group:
            path = f"{above}{name}"
            if group.id.links.get_info(name.encode()).type != h5py.h5l.TYPE_HARD:
                raise LayoutError(f"/{path}", "is a link, which may lead elsewhere")
            if path.count("/") >= DEEPEST:
                raise LayoutError(f"/{path}", "lies deeper than anything")
            item = group[name]
            if isinstance(item, h5py.Group):
                waiting.append((f"{path}/", item))
            elif isinstance(item, h5py.Dataset):
                _check_claim(f"/{path}", item)
            yield path, item


def _check_claim(where: str, array: h5py.Dataset) -> None:
    stored, size, chunks = array.id.get_storage_size(), array.nbytes, array.chunks
    chunk = math.prod(chunks or (1,)) * array.dtype.itemsize
    if chunks is None and (array.is_virtual or array.external):
        raise LayoutError(where, "has its values in other files")
    if size > MOST_COMPRESSED * stored + BLOCK_BYTES or chunk > LONGEST_CHUNK:
        raise LayoutError(where, f"claims {size} bytes, of which {stored} are there")


def checksums(there: Objects, progress: Callable[[int], None] | None = None) -> dict[str, int]:
    """CRC-32 of every array and attribute (`path@name`), but for CHECKSUMS itself.

    `progress` is told how many bytes were looked at. Raises LayoutError for what cannot be read.
    """
    found, done = {}, 0
    for path, item in sorted(there.items()):
        for name in sorted(item.attrs):
            found[f"{path}@{name}"] = zlib.crc32(_bytes(item.attrs[name]))
        if isinstance(item, h5py.Dataset) and path != CHECKSUMS:
            found[path] = checksum(item)
            done += item.nbytes
            if progress is not None:
                progress(done)
    return found


def checksum(array: h5py.Dataset) -> int:
    """CRC-32 of the values of an array. Raises LayoutError for what cannot be read."""
    crc = zlib.crc32(f"{array.dtype} {array.shape}".encode())
    try:
        for block in _blocks_of(array):
            crc = zlib.crc32(_bytes(block), crc)
    except (OSError, RuntimeError) as error:
        check_disk(Path(array.file.filename), error)
        raise LayoutError(array.name, f"cannot be read: {first_line(error)}") from error
    return crc


def write_checksums(file: h5py.File) -> None:
    """Write the checksums of a file into it, in place of those that are there."""
    file.pop(CHECKSUMS, None)
    file[CHECKSUMS] = fixed_texts(json.dumps(checksums(Objects(file))))


def written_checksums(file: h5py.File) -> dict[str, int]:
    """The checksums that were written with the file."""
    found: dict[str, int] = json.loads(file[CHECKSUMS].asstr()[()])
    return found


def check_disk(path: Path, error: BaseException) -> None:
    """Raise UnreadableError where an error is of a call of the system that failed (EIO).

    HDF5 tells of such a call only in words. The file may be whole: it need not be made again.
    """
    told = re.search(r"errno = ([1-9]\d*)", str(error))
    number = int(told[1]) if told else getattr(error, "errno", None)
    if number:
        reason = f"cannot be read ({os.strerror(number)}); the file itself may be whole"
        raise UnreadableError(f"{path}: {reason}") from error


def _bytes(value: object) -> bytes:
    array = np.asarray(value)
    if array.dtype.kind != "O":
        return array.tobytes()
    texts = [text if isinstance(text, bytes) else str(text).encode() for text in array.flat]
    return b"".join(b"%d:%s" % (len(text), text) for text in texts)


def _blocks_of(array: h5py.Dataset) -> Iterator[Any]:
    """The values of an array, as many rows at a time as BLOCK_BYTES hold."""
    if not array.shape:
        yield array[()]
        return
    row = int(np.prod(array.shape[1:])) * array.dtype.itemsize
    rows = max(1, BLOCK_BYTES // max(1, row))
    if array.chunks:
        rows = -(-rows // array.chunks[0]) * array.chunks[0]
    for first in range(0, array.shape[0], rows):
        yield array[first : first + rows]
