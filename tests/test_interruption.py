"""kill -9 and Ctrl-C at random moments: nothing finished is lost, and the results are the same."""

import os
import random
import signal
import subprocess
import time
from contextlib import suppress
from pathlib import Path

import psutil
import pytest
from command import SWEEPS, anynet_study, command, environment, in_this_process

from anynet_study.store import finished_runs, stores_equal

pytestmark = pytest.mark.slow

SMALL = [
    "population.count=6",
    "replicates.architectures=2",
    "recipes.basic.epochs=2",
    "recipes.basic.overrides.digits-5.epochs=2",
    "recipes.basic.overrides.digits-2.epochs=2",
]
KILLS = 10
LONGEST_WAIT = 120.0


def interrupt(process: "subprocess.Popen[bytes]", how: str) -> None:
    """End the launcher alone, or with all its workers, or as Ctrl-C on a terminal does."""
    launcher = psutil.Process(process.pid)
    workers = launcher.children(recursive=True)
    for each in [launcher] if how == "kill launcher" else [launcher, *workers]:
        with suppress(psutil.NoSuchProcess):  # it may be done by now
            each.send_signal(signal.SIGINT if how == "ctrl-c" else signal.SIGKILL)
    process.wait(LONGEST_WAIT)
    psutil.wait_procs(workers, timeout=10)


@pytest.fixture(scope="module")
def uninterrupted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("uninterrupted")
    anynet_study(folder, "run", SWEEPS / "quickstart.yaml", *SMALL, "--resamples", 100)
    return folder / "studies" / "quickstart"


def test_ten_interruptions_change_nothing(uninterrupted: Path, tmp_path: Path) -> None:
    moments = random.Random(0)
    journals = tmp_path / "studies" / "quickstart" / "journals"
    recorded: dict[str, str] = {}
    for number in range(KILLS):
        process = subprocess.Popen(
            command("run", SWEEPS / "quickstart.yaml", *SMALL, "--resamples", 100),
            cwd=tmp_path,
            env=environment(tmp_path),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            # A shell in the background lets what it starts ignore Ctrl-C.
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
        )
        time.sleep(moments.uniform(0.5, 9.0))
        if process.poll() is None:
            interrupt(process, ["kill launcher", "kill all", "ctrl-c"][number % 3])
        now = finished_runs(journals)
        assert recorded.items() <= now.items()
        recorded = now
    ours = tmp_path / "studies" / "quickstart"
    for left_over in ours.rglob("*.tmp"):  # what is fresh stays: another command may be at it
        with suppress(FileNotFoundError):  # a worker lives on, and it was its
            os.utime(left_over, (1.0, 1.0))
    anynet_study(tmp_path, "run", SWEEPS / "quickstart.yaml", *SMALL, "--resamples", 100)
    assert stores_equal(ours / "results.h5", uninterrupted / "results.h5") == []
    assert not list(ours.rglob("*.tmp"))


def test_the_second_time_there_is_nothing_to_do(uninterrupted: Path) -> None:
    before = {path: path.stat().st_mtime_ns for path in uninterrupted.rglob("*")}
    done = in_this_process(
        uninterrupted.parents[1], "run", SWEEPS / "quickstart.yaml", *SMALL, "--resamples", 100
    )
    assert "nothing to do" in done.stdout
    after = {path: path.stat().st_mtime_ns for path in uninterrupted.rglob("*")}
    assert {p: t for p, t in after.items() if p.is_file() and p.name != ".lock"} == {
        p: t for p, t in before.items() if p.is_file() and p.name != ".lock"
    }
