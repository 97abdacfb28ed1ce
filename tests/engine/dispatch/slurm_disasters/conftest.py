"""A cluster of `tests/slurm.sh`, and the store of a study that nothing happened to."""

import os
import subprocess
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import psutil
import pytest
from disaster_study import DisasterStudy
from filelock import FileLock

HOW = "export SLURM_CONF=$(tests/slurm.sh), as root, starts it"


def absent(reason: str) -> None:
    """Skip for want of a cluster; in CI that is a failure."""
    if os.environ.get("CI"):
        pytest.fail(reason)
    pytest.skip(reason)


@pytest.fixture(scope="session")
def cluster(path_with_slurm: str) -> Path:
    """The folder of a cluster started by `tests/slurm.sh`: others are not for disasters."""
    home = Path(os.environ.get("SLURM_CONF", "/none")).parent
    if not (home / "no-accounts").is_dir():
        absent(f"no cluster of tests/slurm.sh ({HOW})")
    if os.geteuid() != 0:
        absent("not root: disasters kill daemons and mount disks")
    try:
        there = {**os.environ, "PATH": path_with_slurm}
        subprocess.run(["sinfo"], capture_output=True, check=True, timeout=30, env=there)
    except (OSError, subprocess.SubprocessError) as error:
        absent(f"no Slurm can be reached ({HOW}): {error}")
    return home


@pytest.fixture(scope="module", autouse=True)
def _the_cluster_s_commands(path_with_slurm: str) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PATH", path_with_slurm)
        yield


@pytest.fixture(scope="session")
def undisturbed(cluster: Path, tmp_path_factory: pytest.TempPathFactory) -> DisasterStudy:
    """A study trained on this machine without Slurm; one for all processes of a test session."""
    base = tmp_path_factory.getbasetemp()
    above = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "undisturbed"
    study = DisasterStudy(above, "undisturbed", above / "data")
    with FileLock(f"{above}.lock"):
        if not (study.folder / "results.h5").exists():
            study.run_here()
    return study


@pytest.fixture
def study(tmp_path: Path, undisturbed: DisasterStudy) -> Iterator[DisasterStudy]:
    """A study that is not begun; of jobs left over nothing remains."""
    name = f"disaster-{os.getpid()}-{time.time_ns()}"
    study = DisasterStudy(tmp_path, name, undisturbed.data)
    study.write()
    yield study
    subprocess.run(["scancel", "--name", f"anynet-{name}"], check=False)
    for left in study.processes():
        with suppress(psutil.NoSuchProcess):
            left.kill()
