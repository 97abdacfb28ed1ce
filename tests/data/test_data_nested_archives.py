"""Archives inside folders and archives: opened where they are needed, and no way in for bombs."""

import io
import shutil
import tarfile
import zipfile
from pathlib import Path

import numpy as np
import pytest
from miniatures import binary_to_python, save, write_miniature
from miniatures_study import add
from reading import read, read_with_source

from anynet_study.data import add_dataset
from anynet_study.data.source import source as sources
from anynet_study.data.source.archives import Budget, Limits
from anynet_study.data.source.source import MOST_NESTED
from anynet_study.errors import UserError

RANDOM = np.random.default_rng(0)


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


@pytest.mark.parametrize("kind", ["zip", "tar", "gztar", "bztar", "xztar"])
def test_a_downloaded_archive_in_its_folder(tmp_path, kind):
    source = binary_to_python(write_miniature("cifar10", tmp_path / "x"), tmp_path / "python")
    folder = tmp_path / "downloads"
    folder.mkdir()
    shutil.make_archive(str(folder / "cifar"), kind, source)
    (folder / "notes.txt").write_text("hello")
    assert read(folder).layout == "CIFAR (python)"


def test_archives_beside_what_was_extracted_stay_closed(tmp_path):
    source = write_miniature("natural", tmp_path / "downloads")
    zipped(source, tmp_path / "downloads" / "archive")
    opened, listing = read_with_source(tmp_path / "downloads")
    assert opened.depth == 0
    assert listing.root == "natural"


def test_an_archive_named_like_an_extracted_folder_is_not_opened_again(tmp_path):
    save(tmp_path / "x" / "data" / "a" / "1.jpg", RANDOM, 0)
    zipped(tmp_path / "x" / "data", tmp_path / "x" / "data")
    with pytest.raises(UserError, match="layout not recognised"):
        read(tmp_path / "x")


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
    with pytest.raises(UserError, match="layout not recognised"):
        read(tmp_path / "x.zip")
    written = [path for path in tmp_path.rglob("unpacked*") if path.suffix != ".json"]
    assert len(written) == MOST_NESTED + 1


def test_a_bomb_inside_an_archive_stops_early(tmp_path, monkeypatch):
    """Every level inflates a thousandfold; the limit counts from what lies on the disk."""
    limits = Limits(free_bytes=1 << 20)
    monkeypatch.setattr(sources, "Budget", lambda archived: Budget(archived, limits))
    (tmp_path / "x.zip").write_bytes(nested(3, bytes(8 << 20), "zeros.jpg"))
    with pytest.raises(UserError, match=r"zeros.jpg' makes it too large when unpacked"):
        read(tmp_path / "x.zip")
    sizes = [path.stat().st_size for path in tmp_path.rglob("unpacked*")]
    assert sum(sizes) <= 2 << 20


def hostile(name: str, kind: bytes = tarfile.REGTYPE) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        info = tarfile.TarInfo(name)
        info.type, info.linkname = kind, "/etc/passwd"
        archive.addfile(info, io.BytesIO())
    return buffer.getvalue()


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (hostile("../../out.jpg"), "its path leads outside"),
        (hostile("/out.jpg"), "its path leads outside"),
        (hostile("out.jpg", tarfile.SYMTYPE), "a link, device or sparse file"),
        (hostile("out.jpg", tarfile.LNKTYPE), "a link, device or sparse file"),
        (b"PK\3\4 no zip", "not a whole zip or tar archive"),
        (hostile("a.jpg")[:700], "not a whole zip or tar archive"),
    ],
)
def test_what_is_refused_outside_is_refused_inside(tmp_path, content, reason):
    with tarfile.open(tmp_path / "x.tar", "w") as archive:
        add(archive, "inner/set.tar", content)
    with pytest.raises(UserError, match=f"inner/set.tar: .*{reason}"):
        read(tmp_path / "x.tar")
    assert not (tmp_path / "out.jpg").exists()
    assert sorted(path.name for path in tmp_path.iterdir() if path.name[0] != ".") == ["x.tar"]


def test_a_tar_of_tars_is_read_where_it_is(tmp_path):
    source = write_miniature("natural", tmp_path)
    inner = Path(shutil.make_archive(str(tmp_path / "in"), "tar", source))
    with tarfile.open(tmp_path / "x.tar", "w") as archive:
        archive.add(inner, "in.tar")
    opened, listing = read_with_source(tmp_path / "x.tar")
    first = listing.encoded(opened, listing.train[0])
    assert first.file == str(tmp_path / "x.tar")
    assert first.read(1 << 20) == (source / listing.train[0].name).read_bytes()


def test_an_encrypted_archive_inside_says_so(tmp_path):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("a.jpg", b"x")
    content = buffer.getvalue()
    place = content.index(b"PK\1\2") + 8
    (tmp_path / "x").mkdir()
    (tmp_path / "x/in.zip").write_bytes(content[:place] + b"\1\0" + content[place + 2 :])
    with pytest.raises(UserError, match=r"in.zip: member 'a.jpg' refused: .*encrypted"):
        read(tmp_path / "x")
