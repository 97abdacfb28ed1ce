"""A packing that is killed or runs out of disk goes on where it was and ends in the same bytes."""

import errno
import hashlib
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from miniatures import save, write_miniature

from anynet_study.data import add_dataset, present
from anynet_study.data.packing import decoding, jpeg_writer, marks, packing
from anynet_study.data.packing.npy import NpyAppender

SIZE = 32
SCRIPT = """
import sys
from pathlib import Path
from anynet_study.data import add_dataset
from anynet_study.data.packing import decoding, jpeg_writer, marks
marks.SECONDS, decoding.BLOCK_IMAGES = 0.0, 16
jpeg_writer.SHARD_BYTES, jpeg_writer.BATCH_BYTES = 40_000, 10_000
if __name__ == "__main__":
    source, store, workers = sys.argv[1:]
    add_dataset(
        "mine", Path(source), size=32, workers=int(workers), store=store, max_broken=0.1
    )
"""


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """1,200 images in two splits, some of them broken."""
    folder = tmp_path_factory.mktemp("source")
    generator = np.random.default_rng(0)
    for number in range(1200):
        split = "train" if number % 4 else "test"
        path = folder / "mine" / split / f"class{number % 3}" / f"{number:04d}.jpg"
        save(path, generator, number % 3, 40, 48)
        if number % 97 == 0:
            path.write_bytes(path.read_bytes()[:300])
    return folder / "mine"


@pytest.fixture(autouse=True)
def small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(marks, "SECONDS", 0.0)
    monkeypatch.setattr(decoding, "BLOCK_IMAGES", 16)
    monkeypatch.setattr(jpeg_writer, "SHARD_BYTES", 40_000)
    monkeypatch.setattr(jpeg_writer, "BATCH_BYTES", 10_000)


def files_of(folder: Path) -> dict[str, str]:
    """Every file in a folder and what is in it."""
    return {
        path.relative_to(folder).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


@pytest.fixture
def decoded(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many images each block had that was decoded in this process."""
    counts: list[int] = []
    original = decoding.decode_block

    def decode_block(images: list[object], *rest: object) -> object:
        counts.append(len(images))
        return original(images, *rest)

    monkeypatch.setattr("anynet_study.data.packing.pool.decode_block", decode_block)
    return counts


@pytest.mark.parametrize(("store", "workers"), [("raw", 1), ("raw", 2), ("jpeg", 2)])
def test_kills_at_random_moments(data_home, tmp_path, source, decoded, store, workers):
    whole = add_dataset("mine", source, size=SIZE, workers=1, store=store, max_broken=0.1)
    expected = files_of(whole.folder)
    assert sum(decoded) == 1200
    decoded.clear()
    whole.folder.rename(tmp_path / "whole")
    script = tmp_path / "add.py"
    script.write_text(SCRIPT)
    command = [sys.executable, script, source, store, str(workers)]
    moments = random.Random(store + str(workers))
    for _ in range(2):
        process = subprocess.Popen(command, stderr=subprocess.DEVNULL)
        done = list(data_home.glob(".mine~*/packed/packing.json"))
        before = done[0].read_bytes() if done else b""
        while process.poll() is None:
            now = list(data_home.glob(".mine~*/packed/packing.json"))
            if now and now[0].read_bytes() != before:
                break
            time.sleep(0.005)
        time.sleep(moments.uniform(0, 0.1))
        process.send_signal(signal.SIGKILL)
        process.wait()
    if "mine" not in present():
        add_dataset("mine", source, size=SIZE, workers=1, store=store, max_broken=0.1)
        assert sum(decoded) < 1200
    assert files_of(data_home / "mine") == expected
    assert [path.name for path in data_home.iterdir()] == ["mine"]
    if store == "raw":
        assert {path.name for path in (data_home / "mine").iterdir()} == {
            "meta.json",
            "split.csv",
            *(f"{s}_{k}.npy" for s in ("train", "test") for k in ("images", "labels", "moments")),
        }


@pytest.fixture
def interrupted(data_home, source, monkeypatch) -> Path:
    """The folder of a packing that the disk was full for after 800 images."""
    append, offer = NpyAppender.append, marks.MarkKeeper.offer
    rows = 0

    def full(self: NpyAppender, part: np.ndarray) -> None:
        nonlocal rows
        rows += len(part) if part.shape[1:] == (SIZE, SIZE, 3) else 0
        if rows > 800:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        append(self, part)

    def kept(self: marks.MarkKeeper, *arguments: Any) -> None:
        offer(self, *arguments)
        self._pending.result()  # however slow the disk is: a thread writes it

    with monkeypatch.context() as patch:
        patch.setattr(NpyAppender, "append", full)
        patch.setattr(marks.MarkKeeper, "offer", kept)
        with pytest.raises(OSError, match=r"No space left .*make room and run the same") as caught:
            add_dataset("mine", source, size=SIZE, workers=1, max_broken=0.1)
    assert caught.value.filename == str(data_home)
    (left,) = data_home.iterdir()
    return left / "packed"


def test_a_full_disk(data_home, source, interrupted, decoded):
    add_dataset("mine", source, size=SIZE, workers=1, max_broken=0.1)
    assert sum(decoded) <= 800
    again = add_dataset("again", source, size=SIZE, workers=1, max_broken=0.1)
    mine = files_of(data_home / "mine")
    assert {k: v for k, v in files_of(again.folder).items() if k != "meta.json"} == {
        k: v for k, v in mine.items() if k != "meta.json"
    }


@pytest.mark.parametrize("change", ["file", "option", "pixels", "mark", "labels"])
def test_what_has_changed_begins_anew(data_home, source, interrupted, decoded, change):
    """Also where the files left are not what the mark says."""
    options = {"size": SIZE, "workers": 1, "max_broken": 0.1}
    if change == "file":
        os.utime(source / "train/class1/0001.jpg")
    elif change == "option":
        options["resize"] = 40
    elif change == "pixels":
        with (interrupted / "train_images.npy").open("r+b") as file:
            file.seek(5000)
            file.write(b"x")
    elif change == "labels":
        os.truncate(interrupted / "train_labels.npy", 200)
    else:
        (interrupted / "packing.json").write_text("{")
    again = add_dataset("mine", source, **options)
    assert sum(decoded) == 1200
    again.verify()
    assert again.content_hash == add_dataset("other", source, **options).content_hash


def test_an_archive_is_unpacked_once(data_home, tmp_path, source, monkeypatch):
    archive = Path(shutil.make_archive(str(tmp_path / "mine"), "zip", source.parent, "mine"))
    with monkeypatch.context() as patch:
        patch.setattr(packing, "decoder", interrupting)
        with pytest.raises(KeyboardInterrupt):
            add_dataset("mine", archive, size=SIZE, max_broken=0.1)
    assert len(list(data_home.glob(".mine~*/unpacked"))) == 1
    monkeypatch.setattr("anynet_study.data.source.archives.unpack", interrupting)
    add_dataset("mine", archive, size=SIZE, workers=1, max_broken=0.1)
    assert [path.name for path in data_home.iterdir()] == ["mine"]


def interrupting(*arguments: object) -> object:
    raise KeyboardInterrupt


def leave(home: Path, name: str, age: float, marked: bool = True) -> Path:
    folder = home / name
    (folder / "packed").mkdir(parents=True)
    if marked:
        (folder / "packed" / "packing.json").write_text("{}")
    for path in (*folder.rglob("*"), folder):
        os.utime(path, (time.time() - age,) * 2)
    return folder


def test_litter_is_removed_when_nobody_owns_it(data_home, tmp_path):
    """Of the same name at once, of others when it is old, never of a process that lives."""
    host = os.uname().nodename
    day = 24 * 3600.0
    start = Path("/proc/self/stat").read_text().rpartition(")")[2].split()[19]
    gone = [
        leave(data_home, f".mine~{host}~999999999-5~aa", 60.0),
        leave(data_home, f".mine~{host}~{os.getpid()}-1~bb", 60.0),
        leave(data_home, ".mine~elsewhere~1-1~cc", 2 * day),
        leave(data_home, f".other~{host}~999999999-5~dd", 8 * day),
    ]
    kept = [
        leave(data_home, f".mine~{host}~{os.getpid()}-{start}~ee", 60.0),
        leave(data_home, ".mine~elsewhere~1-1~ff", 3600.0),
        leave(data_home, f".other~{host}~999999999-5~gg", 6 * day),
    ]
    add_dataset("mine", write_miniature("concrete", tmp_path), size=8)
    assert not any(path.exists() for path in gone)
    assert all(path.exists() for path in kept)
