"""GPUs of this machine, as the driver and the environment tell them; and workers on them."""

import shutil
import subprocess
import time
from pathlib import Path

import pytest
from fake_slurm import program
from tiny_study import TINY

from anynet_study.engine.dispatch import local
from anynet_study.engine.dispatch.local import start_worker
from anynet_study.engine.dispatch.opened import open_sweep
from anynet_study.engine.dispatch.snapshot import take
from anynet_study.engine.planning.devices import gpu_here, gpus_here

NO_LIBRARY = "there-is-no-such-library.so"
#: What the driver's library answers on a machine with two GPUs.
LIBRARY = """
#include <stdio.h>
static int numbers[2] = {0, 1};
int nvmlInit_v2(void) { return 0; }
int nvmlShutdown(void) { return 0; }
int nvmlDeviceGetCount_v2(unsigned *count) { *count = 2; return 0; }
int nvmlDeviceGetHandleByIndex_v2(unsigned number, void **device)
{ *device = numbers + number; return 0; }
int nvmlDeviceGetName(void *device, char *name, unsigned length)
{ snprintf(name, length, "NVIDIA L%d", 4 + *(int *) device); return 0; }
"""


@pytest.fixture
def driver(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    (tmp_path / "gpus").mkdir()
    return tmp_path / "gpus"


def test_gpus_are_found_by_the_files_of_the_driver(
    driver: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert (gpus_here(driver, NO_LIBRARY), gpu_here(driver, NO_LIBRARY)) == ([], "")
    for bus in ("0000:01:00.0", "0000:02:00.0"):
        (driver / bus).mkdir()
        told = "Model: \t\t NVIDIA H200\nIRQ:   123\n"
        (driver / bus / "information").write_text(told)
    assert gpus_here(driver, NO_LIBRARY) == ["0", "1"]
    assert gpu_here(driver, NO_LIBRARY) == "NVIDIA H200"
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    assert (gpus_here(driver, NO_LIBRARY), gpu_here(driver, NO_LIBRARY)) == ([], "")


@pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler")
def test_gpus_are_found_by_the_library_where_the_files_are_out_of_sight(driver: Path) -> None:
    source, library = driver / "fake.c", driver / "fake.so"
    source.write_text(LIBRARY)
    subprocess.run(["cc", "-shared", "-fPIC", "-o", library, source], check=True)
    assert gpus_here(driver, str(library)) == ["0", "1"]
    assert gpu_here(driver, str(library)) == "NVIDIA L4"


@pytest.mark.parametrize(
    ("visible", "found"),
    [
        ("2", ["2"]),
        ("1,3", ["1", "3"]),
        ("GPU-8c9f, MIG-12ab", ["GPU-8c9f", "MIG-12ab"]),
        ("1,-1,2", ["1"]),
        ("-1", []),
    ],
)
def test_visible_gpus_are_named_as_they_are(
    monkeypatch: pytest.MonkeyPatch, visible: str, found: list[str]
) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", visible)
    assert gpus_here() == found


@pytest.mark.slow
def test_each_worker_gets_a_gpu_whatever_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Numbers are not the only names: in containers and with MIG they are texts."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ANYNET_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "GPU-8c9f,MIG-12ab")
    (tmp_path / "sweep.yaml").write_text(TINY)
    prepared = open_sweep(tmp_path / "sweep.yaml", [])
    folder = prepared.folder
    script = "echo $CUDA_VISIBLE_DEVICES $PYTHONPATH $GLIBC_TUNABLES >>seen"
    monkeypatch.setattr("sys.executable", str(program(tmp_path, "python", script)))
    folder.logs.mkdir(parents=True)
    code = take(folder.code)
    for number in range(2):
        worker, until = start_worker(folder, code, number), time.monotonic() + 60
        while not worker.ended:
            assert time.monotonic() < until
            time.sleep(0.02)
    rest = f"{code.folder.absolute()} glibc.malloc.hugetlb=1"
    assert Path("seen").read_text() == f"GPU-8c9f {rest}\nMIG-12ab {rest}\n"


def test_the_end_of_a_worker_is_not_waited_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(local, "LOOK_SECONDS", 1e9)
    looks = iter([False, False, True])
    worker = type("Worker", (), {"ended": property(lambda _: next(looks))})()
    began = time.monotonic()
    local._wait([worker])
    assert time.monotonic() - began < 60
    assert next(looks, None) is None
