"""20,000 jobs in one launch: in seconds, with few files, and known to the next launch."""

import json
import os
import resource
import subprocess
from pathlib import Path

import pytest
from command import command, environment
from fake_slurm import FakeSlurm

from anynet_study.study import Study

JOBS = 20_000
SWEEP = """
name: many
population:
  space: {base: anynetx, depths: [1, 4], widths: [8, 128], stem: cifar, stem_width: 8}
  count: 5000
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
#: Of a login node.
MOST_MEMORY = 500 << 20


@pytest.mark.slow
def test_twenty_thousand_jobs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    FakeSlurm(tmp_path / "slurm", monkeypatch)
    (tmp_path / "many.yaml").write_text(SWEEP)

    def launch() -> tuple[dict[str, int], resource.struct_rusage]:
        arguments = command("launch", "many.yaml", "--json")
        with subprocess.Popen(
            arguments, cwd=tmp_path, env=environment(tmp_path), stdout=subprocess.PIPE, text=True
        ) as process:
            assert process.stdout is not None
            told = json.loads(process.stdout.read())
            _, status, used = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
        assert process.returncode == 0
        return told, used

    told, first = launch()
    assert (told["submitted"], told["jobs"]) == (JOBS, JOBS)
    told, second = launch()
    assert (told["submitted"], told["under_way"]) == (0, JOBS)
    for used in (first, second):
        assert used.ru_utime + used.ru_stime < 30
        assert used.ru_maxrss << 10 < MOST_MEMORY
    study = Study(tmp_path / "studies" / "many")
    files = [*study.jobs.iterdir(), *study.logs.iterdir()]
    assert len(files) < 50
    assert sum(path.stat().st_size for path in files) < 50 * JOBS
