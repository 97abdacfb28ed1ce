"""What sbatch's words mean to a launch, by way of submitit; and what a site tells of itself."""

import os
from pathlib import Path

import pytest
import submitit
from fake_slurm import FULL, program

from anynet_study.engine.dispatch.slurm.site import Site
from anynet_study.engine.dispatch.submission import RefusedError, submitted_by
from anynet_study.engine.dispatch.work import Task


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    program(tmp_path, "srun", "")
    return tmp_path


def answer(folder: Path, out: str = "", err: str = "", code: int = 0) -> None:
    (folder / "out").write_text(out)
    (folder / "err").write_text(err)
    program(folder, "sbatch", f"cat {folder}/err >&2\ncat {folder}/out\nexit {code}")


def submit(folder: Path) -> "list[submitit.Job[None]]":
    executor = submitit.AutoExecutor(folder / "logs", cluster="slurm")
    return submitted_by(executor, Task("/study", "abc"), 2)


def refusal(folder: Path, words: str, code: int = 1) -> RefusedError:
    answer(folder, err=words, code=code)
    with pytest.raises(RefusedError) as refused:
        submit(folder)
    return refused.value


def test_it_gives_the_job_s_id_whatever_else_is_said(folder: Path) -> None:
    answer(folder, "Submitted batch job 4711 on cluster physics\n", "sbatch: warning: slow\n")
    assert [job.job_id for job in submit(folder)] == ["4711_0", "4711_1"]


@pytest.mark.parametrize(
    ("words", "is_full", "is_counted", "is_certain"),
    [
        (FULL, True, True, True),
        ("sbatch: error: QOSMaxSubmitJobPerUserLimit\nsbatch: error: ...", True, True, True),
        ("sbatch: error: Resource temporarily unavailable", True, True, True),
        ("sbatch: error: Invalid job array specification", True, False, True),
        ("Job violates accounting/QOS policy (...)", True, False, True),
        ("sbatch: error: invalid partition specified: fast", False, False, True),
        ("sbatch: error: Socket timed out on send/recv", False, False, False),
        ("Unable to contact slurm controller (connect failure)", False, False, False),
        ("", False, False, True),
    ],
)
def test_what_a_refusal_means(
    folder: Path,
    words: str,
    is_full: bool,
    is_counted: bool,
    is_certain: bool,
    capsys: pytest.CaptureFixture[str],
) -> None:
    refused = refusal(folder, words, code=3)
    means = refused.is_full, refused.is_counted, refused.is_certain
    assert means == (is_full, is_counted, is_certain)
    said = "; ".join(words.replace("sbatch: error: ", "").splitlines()) or "exit status 3"
    assert said in refused.words
    assert "sbatch: error" not in refused.words
    assert str(refused).startswith(f"sbatch: {refused.words}")
    assert capsys.readouterr() == ("", "")


def test_an_answer_without_an_id_is_no_refusal(folder: Path) -> None:
    answer(folder, "queued, I think\n")
    with pytest.raises(RefusedError, match="queued, I think") as refused:
        submit(folder)
    assert not refused.value.is_certain


def says(path: Path, *lines: str) -> None:
    told = path.with_suffix(".txt")
    told.write_text("".join(f"{line}\n" for line in lines))
    program(path.parent, path.name, f"cat {told}")


def test_limits_are_the_site_s(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    says(tmp_path / "scontrol", "MaxArraySize            = 11", "MaxDBDMsgs = 20012")
    partitions = ("main*|1-12:00:00", "short|30:00", "free|infinite", "long|10-00:00:00")
    gpus = ("tiny|2:30:00|gpu:h200:8(S:0-1),shm:1", "tiny|2:30:00|(null)", "free|infinite|gpu:4")
    says(tmp_path / "sinfo", *partitions, *gpus, "both|30:00|gpu:a100:4", "both|30:00|gpu:h200:4")
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
