"""Processes that decode: the images of the files, one error as without them, and none is left."""

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import psutil
import pytest
from miniatures import write_miniature

from anynet_study.core.errors import UserError
from anynet_study.data import Decoders, JpegImages, PackedDataset, add_dataset
from anynet_study.data.packed import decoders as module

SIZE = 24
#: A process that reads once, says which processes it has begun, and waits.
READER = f"""\
import psutil, sys
import numpy as np
from pathlib import Path
from anynet_study.data import Decoders, PackedDataset

if __name__ == "__main__":
    decoders = Decoders(PackedDataset.open(Path(sys.argv[1])).images("train"), 2)
    decoders.read(np.arange(9), np.empty((9, {SIZE}, {SIZE}, 3), np.uint8))
    print(*(it.pid for it in psutil.Process().children(recursive=True)), flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def dataset(data_home: Path, tmp_path: Path) -> PackedDataset:
    return add_dataset("jpeg", write_miniature("natural", tmp_path), size=SIZE, store="jpeg")


@pytest.fixture
def images(dataset: PackedDataset) -> JpegImages:
    found = dataset.images("train")
    assert isinstance(found, JpegImages)
    return found


@pytest.fixture
def decoders(images: JpegImages, monkeypatch: pytest.MonkeyPatch) -> Iterator[Decoders]:
    """Two processes, and room for seven images."""
    monkeypatch.setattr(module, "SHARED_BYTES", 7 * SIZE * SIZE * 3)
    yield (made := Decoders(images, 2))
    module._end(made._processes)


def read(decoders: Decoders, *rows: int) -> np.ndarray:
    pixels = np.zeros((len(rows), SIZE, SIZE, 3), np.uint8)
    decoders.read(np.array(rows), pixels)
    return pixels


def test_they_give_the_images_of_the_files_in_the_order_asked_for(
    images: JpegImages, decoders: Decoders
) -> None:
    order = np.random.default_rng(0).permutation(len(images))
    for rows in (order.tolist(), [5], [3, 3, 1, 3], list(range(7)), list(range(8))):
        np.testing.assert_array_equal(read(decoders, *rows), images[rows])


def test_a_damaged_file_is_told_as_without_them_and_others_can_be_read(
    dataset: PackedDataset, images: JpegImages, decoders: Decoders
) -> None:
    expected, second = images[:2], bytes(images.file(2))
    path = next(dataset.folder.glob("train_images-*.arrow"))
    path.write_bytes(path.read_bytes().replace(second, b"\xff\x00" + second[2:]))
    damaged = PackedDataset.open(dataset.folder).images("train")
    with pytest.raises(UserError) as plain:
        damaged[[0, 1, 2]]
    with pytest.raises(UserError) as apart:
        read(decoders, 0, 1, 2)
    said = [re.sub(r" at 0x\w+", "", str(each.value)) for each in (apart, plain)]
    assert said[0] == said[1]
    assert "damaged dataset (train image 2: " in said[0]
    np.testing.assert_array_equal(read(decoders, 1, 0), expected[::-1])


def test_a_process_that_died_is_want_of_memory_and_the_next_call_has_new_ones(
    images: JpegImages, decoders: Decoders
) -> None:
    read(decoders, 0)
    first, second = (process.pid for process, _ in decoders._processes)
    os.kill(second, signal.SIGKILL)
    with pytest.raises(MemoryError, match="a decoding process died"):
        read(decoders, *range(9))
    assert not psutil.pid_exists(first)
    np.testing.assert_array_equal(read(decoders, *range(9)), images[:9])


def test_signals_are_for_the_worker(images: JpegImages, decoders: Decoders) -> None:
    read(decoders, 0)
    for process, _ in decoders._processes:
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGUSR1, signal.SIGUSR2):
            os.kill(process.pid, number)
    np.testing.assert_array_equal(read(decoders, 2, 1), images[[2, 1]])


def test_they_end_with_the_object(images: JpegImages) -> None:
    decoders = Decoders(images, 2)
    read(decoders, 0)
    pids = [process.pid for process, _ in decoders._processes]
    del decoders
    assert not any(map(psutil.pid_exists, pids))


@pytest.mark.slow
@pytest.mark.parametrize("killed", [True, False], ids=["killed", "ends"])
def test_they_end_with_the_process_and_leave_nothing(
    dataset: PackedDataset, tmp_path: Path, killed: bool
) -> None:
    script = tmp_path / "reader.py"
    script.write_text(READER)
    command = (sys.executable, script, dataset.folder)
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True) as reader:
        assert reader.stdout is not None
        begun = [psutil.Process(int(pid)) for pid in reader.stdout.readline().split()]
        assert len(begun) > 2  # there is one that multiprocessing begins for itself
        if killed:
            reader.kill()
        reader.communicate(timeout=20)
        assert reader.returncode == (-signal.SIGKILL if killed else 0)
    assert not psutil.wait_procs(begun, timeout=20)[1]
    assert not list(Path("/dev/shm").glob(f"*{reader.pid}*"))
