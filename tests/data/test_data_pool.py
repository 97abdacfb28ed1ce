"""Decoding by several processes: in order, in bounded memory, and what happens when one dies."""

import errno
import os
import signal
import subprocess
import sys
import time
import tracemalloc
from collections.abc import Iterator
from multiprocessing import active_children
from pathlib import Path

import numpy as np
import psutil
import pytest
from miniatures import save, write_miniature

from anynet_study.core.errors import WorkFailedError
from anynet_study.data import add_dataset, workspace
from anynet_study.data.packed import digests
from anynet_study.data.packed.form import Form
from anynet_study.data.packing import decoding, writers
from anynet_study.data.packing.decoding import AHEAD, CHUNK_BYTES, IMAGES_PER_WORKER, decoder
from anynet_study.data.source.encoded import Encoded
from anynet_study.data.source.images import decode_image
from anynet_study.data.source.member import Member

FORM = Form(256, 256)
SOME = CHUNK_BYTES // FORM.image_bytes


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Of different sizes, so that chunks are not done in their order."""
    folder, random = tmp_path_factory.mktemp("files"), np.random.default_rng(0)
    paths = [folder / f"{number % 2}" / f"{number:03d}.jpg" for number in range(12 * SOME)]
    for number, path in enumerate(paths):
        save(path, random, number, 300 if number < SOME else 20, 40)
    paths[3].write_bytes(b"no image")
    return paths


def read(form: Form, files: list[Path], workers: int) -> Iterator[tuple[int, list[int], bytes]]:
    with decoder(form, len(files), workers) as decode:
        for chunk in decode(Member(str(path)) for path in files):
            yield chunk.count, list(chunk.broken), chunk.data.tobytes()


@pytest.mark.slow
def test_chunks_come_in_order_and_are_those_of_one_process(files):
    found, expected = list(read(FORM, files, 2)), list(read(FORM, files, 1))
    assert found == expected
    assert [count for count, _, _ in found] == [SOME] * 12
    assert found[0][1] == [3]
    image = decode_image(files[SOME].read_bytes(), FORM.size)
    assert found[1][2][: FORM.image_bytes] == image.tobytes()


def test_images_are_drawn_as_they_are_needed(files):
    """No more wait, as files or decoded, than may be ahead."""
    drawn = 0

    def counted() -> Iterator[Encoded]:
        nonlocal drawn
        for path in files:
            drawn += 1
            yield Member(str(path))

    with decoder(FORM, len(files), 2) as decode:
        for done, _ in enumerate(decode(counted())):
            assert drawn <= SOME * (done + 2 * AHEAD)


def test_a_process_that_dies_ends_the_work_with_a_word(files):
    chunks = read(FORM, files, 2)
    next(chunks)
    first, second = active_children()
    first.kill()
    with pytest.raises(WorkFailedError, match=r"died.*at one of the images from .*jpg on"):
        list(chunks)
    assert not any(process.is_alive() for process in (first, second))


#: Stops to wait when both processes have something to do.
SCRIPT = """
import sys, time
from pathlib import Path
from anynet_study.data import add_dataset
from anynet_study.data.packing import decoding
def two(*given, chunks=decoding._chunks):
    for number, chunk in enumerate(chunks(*given), 1):
        yield chunk
        if number == 2:
            time.sleep(600)
if __name__ == "__main__":
    decoding._chunks = two
    add_dataset("mine", Path(sys.argv[1]), size=256, workers=2, max_broken=0.1)
"""


@pytest.mark.slow
def test_a_kill_leaves_no_process_and_the_next_run_no_litter(data_home, tmp_path, files):
    script = tmp_path / "add.py"
    script.write_text(SCRIPT)
    command = [sys.executable, script, files[0].parents[1]]
    process = subprocess.Popen(command, stderr=subprocess.DEVNULL)
    while len(children := psutil.Process(process.pid).children()) < 3:  # one tracks resources
        assert process.poll() is None
        time.sleep(0.01)
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert not psutil.wait_procs(children, timeout=60)[1]
    assert [path.name.split("~")[0] for path in data_home.iterdir()] == [".mine"]
    hidden = (".x~elsewhere~1-0123abcd.tmp", ".x~elsewhere~2-0123abcd.tmp")
    other, old = (data_home / name for name in hidden)
    other.mkdir()
    old.mkdir()
    week = 8 * 24 * 3600
    os.utime(old, (time.time() - week,) * 2)
    with workspace("mine") as mine:
        assert set(data_home.iterdir()) == {other, mine}


def test_nothing_is_started_for_a_few_images():
    with decoder(FORM, IMAGES_PER_WORKER - 1):
        assert not active_children()


def test_a_process_loads_little_before_it_decodes():
    script = (
        "import sys, anynet_study.data.packing.decoding\n"
        "print(*sorted({'pydantic', 'pyarrow', 'rich', 'torch', 'pandas'} & set(sys.modules)))"
    )
    assert subprocess.check_output([sys.executable, "-c", script]).split() == []


@pytest.mark.slow
@pytest.mark.parametrize("store", ["raw", "jpeg"])
def test_memory_is_flat_in_the_number_of_images(data_home, tmp_path, store, monkeypatch):
    monkeypatch.setattr(decoding, "CHUNK_BYTES", 1 << 19)
    monkeypatch.setattr(writers, "BATCH_BYTES", 1 << 19)
    monkeypatch.setattr(digests, "BLOCK", 1 << 19)
    save(tmp_path / "one.jpg", np.random.default_rng(0), 0, 80, 80)
    most = {}
    for images in (300, 1200):
        for number in range(images):
            path = tmp_path / f"{images}" / str(number % 2) / f"{number:05d}.jpg"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.hardlink_to(tmp_path / "one.jpg")
        tracemalloc.start()
        add_dataset(
            f"x{images}",
            tmp_path / f"{images}",
            size=64,
            store=store,
            workers=1,
            max_duplicates=1.0,  # all are one image
        )
        most[images] = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    assert most[1200] - most[300] < 0.2 * 900 * 64 * 64 * 3


def test_a_full_disk_names_the_data_directory(data_home, tmp_path, monkeypatch):
    def full(*arguments: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    source = write_miniature("concrete", tmp_path)
    for store, writer in (("raw", writers.RawWriter), ("jpeg", writers.JpegWriter)):
        monkeypatch.setattr(writer, "append", full)
        with pytest.raises(OSError, match="No space left") as caught:
            add_dataset("mine", source, size=8, store=store)
        assert caught.value.filename == str(data_home)
        assert list(data_home.iterdir()) == []
