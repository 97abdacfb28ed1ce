"""kill -9 and Ctrl-C in a study: nothing finished is lost, and the results are the same."""

import os
import random
import signal
import subprocess
import time
from contextlib import suppress
from pathlib import Path

import psutil
import pytest
from command import command, environment, in_this_process, train
from tiny_study import TINY

from anynet_study.engine.dispatch import Recorded
from anynet_study.store import stores_equal

#: Steps enough that a kill finds every worker at a run; two replicates of a half.
SWEEP = [
    "datasets={digits: {per_class: 60}, blobs: {per_class: 60}}",
    "recipes.basic.epochs=2",
    "replicates={count: 2, architectures: 2}",
    "launch.workers=2",
]
HOW = ("kill launcher", "ctrl-c")
LONGEST_WAIT = 600.0


def interrupt(process: "subprocess.Popen[bytes]", how: str) -> None:
    """End the launcher alone, or with all its workers, as Ctrl-C on a terminal does."""
    launcher = psutil.Process(process.pid)
    workers = launcher.children(recursive=True)
    for each in [launcher] if how == "kill launcher" else [launcher, *workers]:
        with suppress(psutil.NoSuchProcess):  # it may be done by now
            each.send_signal(signal.SIGINT if how == "ctrl-c" else signal.SIGKILL)
    process.wait(LONGEST_WAIT)
    psutil.wait_procs(workers, timeout=10)


@pytest.mark.slow
def test_interruptions_change_nothing(tmp_path: Path) -> None:
    moments = random.Random(0)
    (tmp_path / "tiny.yaml").write_text(TINY)
    run = ["run", "tiny.yaml", *SWEEP, "--resamples", 100]
    ours, whole = tmp_path / "studies" / "tiny", tmp_path / "studies" / "whole"
    train(tmp_path, "tiny.yaml", "name=whole", *SWEEP)
    recorded: dict[str, str] = {}
    for how in HOW:
        process = subprocess.Popen(
            command(*run),
            cwd=tmp_path,
            env=environment(tmp_path),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            # A shell in the background lets what it starts ignore Ctrl-C.
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
        )
        until = time.monotonic() + LONGEST_WAIT
        while (
            len(Recorded.read(ours / "journals").runs) == len(recorded) and process.poll() is None
        ):
            assert time.monotonic() < until, "no run ends"
            time.sleep(0.05)
        time.sleep(moments.uniform(0, 0.3))
        if process.poll() is None:
            interrupt(process, how)
        now = Recorded.read(ours / "journals").runs
        assert recorded.items() <= now.items()
        recorded = now
    for left_over in ours.rglob("*.tmp"):  # what is fresh stays: another command may be at it
        with suppress(FileNotFoundError):  # a worker lives on, and it was its
            os.utime(left_over, (1.0, 1.0))
    in_this_process(tmp_path, *run, "launch.workers=1")
    assert stores_equal(ours / "results.h5", whole / "results.h5") == []
    assert not list(ours.rglob("*.tmp"))
