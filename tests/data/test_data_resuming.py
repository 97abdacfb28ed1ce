"""A packing that is killed or whose disk is full goes on after its last whole shard."""

import errno
import hashlib
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import psutil
import pytest
from miniatures import save, write_miniature

from anynet_study.data import add_dataset, present, workspace
from anynet_study.data.packing import decoding, packing, writers

SIZE = 32
SMALL = {"SHARD_BYTES": 40_000, "BATCH_BYTES": 10_000}
SCRIPT = """
import sys
from pathlib import Path
from anynet_study.data import add_dataset
from anynet_study.data.packing import decoding, writers
decoding.CHUNK_IMAGES = 8
writers.SHARD_BYTES, writers.BATCH_BYTES = 40_000, 10_000
if __name__ == "__main__":
    source, store, workers = sys.argv[1:]
    add_dataset(
        "mine", Path(source), size=32, workers=int(workers), store=store, max_broken=0.1
    )
"""


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """600 images in two splits, some of them broken."""
    folder = tmp_path_factory.mktemp("source")
    generator = np.random.default_rng(0)
    for number in range(600):
        split = "train" if number % 4 else "test"
        path = folder / "mine" / split / f"class{number % 3}" / f"{number:04d}.jpg"
        save(path, generator, number % 3, 40, 48)
        if number % 47 == 0:
            path.write_bytes(path.read_bytes()[:300])
    return folder / "mine"


@pytest.fixture(autouse=True)
def small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(decoding, "CHUNK_IMAGES", 8)
    for name, value in SMALL.items():
        monkeypatch.setattr(writers, name, value)


def add(name: str, source: Path, **options: object) -> Path:
    """The folder of the dataset."""
    return add_dataset(
        name, source, **{"size": SIZE, "workers": 1, "max_broken": 0.1, **options}
    ).folder


def files_of(folder: Path, name: str = "mine") -> dict[str, str]:
    """Every file in a folder and what is in it, as if the dataset were called `name`."""
    contents = {path.name: path.read_bytes() for path in sorted(folder.iterdir())}
    meta = json.loads(contents["meta.json"]) | {"name": name}
    contents["meta.json"] = json.dumps(meta).encode()
    return {path: hashlib.sha256(content).hexdigest() for path, content in contents.items()}


@pytest.fixture
def decoded(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many images each chunk had that was decoded in this process."""
    counts: list[int] = []
    original = decoding.decode_chunk

    def decode_chunk(images: list[object], *rest: object) -> object:
        counts.append(len(images))
        return original(images, *rest)

    monkeypatch.setattr("anynet_study.data.packing.pool.decode_chunk", decode_chunk)
    return counts


@pytest.mark.slow
@pytest.mark.parametrize(("store", "workers"), [("raw", 1), ("raw", 2), ("jpeg", 2)])
def test_kills_at_random_moments(data_home, tmp_path, source, decoded, store, workers):
    expected = files_of(add("whole", source, store=store))
    assert sum(decoded) == 600
    decoded.clear()
    script = tmp_path / "add.py"
    script.write_text(SCRIPT)
    command = [sys.executable, script, source, store, str(workers)]
    moments = random.Random(store + str(workers))
    for _ in range(2):
        process = subprocess.Popen(command, stderr=subprocess.DEVNULL)
        before = len(list(data_home.glob(".mine~*/packed-shards/*.npz")))
        while process.poll() is None:
            if len(list(data_home.glob(".mine~*/packed-shards/*.npz"))) > before:
                break
            time.sleep(0.005)
        time.sleep(moments.uniform(0, 0.1))
        children = psutil.Process(process.pid).children() if process.poll() is None else []
        process.send_signal(signal.SIGKILL)
        process.wait()
        assert not psutil.wait_procs(children, timeout=60)[1]
    if "mine" not in present():
        add("mine", source, store=store)
        assert sum(decoded) < 600
    assert files_of(data_home / "mine") == expected
    assert sorted(path.name for path in data_home.iterdir()) == ["mine", "whole"]


def full_disk_after(monkeypatch: pytest.MonkeyPatch, writer: type, images: int) -> None:
    append, rows = writer.append, 0

    def full(self: object, chunk: decoding.Chunk, data: np.ndarray) -> None:
        nonlocal rows
        rows += chunk.count
        if rows > images:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        append(self, chunk, data)

    monkeypatch.setattr(writer, "append", full)


@pytest.fixture(params=["raw", "jpeg"])
def interrupted(request, data_home, source, monkeypatch) -> Path:
    """The folder of a packing that the disk was full for after 400 images, of 450 for training."""
    writer = writers.RawWriter if request.param == "raw" else writers.JpegWriter
    with monkeypatch.context() as patch:
        full_disk_after(patch, writer, 400)
        with pytest.raises(OSError, match=r"No space left .*make room and run the same") as caught:
            add("mine", source, store=request.param)
    assert caught.value.filename == str(data_home)
    (left,) = data_home.iterdir()
    return left


def store_of(left: Path) -> str:
    return str(json.loads((left / "packed-shards/packing.json").read_text())["store"])


def test_a_full_disk(data_home, source, interrupted, decoded):
    store = store_of(interrupted)
    mine = files_of(add("mine", source, store=store))
    assert sum(decoded) < 400
    assert mine == files_of(add("again", source, store=store))


@pytest.mark.slow
@pytest.mark.parametrize("change", ["file", "option", "images", "record", "key"])
def test_what_has_changed_is_packed_anew(data_home, source, interrupted, decoded, change):
    """From the shard on that is not as it was left; all of it where that cannot be told."""
    store, options = store_of(interrupted), {}
    shards = interrupted / "packed-shards"
    assert len(list(shards.glob("train-*.npz"))) >= 3
    if change == "file":
        os.utime(sorted(source.glob("train/class1/*.jpg"))[0])
    elif change == "option":
        options["resize"] = 40
    elif change == "images":
        for path in (interrupted / "packed").glob("train_images*"):
            os.truncate(path, 100) if store == "raw" else path.unlink()
    elif change == "record":
        os.truncate(shards / "train-00001.npz", 50)
    else:
        (shards / "packing.json").write_text("{")
    mine = add("mine", source, store=store, **options)
    if change in ("option", "images", "key"):
        assert sum(decoded) == 600
    else:
        assert 400 < sum(decoded) < 600
    assert files_of(mine) == files_of(add("other", source, store=store, **options))


def test_an_archive_is_unpacked_once(data_home, tmp_path, source, monkeypatch):
    archive = Path(shutil.make_archive(str(tmp_path / "mine"), "zip", source.parent, "mine"))

    def interrupting(*arguments: object) -> object:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(packing, "decoder", interrupting)
        with pytest.raises(KeyboardInterrupt):
            add("mine", archive)
    assert len(list(data_home.glob(".mine~*/unpacked"))) == 1
    monkeypatch.setattr("anynet_study.data.source.archives.unpack", interrupting)
    add("mine", archive)
    assert [path.name for path in data_home.iterdir()] == ["mine"]


def leave(home: Path, name: str, age: float) -> Path:
    folder = home / name
    (folder / "packed-shards").mkdir(parents=True)
    (folder / "packed-shards" / "train-00000.npz").write_text("")
    for path in (*folder.rglob("*"), folder):
        os.utime(path, (time.time() - age,) * 2)
    return folder


def test_litter_is_removed_when_nobody_goes_on_with_it(data_home, tmp_path):
    """Of the same name at the end, of others and of other machines when it is old."""
    host, day = os.uname().nodename, 24 * 3600.0
    gone = [
        leave(data_home, f".mine~{host}", 6 * day),
        leave(data_home, ".mine~elsewhere", 8 * day),
        leave(data_home, f".other~{host}", 8 * day),
    ]
    kept = [leave(data_home, name, 6 * day) for name in (".mine~elsewhere2", f".new~{host}")]
    add("mine", write_miniature("concrete", tmp_path), size=8)
    assert not any(path.exists() for path in gone)
    assert all(path.exists() for path in kept)


def test_a_second_process_waits_for_the_first(data_home, tmp_path, capsys):
    source = write_miniature("concrete", tmp_path)
    with ThreadPoolExecutor(1) as other:
        with workspace("mine") as folder:
            done = other.submit(add, "mine", source, size=8)
            while "waiting" not in capsys.readouterr().err:
                time.sleep(0.01)
            (folder / "half").write_text("done")
        added = done.result()
    assert [path.name for path in data_home.iterdir()] == ["mine"]
    assert not (added / "half").exists()
