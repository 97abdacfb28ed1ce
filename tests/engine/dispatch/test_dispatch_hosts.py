"""Two hosts that share a folder: namespaces of their own for network, host name and processes."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
from command import anynet_study, environment
from test_dispatch_work import FAKE, MANY
from tiny_study import TINY

from anynet_study.engine.dispatch import JournalReader, current_status, open_study, submitted_jobs
from anynet_study.engine.study_folder import StudyFolder
from anynet_study.store import read_journals

pytestmark = pytest.mark.slow

NAMESPACES = ["unshare", "--net", "--uts", "--pid", "--mount-proc", "--fork", "--kill-child"]


@pytest.fixture(autouse=True)
def _namespaces() -> None:
    if os.geteuid():
        pytest.skip("only root may make namespaces")
    try:
        done = subprocess.run([*NAMESPACES, "true"], capture_output=True, text=True)
    except FileNotFoundError:
        pytest.skip("there is no unshare here")
    if done.returncode:
        pytest.skip(f"namespaces cannot be made here: {done.stderr.strip()}")


Host = subprocess.Popen[str]


@pytest.fixture
def hosts(tmp_path: Path) -> Iterator[list[Host]]:
    """Two hosts, with a worker each that is at every run for a moment."""
    (tmp_path / "tiny.yaml").write_text(TINY)
    anynet_study(tmp_path, "launch", "tiny.yaml", *MANY)
    python = [sys.executable, FAKE, tmp_path / "studies/tiny", "1", "--seconds", "0.4", "--quick"]
    running = [
        subprocess.Popen(
            [*NAMESPACES, "sh", "-c", f'hostname {name}; exec "$@"', "-", *python],
            env=environment(tmp_path),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        for name in ("east", "west")
    ]
    yield running
    for host in running:
        kill(host)
        with host:
            host.wait(60)


def kill(host: Host) -> None:
    """All processes of a host at once, as when its power fails."""
    if host.poll() is None:
        for process in psutil.Process(host.pid).children(recursive=True):
            process.send_signal(signal.SIGKILL)


def test_workers_on_two_hosts_share_a_study_and_one_is_lost(
    tmp_path: Path, hosts: list[Host], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANYNET_DATA", str(tmp_path / "data"))
    study = StudyFolder(tmp_path / "studies/tiny")
    opened, until = open_study(study.folder), time.monotonic() + 300
    while (
        len(read_journals(study.journals)) < 10
        or current_status(opened, JournalReader(study.journals)).jobs_running < 2
    ):
        assert time.monotonic() < until
        time.sleep(0.3)
    assert {job.host for job in submitted_jobs(study.jobs)} == {"east", "west"}
    east, west = hosts
    kill(east)
    said = west.communicate(timeout=500)[0]
    assert west.returncode == 0, said
    rows = read_journals(study.journals)
    assert len(set(rows["run_id"].to_pylist())) == len(rows) == 120
    assert set(rows["status"].to_pylist()) == {"completed"}
