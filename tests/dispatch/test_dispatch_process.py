"""Signals: noted, answered between two steps, and passed on to who else wants them."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from anynet_study.dispatch.process import NOTED, TUNABLES, Interruption, huge_pages

HUGE = "glibc.malloc.hugetlb=1"
#: A worker with one long run, as submitit would call it.
WORKER = """
import sys
from pathlib import Path
from anynet_study.dispatch.plan import load_views, make_plan
from anynet_study.dispatch.job import Job
from anynet_study.study_folder import StudyFolder, sample
from anynet_study.sweep import Sweep

folder = Path(sys.argv[1])
sweep = Sweep.load(folder / "long.yaml")
study = StudyFolder(folder / "study")
study.begin(sweep, sample(sweep.population))
runs = make_plan(sweep, study.population(), load_views(sweep))
ids = tuple(run.run_id for run in runs)
job = Job(str(study.folder), str(folder / "data"), sweep.to_yaml(), ids)
print("done", job())
"""
LONG = """
name: long
population:
  space: {base: anynetx, depths: [1, 2], widths: [8, 32], stem: cifar, stem_width: 8}
  count: 1
source: digits
datasets: {digits: {}, blobs: {}}
recipes: {basic: {epochs: 5000, batch_size: 64, crop: none}}
"""


@pytest.mark.parametrize("number", NOTED)
def test_each_signal_is_noted_and_handlers_are_put_back(number: signal.Signals) -> None:
    at_first = signal.signal(number, signal.default_int_handler)
    try:
        before = [signal.getsignal(each) for each in NOTED]
        interruption = Interruption()
        assert not interruption.requested()
        with interruption.listening():
            signal.raise_signal(number)
            assert interruption.requested()
        assert interruption.signal == number
        assert [signal.getsignal(each) for each in NOTED] == before
    finally:
        signal.signal(number, at_first)


def test_a_signal_that_is_ignored_stays_ignored() -> None:
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        interruption = Interruption()
        with interruption.listening():
            signal.raise_signal(signal.SIGINT)
        assert not interruption.requested()
        assert signal.getsignal(signal.SIGINT) == signal.SIG_IGN
    finally:
        signal.signal(signal.SIGINT, before)


@pytest.mark.parametrize(
    ("number", "passed_on"),
    [(signal.SIGUSR2, True), (signal.SIGUSR1, True), (signal.SIGTERM, False)],
)
def test_what_else_waits_for_preemption_is_told_afterwards(
    number: signal.Signals, passed_on: bool
) -> None:
    told: list[int] = []
    before = signal.signal(number, lambda caught, _: told.append(caught))
    try:
        interruption = Interruption()
        with interruption.listening():
            signal.raise_signal(number)
            assert told == []
        interruption.pass_on()
    finally:
        signal.signal(number, before)
    assert told == ([number] if passed_on else [])


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGUSR1])
def test_a_worker_saves_and_leaves(tmp_path: Path, number: signal.Signals) -> None:
    (tmp_path / "long.yaml").write_text(LONG)
    environment = {**os.environ, "ANYNET_DATA": str(tmp_path / "data"), "PYTHONUNBUFFERED": "1"}
    with subprocess.Popen(
        [sys.executable, "-c", WORKER, str(tmp_path)],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as worker:
        assert worker.stdout is not None
        run_id = next(line.split()[0] for line in worker.stdout if line.endswith("begins\n"))
        time.sleep(0.5)
        worker.send_signal(number)
        said, _ = worker.communicate(timeout=300)
    assert worker.returncode == 0
    assert f"{run_id}: saved on" in said
    assert "done 2" in said
    assert [path.stem for path in (tmp_path / "study/checkpoints").iterdir()] == [run_id]
    assert not (tmp_path / "study/journals").exists()  # no row of a run that has not ended


@pytest.mark.parametrize("before", [None, "glibc.malloc.check=0"])
def test_huge_pages_are_asked_for_beside_what_is_set(
    before: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    if before is None:
        monkeypatch.delenv(TUNABLES, raising=False)
    else:
        monkeypatch.setenv(TUNABLES, before)
    with huge_pages():
        assert os.environ[TUNABLES].split(":") == [*([before] if before else []), HUGE]
    assert os.environ.get(TUNABLES) == before
