"""Appending past the page cache: the bytes are those of ordinary writes."""

import errno
import mmap
import os
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from anynet_study.data.packing import direct
from anynet_study.data.packing.direct import SECTOR, DirectAppender

#: Begins at a sector in memory.
MEMORY = mmap.mmap(-1, 16 * SECTOR)
MEMORY.write(os.urandom(16 * SECTOR))
BYTES = memoryview(MEMORY)
SIZES = st.lists(st.one_of(st.integers(0, 3 * SECTOR), st.just(SECTOR)), max_size=5)


def append(path: Path, begun: int, sizes: list[int]) -> None:
    """Append parts of `BYTES` to its first `begun`; after each they are in the file."""
    path.write_bytes(BYTES[:begun])
    file, end = DirectAppender(path, begun), begun
    for size in sizes:
        file.append(BYTES[end : end + size])
        end += size
        assert path.read_bytes()[:end] == BYTES[:end]
    file.close()
    assert path.read_bytes() == BYTES[:end]


@given(st.one_of(st.sampled_from([0, SECTOR]), st.integers(0, 10), st.integers(0, 1 << 12)), SIZES)
@settings(
    max_examples=50, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_what_is_appended_is_there_at_once(tmp_path, begun, sizes):
    append(tmp_path / "file", begun, sizes)


def test_more_at_once_than_one_write_takes(tmp_path, monkeypatch):
    monkeypatch.setattr(direct, "MEMORY", 2 * SECTOR)
    append(tmp_path / "file", 100, [5 * SECTOR, 7, SECTOR])


def test_the_page_cache_is_asked_to_be_left_alone(tmp_path, monkeypatch):
    asked, opened = [], os.open
    monkeypatch.setattr(os, "open", lambda path, flags: asked.append(flags) or opened(path, flags))
    append(tmp_path / "file", 0, [10])
    assert asked
    assert all(flags & os.O_DIRECT for flags in asked)


def test_a_file_system_that_cannot_open_so(tmp_path, monkeypatch):
    opened = os.open

    def open_ordinarily(path: str, flags: int) -> int:
        if flags & os.O_DIRECT:
            raise OSError(errno.EINVAL, os.strerror(errno.EINVAL))
        return opened(path, flags)

    monkeypatch.setattr(os, "open", open_ordinarily)
    append(tmp_path / "file", 10, [SECTOR, 9000])


def test_a_system_without_direct_writes(tmp_path, monkeypatch):
    monkeypatch.setattr(direct, "O_DIRECT", 0)
    append(tmp_path / "file", 10, [SECTOR, 9000])


@pytest.mark.parametrize("begun", [0, 10])
@pytest.mark.parametrize("taken", [SECTOR, 1000])
def test_writes_that_take_less(tmp_path, monkeypatch, taken, begun):
    """Where that ends within a sector, what follows cannot be written directly."""
    write = os.pwrite
    monkeypatch.setattr(os, "pwrite", lambda file, data, place: write(file, data[:taken], place))
    append(tmp_path / "file", begun, [9000, 9000])


def test_whole_sectors_are_written_from_where_they_are(tmp_path, monkeypatch):
    written, write = [], os.pwrite

    def noted(file: int, data: memoryview, place: int) -> int:
        written.append(np.frombuffer(data, np.uint8).ctypes.data)
        return write(file, data, place)

    monkeypatch.setattr(os, "pwrite", noted)
    append(tmp_path / "file", SECTOR, [3 * SECTOR, SECTOR + 1])
    first = np.frombuffer(BYTES, np.uint8).ctypes.data
    assert written[:2] == [first + SECTOR, first + 4 * SECTOR]


def test_a_full_disk_is_an_error(tmp_path, monkeypatch):
    def full(*_: object) -> int:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "pwrite", full)
    (tmp_path / "file").touch()
    file = DirectAppender(tmp_path / "file", 0)
    with pytest.raises(OSError, match="No space left"):
        file.append(memoryview(b"some"))
    file.close()
