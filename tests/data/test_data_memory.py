"""Memory while packing does not grow with the dataset, nor with what an image claims to be."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from miniatures import save

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
