"""What commands say of errors of the system, and how they count bytes."""

import errno
from pathlib import Path

import pytest

from anynet_study.core.errors import first_line, keeps_from_reading, size_of


def test_the_file_and_the_reason_are_said_and_no_number(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="Errno") as raised:
        (tmp_path / "none").open()
    assert first_line(raised.value) == f"{tmp_path}/none: No such file or directory"
    assert first_line(OSError(errno.EIO, "Input/output error")) == "Input/output error"
    assert first_line(OSError("cannot identify\nmore")) == "cannot identify"
    assert first_line(KeyError()) == "KeyError"


@pytest.mark.parametrize(
    ("error", "keeps"),
    [
        (OSError(errno.EIO, "Input/output error"), True),
        (PermissionError(errno.EACCES, "Permission denied"), True),
        (FileNotFoundError(errno.ENOENT, "No such file or directory"), False),
        (OSError(errno.EINVAL, "not a regular file"), False),
        (OSError("cannot identify image file"), False),
        (ValueError(), False),
        (None, False),
    ],
)
def test_what_keeps_a_file_from_being_read(error: BaseException | None, keeps: bool) -> None:
    assert keeps_from_reading(error) == keeps


def test_bytes_are_never_none_of_a_large_unit() -> None:
    told = {0: "0 bytes", 1: "1 byte", 999: "999 bytes", 4_600: "4.6 kB", 999_990: "1 MB"}
    told |= {45_600_000: "45.6 MB", 252e9: "252 GB", 1.5e12: "1.5 TB"}
    assert {count: size_of(count) for count in told} == told
