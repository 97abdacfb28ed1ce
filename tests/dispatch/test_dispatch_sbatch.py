"""The call of sbatch, its refusals and what it inherits; and what a site tells of itself."""

import time
from pathlib import Path

import pytest
from anynet_study.dispatch.slurm.sbatch import (
    QueueFullError,
    RefusedError,
    sbatch,
)
from fake_slurm import FULL

from anynet_study.dispatch.slurm.site import Site


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    return tmp_path


def answer(folder: Path, out: str = "", err: str = "", code: int = 0, then: str = "") -> None:
    (folder / "out").write_text(out)
    (folder / "err").write_text(err)
    program = folder / "sbatch"
    program.write_text(f"#!/bin/sh\ncat {folder}/err >&2\n{then}\ncat {folder}/out\nexit {code}\n")
    program.chmod(0o755)


def test_it_gives_the_job_s_id_whatever_else_is_said(folder: Path) -> None:
    answer(folder, "Submitted batch job 4711 on cluster physics\n", "sbatch: warning: slow\n")
    assert sbatch(folder / "script.sh", ()) == "4711"


@pytest.mark.parametrize(
    ("words", "is_counted"),
    [
        (FULL, True),
        ("sbatch: error: QOSMaxSubmitJobPerUserLimit\nsbatch: error: ...", True),
        ("sbatch: error: Batch job submission failed: Resource temporarily unavailable", True),
        ("sbatch: error: Batch job submission failed: Invalid job array specification", False),
        ("Batch job submission failed: Job violates accounting/QOS policy (...)", False),
    ],
)
def test_fewer_jobs_may_fit(folder: Path, words: str, is_counted: bool) -> None:
    answer(folder, err=words, code=1)
    with pytest.raises(QueueFullError) as refused:
        sbatch(folder / "script.sh", ())
    assert refused.value.is_counted == is_counted
    assert refused.value.is_certain
    assert "sbatch: error" not in refused.value.words


@pytest.mark.parametrize(
    ("words", "is_certain"),
    [
        ("sbatch: error: invalid partition specified: fast", True),
        ("sbatch: error: Batch job submission failed: Socket timed out on send/recv", False),
        ("sbatch: error: Unable to contact slurm controller (connect failure)", False),
        ("", True),
    ],
)
def test_other_refusals_are_failures(folder: Path, words: str, is_certain: bool) -> None:
    answer(folder, err=words, code=3)
    with pytest.raises(RefusedError) as refused:
        sbatch(folder / "script.sh", ())
    assert not isinstance(refused.value, QueueFullError)
    assert refused.value.is_certain == is_certain
    assert str(refused.value) == f"sbatch: {words.removeprefix('sbatch: error: ') or 'exit code 3'}"


def test_it_does_not_wait_for_a_full_queue(folder: Path) -> None:
    words = "sbatch: error: Slurm temporarily unable to accept job, sleeping and retrying\n"
    answer(folder, err=words, then="exec sleep 60")
    began = time.monotonic()
    with pytest.raises(QueueFullError):
        sbatch(folder / "script.sh", ())
    assert time.monotonic() - began < 30


def program(path: Path, *lines: str) -> None:
    told = path.with_suffix(".txt")
    told.write_text("".join(f"{line}\n" for line in lines))
    path.write_text(f"#!/bin/sh\ncat {told}\n")
    path.chmod(0o755)


def test_limits_are_the_site_s(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    program(tmp_path / "scontrol", "MaxArraySize            = 11", "MaxDBDMsgs = 20012")
    partitions = ("main*|1-12:00:00", "short|30:00", "free|infinite", "long|10-00:00:00")
    gpus = ("tiny|2:30:00|gpu:h200:8(S:0-1),shm:1", "tiny|2:30:00|(null)", "free|infinite|gpu:4")
    program(
        tmp_path / "sinfo", *partitions, *gpus, "both|30:00|gpu:a100:4", "both|30:00|gpu:h200:4"
    )
    site = Site.ask()
    assert site.array_size == 11
    asked = ("", "main", "short", "free", "long", "tiny", "short,tiny", "short,free", "unknown")
    limits = [site.longest(partition) for partition in asked]
    assert limits == [2160, 2160, 30, None, 14400, 150, 150, None, None]
    known = [site.gpu(partition) for partition in ("", "tiny", "free,tiny", "free", "both", "none")]
    assert known == ["", "h200", "h200", "", "", ""]


def test_without_a_slurm_they_are_the_usual_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    assert Site.ask() == Site()
    assert Site().array_size == 1001
