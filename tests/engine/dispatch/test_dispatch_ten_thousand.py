"""10,000 jobs in one launch: in seconds, with a small file a job, and known to the next launch."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from command import environment
from fake_slurm import FakeSlurm

from anynet_study.engine.study_folder import StudyFolder

JOBS = 10_000
SWEEP = """
name: many
population:
  space: {base: anynetx, depths: [1, 4], widths: [8, 128], stem: cifar, stem_width: 8}
  count: 2500
  resolution: 8
  classes: 10
source: digits
datasets:
  digits: {per_class: 10}
  gratings: {per_class: 10}
  blobs: {per_class: 10}
  digits-5: {base: digits, classes: 5, per_class: 10}
recipes: {basic: {steps: 3, batch_size: 16, crop: none}}
launch: {cluster: slurm, job_minutes: 1.0e-9}  # a job a run
"""
#: Of a login node, in bytes.
MOST_MEMORY = 500_000_000
#: A command that leaves what it held at most, in a file: what the system says of a process to its
#: parent counts the parent's own memory, which the child had for a moment.
TELLING = """
import atexit, re, sys
from pathlib import Path
from anynet_study.cli import main

def tell():
    found = re.search(r"VmHWM:\\s+(\\d+) kB", Path("/proc/self/status").read_text())
    Path("peak").write_text(found[1])

atexit.register(tell)
main()
"""


@pytest.mark.slow
def test_ten_thousand_jobs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    FakeSlurm(tmp_path / "slurm", monkeypatch)
    (tmp_path / "many.yaml").write_text(SWEEP)

    def launch() -> tuple[dict[str, int], float, int]:
        arguments = [sys.executable, "-c", TELLING, "launch", "many.yaml", "--json"]
        with subprocess.Popen(
            arguments, cwd=tmp_path, env=environment(tmp_path), stdout=subprocess.PIPE, text=True
        ) as process:
            assert process.stdout is not None
            told = json.loads(process.stdout.read())
            _, status, used = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
        assert process.returncode == 0
        peak = 1024 * int((tmp_path / "peak").read_text())
        return told, used.ru_utime + used.ru_stime, peak

    told, *first = launch()
    assert (told["submitted"], told["jobs"]) == (JOBS, JOBS)
    told, *second = launch()
    assert (told["submitted"], told["under_way"]) == (0, JOBS)
    for seconds, peak in (first, second):
        assert seconds < 30
        assert peak < MOST_MEMORY
    study = StudyFolder(tmp_path / "studies" / "many")
    files = [*study.jobs.iterdir(), *study.logs.iterdir()]
    # submitit writes the callable of every job: one small file for each, and few others.
    pickles = [path for path in files if path.name.endswith("_submitted.pkl")]
    assert len(pickles) == JOBS
    assert all(path.stat().st_size < 500 for path in pickles)
    others = set(files) - set(pickles)
    assert len(others) < 50
    assert sum(path.stat().st_size for path in others) < 50 * JOBS
