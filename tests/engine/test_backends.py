"""A study says by which backends its numbers were made, and where these are mixed."""

import dataclasses
import signal
from pathlib import Path

import pytest
import torch
from command import in_this_process, train
from tiny_study import TINY

from anynet_study.engine.dispatch import open_sweep
from anynet_study.engine.dispatch.worker import train_runs
from anynet_study.engine.dispatch.worker_state import WorkerState
from anynet_study.engine.models import backend_here
from anynet_study.store import ResultStore, read_journal

KINDS = ("plain", "rewritten")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ANYNET_DATA", str(tmp_path / "data"))
    Path("tiny.yaml").write_text(TINY)
    return tmp_path


@pytest.mark.slow
def test_a_study_by_two_backends_says_so(folder: Path) -> None:
    for number, kind in enumerate(KINDS):
        opened = open_sweep(Path("tiny.yaml"), [f"launch.backend={kind}"])
        if number == 0:
            opened.folder.begin(opened.sweep, opened.population)
        mine = opened.plan.ids()[4 * number : 4 * number + 4]
        train_runs(opened.folder, opened.sweep, mine, {}, WorkerState())
    in_this_process(folder, "collect", "tiny")
    runs = ResultStore(opened.folder.results).runs()
    assert runs["backend"].value_counts().to_dict() == dict.fromkeys(KINDS, 4)
    capability = torch.backends.cpu.get_cpu_capability().lower()
    assert set(runs["instruction_set"]) == {capability}
    assert set(runs["threads"]) == {1}
    assert runs["libraries"].str.contains(torch.__version__, regex=False).all()
    assert (runs["processor"].str.len() > 0).all()
    says = "results of 2 numeric backends are mixed: "
    for command in ("status", "verify"):
        said = " ".join(in_this_process(folder, command, "tiny").stdout.split())
        assert says in said
        assert all(f"{kind} on {capability} in 1 thread (4 runs)" in said for kind in KINDS)
    in_this_process(folder, "report", "tiny", "--resamples", 100)
    assert says in (opened.folder.folder / "report" / "report.html").read_text()


@pytest.mark.slow
def test_a_run_that_two_backends_trained_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    """Stopped by one worker after its first step, and taken up by another."""
    stop = WorkerState()
    for kind in ("plain", "rewritten"):
        opened = open_sweep(Path("tiny.yaml"), [f"launch.backend={kind}"])
        if kind == "plain":
            opened.folder.begin(opened.sweep, opened.population)
            stop.request(signal.SIGTERM)
        train_runs(opened.folder, opened.sweep, opened.plan.ids()[:1], {}, stop)
        stop = WorkerState()
    (path,) = opened.folder.journals.glob("*.arrow")
    (row,) = read_journal(path).records
    assert (row.status, row.backend) == ("completed", "rewritten")
    assert row.message.startswith("trained by several backends: plain on ")


@pytest.mark.slow
def test_a_study_of_one_backend_says_nothing_and_it_is_what_was_asked_for(folder: Path) -> None:
    train(folder, "tiny.yaml", "launch.backend=plain")
    assert "backends" not in in_this_process(folder, "status", "tiny").stdout
    assert in_this_process(folder, "verify", "tiny").stdout.startswith(
        "tiny: all is well with what is recorded\n"
    )
    assert set(ResultStore(Path("studies/tiny/results.h5")).runs()["backend"]) == {"plain"}


def test_another_backend_is_refused_in_one_line(folder: Path) -> None:
    said = in_this_process(folder, "run", "tiny.yaml", "launch.backend=fast", expect=2).stderr
    assert "launch.backend" in said
    assert "input should be 'plain' or 'rewritten'" in said.splitlines()[-1]


def test_the_backend_says_what_numbers_depend_on() -> None:
    here = backend_here()
    instructions = torch.backends.cpu.get_cpu_capability().lower()
    assert str(here).startswith(f"rewritten on {instructions} in ")
    assert backend_here("plain") == dataclasses.replace(here, kind="plain")


def test_a_sweep_that_leaves_the_backend_to_us_may_say_so(folder: Path) -> None:
    """As those in the folders of studies that older versions began do."""
    said = in_this_process(folder, "run", "tiny.yaml", "launch.backend=null", "--dry-run").stdout
    assert "dry run of tiny" in said
