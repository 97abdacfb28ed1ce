"""A disk that is full when a worker has a result to write."""

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from disaster_study import DisasterStudy

pytestmark = [pytest.mark.slurm, pytest.mark.slow]


@pytest.fixture
def journals(study: DisasterStudy) -> Iterator[Path]:
    """The study's folder of journals, on a disk with room for some of them."""
    folder = study.folder / "journals"
    folder.mkdir(parents=True)
    mounted = ["mount", "-t", "tmpfs", "-o", "size=24k", "tmpfs", str(folder)]
    done = subprocess.run(mounted, capture_output=True, text=True)
    if done.returncode != 0:
        pytest.skip(f"no disk can be mounted here: {done.stderr}")
    yield folder
    subprocess.run(["umount", "--lazy", str(folder)], check=True)


def test_a_full_disk_for_journals(
    study: DisasterStudy, undisturbed: DisasterStudy, journals: Path
) -> None:
    study.launch()
    study.wait_for_its_jobs()
    before = study.recorded()
    assert 0 < len(before) < study.runs
    assert "No space left on device" in study.logs()
    subprocess.run(["mount", "-o", "remount,size=10m", str(journals)], check=True)
    assert study.recorded() == before
    study.finish()
    assert before.items() <= study.recorded().items()
    study.check(undisturbed)
