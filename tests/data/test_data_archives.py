"""Unpacking: archives as they are served come out whole, hostile ones are refused by name."""

import gzip
import io
import stat
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from anynet_study.data.source.archives import DEFAULTS, Budget, Limits, unpack
from anynet_study.data.source.member import Member
from anynet_study.errors import UserError


def spool(path: Path, target: Path, limits: Limits = DEFAULTS) -> dict[str, bytes]:
    """The contents of all files in an archive."""
    members = unpack(Member(str(path)), str(path), target, Budget(path.stat().st_size, limits))
    return {name: member.read(1 << 20) for name, member in members.items()}


FILES = {"set/a/1.jpg": b"one", "set/a/2.jpg": b"two" * 1000, "set/b/1.jpg": b""}


def tar_of(path: Path, members: list[tuple[tarfile.TarInfo, bytes]], mode: str = "w") -> Path:
    with tarfile.open(path, mode) as archive:
        for info, content in members:
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
    return path


def file_info(name: str) -> tarfile.TarInfo:
    return tarfile.TarInfo(name)


def special(name: str, kind: bytes, target: str = "") -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.type, info.linkname = kind, target
    return info


def zip_of(path: Path, members: list[tuple[zipfile.ZipInfo | str, bytes]]) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members:
            archive.writestr(name, content)
    return path


def plain_zip(path: Path) -> Path:
    return zip_of(path, list(FILES.items()))


def plain_tar(mode: str) -> Callable[[Path], Path]:
    return lambda path: tar_of(path, [(file_info(n), c) for n, c in FILES.items()], mode)


@pytest.mark.parametrize(
    "make", [plain_zip, *(plain_tar(f"w{kind}") for kind in ("", ":gz", ":bz2", ":xz"))]
)
def test_everything_comes_out_whatever_the_compression(tmp_path, make):
    assert spool(make(tmp_path / "archive"), tmp_path / "out") == FILES


def test_a_plain_tar_is_read_where_it_is(tmp_path):
    assert spool(plain_tar("w")(tmp_path / "x.tar"), tmp_path / "out") == FILES
    assert not (tmp_path / "out").exists()


def link(name: str) -> zipfile.ZipInfo:
    info = zipfile.ZipInfo(name)
    info.external_attr = (stat.S_IFLNK | 0o777) << 16
    return info


HOSTILE_NAMES = {
    "../out.jpg": "outside",
    "a/../../out.jpg": "outside",
    "/tmp/out.jpg": "outside",
    "..\\out.jpg": "outside",
    "C:out.jpg": "outside",
    "a/b\x07.jpg": "control",
}


@pytest.mark.parametrize("name", HOSTILE_NAMES)
@pytest.mark.parametrize("kind", ["zip", "tar"])
def test_names_that_lead_elsewhere_are_refused(tmp_path, name, kind):
    path = tmp_path / "archive"
    if kind == "zip":
        zip_of(path, [("ok.jpg", b"x"), (name, b"x")])
    else:
        tar_of(path, [(file_info("ok.jpg"), b"x"), (file_info(name), b"x")])
    with pytest.raises(UserError, match=HOSTILE_NAMES[name]):
        spool(path, tmp_path / "out")


@pytest.mark.parametrize(
    "info",
    [
        special("l", tarfile.SYMTYPE, "/etc/passwd"),
        special("l", tarfile.LNKTYPE, "ok.jpg"),
        special("l", tarfile.CHRTYPE),
        special("l", tarfile.FIFOTYPE),
        special("l", tarfile.GNUTYPE_SPARSE),
    ],
    ids=["symlink", "hardlink", "device", "fifo", "sparse"],
)
def test_tars_hold_regular_files_only(tmp_path, info):
    path = tar_of(tmp_path / "x.tar", [(file_info("ok.jpg"), b"x"), (info, b"")])
    with pytest.raises(UserError, match=r"member 'l' refused|not a whole"):
        spool(path, tmp_path / "out")


def test_zips_hold_regular_files_only(tmp_path):
    path = zip_of(tmp_path / "x.zip", [(link("l"), b"/etc/passwd")])
    with pytest.raises(UserError, match="member 'l' refused"):
        spool(path, tmp_path / "out")


@pytest.mark.parametrize(
    ("names", "reason"),
    [
        (["a/1.jpg", "a/1.jpg"], "occurs before"),
        (["a/1.jpg", "a/./1.jpg"], "occurs before"),
        (["a/1.jpg", "A/2.jpg"], "but for case"),
        (["a/x.jpg", "a/X.JPG"], "but for case"),
        (["caf\u00e9.jpg", "cafe\u0301.jpg"], "but for case"),
        (["a", "a/1.jpg"], "occurs before"),
        (["a/1.jpg", "a"], "occurs before"),
    ],
)
def test_names_that_collide_are_refused(tmp_path, names, reason):
    members = [(name, b"x%d" % number) for number, name in enumerate(names)]
    for path in (
        tar_of(tmp_path / "x.tar", [(file_info(name), content) for name, content in members]),
        tar_of(tmp_path / "x.gz", [(file_info(name), c) for name, c in members], "w:gz"),
    ):
        with pytest.raises(UserError, match=reason):
            spool(path, tmp_path / f"out-{path.name}")


@pytest.mark.parametrize("kind", ["zip", "w", "w:gz"])
def test_the_same_file_in_folders_of_either_case_is_read_once(tmp_path, kind):
    files = [
        (name, content)
        for folder in ("Part", "part")
        for name, content in (
            (f"{folder}/", b""),
            (f"{folder}/1.jpg", b"one" * 99),
            (f"{folder}/2.jpg", b"two"),
        )
    ]
    path = tmp_path / "x"
    if kind == "zip":
        zip_of(path, files)
    else:
        tar_of(path, [(file_info(name), content) for name, content in files if content], kind)
    assert spool(path, tmp_path / "out") == {"Part/1.jpg": b"one" * 99, "Part/2.jpg": b"two"}


@pytest.mark.parametrize("content", [b"one", b"on", b"onex", b""])
@pytest.mark.parametrize("mode", ["w", "w:gz"])
def test_other_content_in_folders_of_either_case_is_refused(tmp_path, content, mode):
    members = [(file_info("Part/1.jpg"), b"one"), (file_info("part/1.jpg"), content)]
    path = tar_of(tmp_path / "x", members, mode)
    if content == b"one":
        assert spool(path, tmp_path / "out") == {"Part/1.jpg": b"one"}
        return
    with pytest.raises(UserError, match=r"collides with 'Part/1.jpg' but for case"):
        spool(path, tmp_path / "out")


def test_a_bomb_stops_at_the_ratio(tmp_path):
    path = zip_of(tmp_path / "x.zip", [("zeros.jpg", bytes(4 << 20))])
    limits = Limits(ratio=10, free_bytes=1 << 20)
    with pytest.raises(UserError, match=r"'zeros.jpg' makes it too large"):
        spool(path, tmp_path / "out", limits)
    assert (tmp_path / "out").stat().st_size <= 1 << 20


def test_too_many_members(tmp_path):
    path = plain_zip(tmp_path / "x.zip")
    with pytest.raises(UserError, match="more than 2 members"):
        spool(path, tmp_path / "out", Limits(members=2))


def test_a_header_that_lies_about_its_size_is_not_read(tmp_path):
    """An extended header may claim gigabytes; the library would read them into memory."""
    info = special("pax", tarfile.XHDTYPE)
    info.size = (8 << 30) - 1
    path = tmp_path / "x.tar.gz"
    path.write_bytes(gzip.compress(info.tobuf() + bytes(64 << 10)))
    with pytest.raises(UserError, match="header of 8589934591 bytes"):
        spool(path, tmp_path / "out")


def test_long_names_are_fine(tmp_path):
    name = "/".join(["folder" * 10] * 4) + "/1.jpg"
    archive = tar_of(tmp_path / "x.tar", [(file_info(name), b"x")])
    assert spool(archive, tmp_path / "out") == {name: b"x"}


@pytest.mark.parametrize("kind", ["zip", "tar", "tar.gz"])
def test_a_truncated_archive_is_not_taken_for_a_small_one(tmp_path, kind):
    make = {"zip": plain_zip, "tar": plain_tar("w"), "tar.gz": plain_tar("w:gz")}[kind]
    whole = make(tmp_path / "whole").read_bytes()
    # What follows the first empty block of a tar is padding.
    end = 5632 if kind == "tar" else len(whole)
    for length in range(0, end, max(1, end // 40)):
        path = tmp_path / f"part{length}"
        path.write_bytes(whole[:length])
        with pytest.raises(UserError, match="not a whole zip or tar archive"):
            spool(path, tmp_path / f"out{length}")


def test_a_flipped_byte_in_a_tar_header_is_not_the_end(tmp_path):
    path = plain_tar("w")(tmp_path / "x.tar")
    content = bytearray(path.read_bytes())
    content[1024 + 5] ^= 1  # in the header of the second file
    path.write_bytes(content)
    with pytest.raises(UserError, match="bad checksum at byte 1024"):
        spool(path, tmp_path / "out")


@pytest.mark.parametrize(
    ("content", "reason"), [(b"Rar!\x1a\x07\x01\0", "RAR"), (b"hello" * 200, "not a whole")]
)
def test_what_is_no_archive_is_said_to_be_none(tmp_path, content, reason):
    (tmp_path / "x").write_bytes(content)
    with pytest.raises(UserError, match=reason):
        spool(tmp_path / "x", tmp_path / "out")


def test_an_encrypted_zip_is_refused(tmp_path):
    path = plain_zip(tmp_path / "x.zip")
    content = path.read_bytes().replace(
        b"PK\x01\x02\x14\x03\x14\0\0\0", b"PK\x01\x02\x14\x03\x14\0\1\0"
    )
    path.write_bytes(content)
    with pytest.raises(UserError, match="encrypted"):
        spool(path, tmp_path / "out")
