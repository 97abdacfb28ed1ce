"""A study says by which kernels its numbers were made, and where these are mixed."""

import dataclasses
import os
import signal
from pathlib import Path
from unittest.mock import patch

import pytest
import torch
from command import anynet_study, in_this_process, train
from tiny_study import TINY

from anynet_study.dispatch import open_sweep
from anynet_study.dispatch.process import Interruption
from anynet_study.dispatch.worker import train_runs
from anynet_study.errors import UserError
from anynet_study.models import Backend, compiled_kernels, resolve_backend
from anynet_study.store import ResultStore, read_journal

KINDS = ("plain", "rewritten", "compiled")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ANYNET_DATA", str(tmp_path / "data"))
    Path("tiny.yaml").write_text(TINY)
    return tmp_path


@pytest.mark.slow
@pytest.mark.skipif(compiled_kernels() is None, reason="installed without GCC, or an old CPU")
def test_a_study_by_three_backends_says_so(folder: Path) -> None:
    for number, kind in enumerate(KINDS):
        opened = open_sweep(Path("tiny.yaml"), [f"launch.backend={kind}"])
        if number == 0:
            opened.folder.begin(opened.sweep, opened.population)
        mine = opened.plan.ids()[4 * number : 4 * number + 4]
        train_runs(opened.folder, opened.sweep, mine, {}, Interruption())
    in_this_process(folder, "collect", "tiny")
    runs = ResultStore(opened.folder.results).runs()
    assert runs["backend"].value_counts().to_dict() == dict.fromkeys(KINDS, 4)
    capability = torch.backends.cpu.get_cpu_capability().lower()
    assert set(runs["instruction_set"]) == {capability}
    assert set(runs["threads"]) == {1}
    assert runs["libraries"].str.contains(torch.__version__, regex=False).all()
    assert (runs["processor"].str.len() > 0).all()
    says = "results of 3 numeric backends are mixed: "
    for command in ("status", "verify"):
        said = " ".join(in_this_process(folder, command, "tiny").stdout.split())
        assert says in said
        assert all(f"{kind} on {capability} in 1 thread (4 runs)" in said for kind in KINDS)
    in_this_process(folder, "report", "tiny", "--resamples", 100, figures=False)
    assert says in (opened.folder.folder / "report" / "report.html").read_text()


@pytest.mark.slow
def test_a_run_that_two_backends_trained_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    """Stopped by one worker after its first step, and taken up by another."""
    stop = Interruption()
    for kind in ("plain", "rewritten"):
        opened = open_sweep(Path("tiny.yaml"), [f"launch.backend={kind}"])
        if kind == "plain":
            opened.folder.begin(opened.sweep, opened.population)
            stop.request(signal.SIGTERM)
        train_runs(opened.folder, opened.sweep, opened.plan.ids()[:1], {}, stop)
        stop = Interruption()
    (path,) = opened.folder.journals.glob("*.arrow")
    (row,) = read_journal(path).records
    assert (row.status, row.backend) == ("completed", "rewritten")
    assert row.message.startswith("trained by several backends: plain on ")


@pytest.mark.slow
def test_a_study_of_one_backend_says_nothing_and_it_is_what_was_asked_for(folder: Path) -> None:
    train(folder, "tiny.yaml", "launch.backend=plain")
    assert "backends" not in in_this_process(folder, "status", "tiny").stdout
    assert in_this_process(folder, "verify", "tiny").stdout == "tiny: all is well\n"
    assert set(ResultStore(Path("studies/tiny/results.h5")).runs()["backend"]) == {"plain"}


@pytest.mark.slow
def test_a_worker_that_cannot_provide_a_backend_refuses_in_one_line(folder: Path) -> None:
    with patch.dict(os.environ, ATEN_CPU_CAPABILITY="default"):
        run = ["run", "tiny.yaml", "launch.backend=compiled", "launch.workers=1"]
        said = anynet_study(folder, *run, expect=1).stderr
    assert "launch.backend compiled: this machine has no compiled kernels" in said
    assert "legal here: plain, rewritten" in said
    unknown = in_this_process(folder, "run", "tiny.yaml", "launch.backend=fast", expect=2).stderr
    assert "input should be 'plain', 'rewritten' or 'compiled'" in unknown.splitlines()[-1]


def test_the_backend_is_the_best_that_is_there_unless_one_is_pinned() -> None:
    with patch("anynet_study.models.backend.compiled_kernels", lambda: None):
        assert resolve_backend().kind == "rewritten"
        with pytest.raises(UserError, match="no compiled kernels"):
            resolve_backend("compiled")
    best = resolve_backend()
    assert resolve_backend(best.kind) == best
    assert resolve_backend("plain") == dataclasses.replace(best, kind="plain")
    assert Backend("rewritten", "avx512", 1).kernels is None
