"""Archives: whole as served, opened where they are needed, hostile ones refused by name."""

import gzip
import io
import shutil
import stat
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from miniatures import write_miniature
from reading import read_with_source, refused

from anynet_study.core.errors import UserError
from anynet_study.data import add_dataset
from anynet_study.data.source import source as sources
from anynet_study.data.source.archives import Budget, unpack
from anynet_study.data.source.member import Member
from anynet_study.data.source.source import MOST_NESTED


def spool(path: Path, target: Path, **limits: int) -> dict[str, bytes]:
    """The contents of all files in an archive."""
    members = unpack(Member(str(path)), str(path), target, Budget(path.stat().st_size, **limits))
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


def link(name: str) -> zipfile.ZipInfo:
    info = zipfile.ZipInfo(name)
    info.external_attr = (stat.S_IFLNK | 0o777) << 16
    return info


HOSTILE_NAMES = {
    "../out.jpg": "outside",
    "a/../../out.jpg": "outside",
    "/tmp/out.jpg": "outside",
    "..\\out.jpg": "outside|a backslash",
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
        special("l", tarfile.LNKTYPE, "gone.jpg"),
        special("l", tarfile.SYMTYPE, "l"),
        special("l", tarfile.SYMTYPE, "../ok.jpg"),
        special("l", tarfile.CHRTYPE),
        special("l", tarfile.FIFOTYPE),
        special("l", tarfile.GNUTYPE_SPARSE),
    ],
    ids=["symlink", "hardlink", "circle", "outside", "device", "fifo", "sparse"],
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


@pytest.mark.parametrize("content", [b"two", b"on", b"onex", b""])
@pytest.mark.parametrize("mode", ["w", "w:gz"])
def test_other_content_in_folders_of_either_case_is_read(tmp_path, content, mode):
    members = [(file_info("Part/1.jpg"), b"one"), (file_info("part/1.jpg"), content)]
    path = tar_of(tmp_path / "x", members, mode)
    assert spool(path, tmp_path / "out") == {"Part/1.jpg": b"one", "part/1.jpg": content}


@pytest.mark.parametrize("mode", ["w", "w:gz"])
def test_links_to_files_of_the_same_tar_are_these(tmp_path, mode):
    links = [
        (special("a/hard.jpg", tarfile.LNKTYPE, "a/1.jpg"), b""),
        (special("b/soft.jpg", tarfile.SYMTYPE, "../a/1.jpg"), b""),
        (special("first.jpg", tarfile.SYMTYPE, "b/soft.jpg"), b""),
    ]
    path = tar_of(tmp_path / "x", [*links, (file_info("a/1.jpg"), b"one")], mode)
    found = spool(path, tmp_path / "out")
    # A link to a file of its own folder is a second name of it.
    assert found == dict.fromkeys(("a/1.jpg", "b/soft.jpg", "first.jpg"), b"one")


def test_a_tar_compressed_by_zstandard(tmp_path):
    content = bytes(range(256)) * 999
    plain = tar_of(tmp_path / "x.tar", [(file_info("a/1.jpg"), content)]).read_bytes()
    path = tmp_path / "x.tar.zst"
    whole = pa.compress(plain, codec="zstd", asbytes=True)
    path.write_bytes(whole)
    assert spool(path, tmp_path / "out") == {"a/1.jpg": content}
    path.write_bytes(whole[:-9])
    with pytest.raises(UserError, match="not a whole"):
        spool(path, tmp_path / "cut")


def test_names_in_zips_as_archivers_break_the_rules(tmp_path):
    """Backslashes for slashes; UTF-8 without the flag that says so."""
    path = tmp_path / "x.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("data\\a\\0.png", b"one")
        archive.writestr("Caf\u00e9/1.png", b"two")
    raw = bytearray(path.read_bytes())
    for mark, place in ((b"PK\3\4", 6), (b"PK\1\2", 8)):
        at = raw.find(mark)
        while at >= 0:
            raw[at + place + 1] &= ~8 & 0xFF
            at = raw.find(mark, at + 1)
    path.write_bytes(raw)
    assert spool(path, tmp_path / "out") == {"data/a/0.png": b"one", "Caf\u00e9/1.png": b"two"}


def test_a_bomb_stops_at_the_ratio(tmp_path):
    path = zip_of(tmp_path / "x.zip", [("zeros.jpg", bytes(4 << 20))])
    with pytest.raises(UserError, match=r"'zeros.jpg' makes it too large"):
        spool(path, tmp_path / "out", ratio=10, free_bytes=1 << 20)
    assert (tmp_path / "out").stat().st_size <= 1 << 20


def test_too_many_members(tmp_path):
    path = plain_zip(tmp_path / "x.zip")
    with pytest.raises(UserError, match="too many members"):
        spool(path, tmp_path / "out", members=2)


def test_a_header_that_lies_about_its_size_is_not_read(tmp_path):
    """An extended header may claim gigabytes; the library would read them into memory."""
    info = special("pax", tarfile.XHDTYPE)
    info.size = (8 << 30) - 1
    path = tmp_path / "x.tar.gz"
    path.write_bytes(gzip.compress(info.tobuf() + bytes(64 << 10)))
    with pytest.raises(UserError, match="header of 8589934591 bytes"):
        spool(path, tmp_path / "out")


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


CONTENTS = {"a/0.png": b"hello" * 9, f"a/{'b/' * 40}{'x' * 90}.png": b"zero" * 9, "c/1.png": b""}


def tar_bytes(mode: str, form: int = tarfile.GNU_FORMAT) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode=mode, format=form) as archive:  # type: ignore[call-overload]
        for name, content in CONTENTS.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
    return buffer.getvalue().rstrip(b"\0") + bytes(1024) if mode == "w" else buffer.getvalue()


def zip_bytes(kind: int) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", kind) as archive:
        for name, content in CONTENTS.items():
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
    return unpack(
        Member(str(path)), str(path), target, Budget(1 << 20, members=100, total_bytes=1 << 20)
    )


@pytest.mark.slow
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


def zipped(folder: Path, name: Path) -> Path:
    return Path(shutil.make_archive(str(name), "zip", folder))


def test_parts_in_zips_beside_the_table(data_home, tmp_path):
    """HAM10000 as one of its sites serves it: a folder, or a zip, with two zips of images."""
    source = write_miniature("ham10000", tmp_path)
    shutil.rmtree(source / "ham10000_images_part_1")
    whole = add_dataset("whole", source, size=8)
    for part in ("HAM10000_images_part_1", "HAM10000_images_part_2"):
        zipped(source / part, source / part)
        shutil.rmtree(source / part)
    assert add_dataset("parts", source, size=8).content_hash == whole.content_hash
    archive = zipped(source, tmp_path / "all")
    assert add_dataset("zip", archive, size=8).content_hash == whole.content_hash
    assert not [path for path in data_home.iterdir() if path.name.startswith(".")]


def test_archives_beside_what_was_extracted_stay_closed(tmp_path):
    source = write_miniature("natural", tmp_path / "downloads")
    zipped(source, tmp_path / "downloads" / "archive")
    opened, listing = read_with_source(tmp_path / "downloads")
    assert opened.depth == 0
    assert listing.root == "natural"


def nested(depth: int, innermost: bytes, name: str) -> bytes:
    """A file inside so many zips."""
    content, inner = innermost, name
    for level in range(depth):
        buffer = io.BytesIO()
        with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr(inner, content)
        content, inner = buffer.getvalue(), f"level{level}.zip"
    return content


def test_archives_nested_without_end_are_left_closed(tmp_path):
    (tmp_path / "x.zip").write_bytes(nested(MOST_NESTED + 3, b"x", "a.jpg"))
    refused("layout not recognised", tmp_path / "x.zip")
    written = [path for path in tmp_path.rglob("unpacked*") if path.suffix != ".json"]
    assert len(written) == MOST_NESTED + 1


def test_a_bomb_inside_an_archive_stops_early(tmp_path, monkeypatch):
    """Every level inflates a thousandfold; the limit counts from what lies on the disk."""
    monkeypatch.setattr(sources, "Budget", lambda size: Budget(size, free_bytes=1 << 20))
    (tmp_path / "x.zip").write_bytes(nested(3, bytes(8 << 20), "zeros.jpg"))
    refused(r"zeros.jpg' makes it too large when unpacked", tmp_path / "x.zip")
    sizes = [path.stat().st_size for path in tmp_path.rglob("unpacked*")]
    assert sum(sizes) <= 2 << 20


def test_what_is_refused_outside_is_refused_inside(tmp_path):
    inner = tar_of(tmp_path / "set.tar", [(file_info("../../out.jpg"), b"x")])
    with tarfile.open(tmp_path / "x.tar", "w") as archive:
        archive.add(inner, "inner/set.tar")
    refused("inner/set.tar: .*its path leads outside", tmp_path / "x.tar")
    assert not list(tmp_path.rglob("out.jpg"))


def test_a_tar_of_tars_is_read_where_it_is(tmp_path):
    source = write_miniature("natural", tmp_path)
    inner = Path(shutil.make_archive(str(tmp_path / "in"), "tar", source))
    with tarfile.open(tmp_path / "x.tar", "w") as archive:
        archive.add(inner, "in.tar")
    opened, listing = read_with_source(tmp_path / "x.tar")
    first = listing.encoded(opened, listing.train[0])
    assert first.file == str(tmp_path / "x.tar")
    assert first.read(1 << 20) == (source / listing.train[0].name).read_bytes()
