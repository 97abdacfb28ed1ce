"""Archives with wrong bytes anywhere: one line that names the file, whatever is wrong."""

import io
import struct
import tarfile
import zipfile
from pathlib import Path

import pytest
from command import in_this_process
from hypothesis import given, settings
from hypothesis import strategies as st

from anynet_study.data.source.archives import Budget, Limits, unpack
from anynet_study.data.source.member import Member
from anynet_study.errors import UserError

LIMITS = Limits(members=100, total_bytes=1 << 20)
FILES = {"a/0.png": b"hello" * 9, f"a/{'b/' * 40}{'x' * 90}.png": b"zero" * 9, "c/1.png": b""}


def tar_bytes(mode: str, form: int = tarfile.GNU_FORMAT) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode=mode, format=form) as archive:  # type: ignore[call-overload]
        for name, content in FILES.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
    return buffer.getvalue().rstrip(b"\0") + bytes(1024) if mode == "w" else buffer.getvalue()


def zip_bytes(kind: int) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", kind) as archive:
        for name, content in FILES.items():
            archive.writestr(name, content)
    return buffer.getvalue()


ARCHIVES = {
    "pax": tar_bytes("w", tarfile.PAX_FORMAT),
    "gnu": tar_bytes("w"),
    "gz": tar_bytes("w:gz"),
    "bz2": tar_bytes("w:bz2"),
    "xz": tar_bytes("w:xz"),
    "stored": zip_bytes(zipfile.ZIP_STORED),
    "deflated": zip_bytes(zipfile.ZIP_DEFLATED),
    "zip with bz2": zip_bytes(zipfile.ZIP_BZIP2),
    "zip with lzma": zip_bytes(zipfile.ZIP_LZMA),
}


def with_checksums(content: bytearray) -> bytes:
    """A tar whose headers say what they say on purpose."""
    for start in range(0, len(content) - 511, 512):
        if content[start + 257 : start + 262] == b"ustar":
            content[start + 148 : start + 156] = b" " * 8
            total = sum(content[start : start + 512])
            content[start + 148 : start + 156] = b"%06o\0 " % total
    return bytes(content)


def unpacked(path: Path) -> dict[str, Member]:
    target = path.with_suffix(".out")
    target.unlink(missing_ok=True)
    return unpack(Member(str(path)), str(path), target, Budget(1 << 20, LIMITS))


@pytest.mark.parametrize("kind", ARCHIVES)
@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_wrong_bytes_anywhere(kind, tmp_path_factory, data):
    content = bytearray(ARCHIVES[kind])
    for _ in range(data.draw(st.integers(1, 4))):
        place = data.draw(st.integers(0, len(content) - 1))
        wrong = data.draw(
            st.sampled_from([b"\0", b"\xff", b"\x80\xff\xff\xff", b"-1", b"\xff" * 12])
        )
        content[place : place + len(wrong)] = wrong
    whole = with_checksums(content) if kind in ("pax", "gnu") else bytes(content)
    path = tmp_path_factory.getbasetemp() / "damaged"
    path.write_bytes(whole)
    told = f"{path}: read"
    try:
        unpacked(path)
    except UserError as error:
        told = str(error)
    assert told.startswith(f"{path}: ")
    assert len(told.splitlines()) == 1


def tar_with_size(kind: bytes, size: int) -> bytes:
    """A tar that ends with a header that claims `size` bytes."""
    info = tarfile.TarInfo("a/last.png")
    info.type = kind
    header = bytearray(info.tobuf(tarfile.GNU_FORMAT))
    header[124:136] = tarfile.itn(size, 12, tarfile.GNU_FORMAT)  # type: ignore[attr-defined]
    return with_checksums(bytearray(ARCHIVES["gnu"][:-1024] + header + bytes(10240)))


@pytest.mark.parametrize(
    ("kind", "size"),
    [
        (tarfile.XHDTYPE, -512),
        (tarfile.GNUTYPE_LONGNAME, -1024),
        (tarfile.REGTYPE, -512),
        (tarfile.DIRTYPE, -512),
        (tarfile.REGTYPE, 1 << 50),
        (tarfile.REGTYPE, 1 << 80),
    ],
)
def test_sizes_that_lead_backwards_or_nowhere(tmp_path, kind, size):
    path = tmp_path / "x.tar"
    path.write_bytes(tar_with_size(kind, size))
    with pytest.raises(UserError, match=r"x\.tar: not a whole zip or tar archive"):
        unpacked(path)


def test_a_list_of_members_is_not_read_because_it_is_claimed(tmp_path):
    """A zip's list of members is read whole: here 3 GB of a file with holes."""
    path, size = tmp_path / "x.zip", 3 << 30
    with path.open("wb") as file:
        file.write(b"PK\3\4")
        file.seek(size)
        file.write(struct.pack("<4s4H2LH", b"PK\5\6", 0, 0, 1, 1, size - 100, 100, 0))
    with pytest.raises(UserError, match=r"x\.zip: .*list of members of 3221225372 bytes"):
        unpacked(path)


def test_the_command_names_the_archive(tmp_path):
    content = bytearray(ARCHIVES["bz2"])
    content[len(content) // 2] ^= 255
    path = tmp_path / "x.tar.bz2"
    path.write_bytes(content)
    done = in_this_process(tmp_path, "data", "add", "x", "--size", 8, "--from", path, expect=2)
    assert f"error: {path}: not a whole zip or tar archive" in done.stderr
