"""Decoding by several processes: in order, in shared memory, and what happens when one dies."""

import json
import subprocess
import sys
from collections.abc import Iterator
from multiprocessing import active_children
from pathlib import Path

import numpy as np
import pytest
from miniatures import save

from anynet_study.data import add_dataset
from anynet_study.data.packed.form import Form
from anynet_study.data.packing import pool
from anynet_study.data.packing.decoding import CHUNK_BYTES
from anynet_study.data.packing.pool import decoder
from anynet_study.data.source.images import Encoded, decode_image
from anynet_study.data.source.member import Member
from anynet_study.errors import WorkFailedError

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
        for chunk, data in decode(Member(str(path)) for path in files):
            yield chunk.count, list(chunk.broken), data.tobytes()


def test_chunks_come_in_order_and_are_those_of_one_process(files):
    found, expected = list(read(FORM, files, 2)), list(read(FORM, files, 1))
    assert found == expected
    assert [count for count, _, _ in found] == [SOME] * 12
    assert found[0][1] == [3]
    image = decode_image(files[SOME].read_bytes(), FORM.size)
    assert found[1][2][: FORM.image_bytes] == image.tobytes()


def test_images_are_drawn_as_they_are_needed(files):
    """No more wait, as files or decoded, than there are places for."""
    drawn = 0

    def counted() -> Iterator[Encoded]:
        nonlocal drawn
        for path in files:
            drawn += 1
            yield Member(str(path))

    with decoder(FORM, len(files), 2) as decode:
        for done, _ in enumerate(decode(counted())):
            assert drawn <= SOME * (done + 1 + 2 * pool.AHEAD)


def test_a_process_that_dies_ends_the_work_with_a_word(files):
    chunks = read(FORM, files, 2)
    next(chunks)
    first, second = active_children()
    first.kill()
    with pytest.raises(WorkFailedError, match=r"died.*at one of the images from .*jpg on; run the"):
        list(chunks)
    assert not any(process.is_alive() for process in (first, second))


@pytest.mark.slow
def test_and_the_next_run_goes_on(data_home, files, monkeypatch):
    monkeypatch.setattr("anynet_study.data.packing.writers.SHARD_BYTES", 1)
    source = files[0].parents[1]
    receive = pool._Pool._receive
    calls = 0

    def received(self: object, *rest: object) -> None:
        nonlocal calls
        calls += 1
        if calls == 6:
            active_children()[0].kill()
        receive(self, *rest)

    with monkeypatch.context() as patch:
        patch.setattr(pool._Pool, "_receive", received)
        with pytest.raises(WorkFailedError):
            add_dataset("mine", source, size=256, workers=2, max_broken=0.1)
    assert [path.name.split("~")[0] for path in data_home.iterdir()] == [".mine"]
    mine = add_dataset("mine", source, size=256, workers=2, max_broken=0.1)
    mine.verify()
    other = add_dataset("other", source, size=256, workers=1, max_broken=0.1)
    assert mine.content_hash == other.content_hash


def test_nothing_is_started_for_a_few_images(files):
    with decoder(FORM, pool.IMAGES_PER_WORKER - 1):
        assert not active_children()


def test_a_process_loads_little_before_it_decodes():
    script = (
        "import sys, anynet_study.data.packing.pool\n"
        "print(*sorted({'pydantic', 'pyarrow', 'rich', 'torch', 'pandas'} & set(sys.modules)))"
    )
    assert subprocess.check_output([sys.executable, "-c", script]).split() == []


SCRIPT = """
import json, sys, threading
from pathlib import Path
import psutil
from anynet_study.data import add_dataset
from anynet_study.data.packing import decoding, writers

def used(process):
    # Not the pages of mapped files, which the system takes back.
    try:
        lines = Path(f"/proc/{process.pid}/smaps_rollup").read_text().splitlines()
    except OSError:
        return 0
    kinds = ("Pss_Anon:", "Pss_Shmem:")
    return 1024 * sum(int(line.split()[1]) for line in lines if line.startswith(kinds))

def watch(found, ended):
    me = psutil.Process()
    while not ended.wait(0.02):
        found.append(sum(map(used, [me, *me.children(recursive=True)])))

if __name__ == "__main__":
    name, source, store, workers = sys.argv[1:]
    decoding.CHUNK_BYTES = writers.BATCH_BYTES = 1 << 19
    writers.SHARD_BYTES = 8 << 20
    found, ended = [], threading.Event()
    watcher = threading.Thread(target=watch, args=(found, ended))
    watcher.start()
    add_dataset(name, Path(source), size=64, store=store, workers=int(workers))
    ended.set()
    watcher.join()
    print(json.dumps(max(found)))
"""


@pytest.fixture(scope="module")
def sources(tmp_path_factory: pytest.TempPathFactory) -> dict[int, Path]:
    """The same kind of images once and eight times as many, as links to 64 files."""
    folder = tmp_path_factory.mktemp("sources")
    random = np.random.default_rng(0)
    files = [folder / "files" / f"{number}.jpg" for number in range(64)]
    for number, path in enumerate(files):
        save(path, random, number, 80, 80)
    for times in (1, 8):
        for number in range(600 * times):
            path = folder / f"{times}" / str(number % 2) / f"{number:05d}.jpg"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.hardlink_to(files[number % 64])
    return {times: folder / str(times) for times in (1, 8)}


@pytest.mark.slow
@pytest.mark.parametrize(("store", "workers"), [("raw", 2), ("jpeg", 1)])
def test_memory_is_flat_in_the_number_of_images(data_home, tmp_path, sources, store, workers):
    script = tmp_path / "watched.py"
    script.write_text(SCRIPT)
    most = {}
    for times, source in sources.items():
        command = [sys.executable, script, f"x{times}", source, store, str(workers)]
        most[times] = json.loads(subprocess.check_output(command, stderr=subprocess.DEVNULL))
    pixels = 7 * 600 * 64 * 64 * 3  # of the images that there are more
    assert most[8] - most[1] < 0.25 * pixels
