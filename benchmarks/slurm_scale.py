"""Thousands of trivial runs in one study on a Slurm cluster: what a run costs beside its training.

    export SLURM_CONF=$(tests/slurm.sh)
    python -m benchmarks.slurm_scale [RUNS ...]    (default 2000 20000, about ten minutes)
    python -m benchmarks.slurm_scale --recorded [RUNS ...]    (no cluster needed)

A run is one step of a small network on a few images. For each number of runs, in a study of its
own: seconds of `launch` until all are queued; of `launch` again, which has nothing to do; runs an
hour of the cluster; how much slower the last fifth was than the first; files in the study's folder;
seconds of `status` and of `collect`, and the most memory that any of these commands took. Beside
seconds stand those of the CPU, user and system: on a busy machine read these. With `--recorded` the
jobs' journals are written without training, to time what reads them: `status` and `collect`, three
times each.
"""

import os
import resource
import subprocess
import sys
import tempfile
import time
from contextlib import chdir
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from anynet_study.core.metrics import CURVES
from anynet_study.engine.dispatch import open_sweep
from anynet_study.store import JournalWriter, ResultStore, RunRecord

SWEEP = """
name: scale
population:
  space: {{base: anynetx, depths: [1, 4], widths: [8, 64], stem: cifar, stem_width: 8}}
  count: {architectures}
  flops: [5.0e4, 1.0e6]
  resolution: 8
  classes: 10
source: digits
datasets:
  digits: {{per_class: 4}}
  digits-5: {{base: digits, classes: 5, per_class: 4}}
  digits-2: {{base: digits, classes: 2, per_class: 4}}
  blobs: {{per_class: 4}}
  gratings: {{per_class: 4}}
recipes: {{one-step: {{steps: 1, batch_size: 8, crop: none, flip: false}}}}
launch: {{cluster: slurm, job_minutes: {minutes}}}
"""
DATASETS = 5
DEFAULT = (2000, 20000)
#: Jobs that the runs are packed into, about.
JOBS = 20


@dataclass(frozen=True)
class Done:
    """A command that ended well."""

    seconds: float
    #: Of the CPU, user and system.
    cpu: float
    #: Peak memory of the largest command so far, MiB.
    memory: float
    output: str

    def __str__(self) -> str:
        return f"{self.seconds:.1f} s ({self.cpu:.1f})"


def anynet_study(folder: Path, *arguments: str) -> Done:
    """Run a command in `folder`."""
    began, before = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
    command = [sys.executable, "-m", "anynet_study", *arguments]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{' '.join(arguments)}: {done.stderr}")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return Done(time.perf_counter() - began, cpu, after.ru_maxrss / 1024, done.stdout)


def jobs_left() -> int:
    command = ["squeue", "--noheader", "--array", "--name", "anynet-scale", "--format=%i"]
    return len(subprocess.run(command, capture_output=True, text=True, check=True).stdout.split())


def show(runs: int, folder: Path) -> None:
    minutes = 0.05 * runs / JOBS / 60
    sweep = folder / "sweep.yaml"
    sweep.write_text(SWEEP.format(architectures=runs // DATASETS, minutes=minutes))
    launched = anynet_study(folder, "launch", "sweep.yaml")
    again = anynet_study(folder, "launch", "sweep.yaml")
    print(f"\n{launched.output.strip()}")
    print(f"launch {launched}, again {again}", flush=True)
    while jobs_left():
        time.sleep(2)
    status = anynet_study(folder, "status", "scale", "--json")
    collected = anynet_study(folder, "collect", "scale")
    study = folder / "studies" / "scale"
    with ResultStore(study / "results.h5") as store:
        table = store.runs(["status", "started", "seconds"])
    assert len(table) == runs, len(table)
    assert (table["status"] == "completed").all(), table["status"]
    ended = np.sort((table["started"] + table["seconds"]).to_numpy())
    fifth = runs // 5
    first, last = ended[fifth] - ended[0], ended[-1] - ended[-fifth - 1]
    whole = ended[-1] - table["started"].min()
    files = sum(len(names) for _, _, names in os.walk(study))
    print(
        f"{runs} runs: {3600 * runs / whole:,.0f} an hour, {1e3 * whole / runs:.1f} ms each; "
        f"the last fifth took {last / first:.2f} times the first; {files} files; "
        f"status {status}, collect {collected}; "
        f"peak {collected.memory:.0f} MiB",
        flush=True,
    )


def write_journals(folder: Path) -> None:
    """The journals that the study's jobs would leave: of each run an epoch, and its predictions."""
    draws = np.random.default_rng(0)
    with chdir(folder):
        opened = open_sweep(Path("sweep.yaml"))
        opened.begin()
        for job in range(JOBS):
            with JournalWriter(opened.folder.new_journal()) as journal:
                for run in opened.plan.runs[job::JOBS]:
                    classes = len(opened.views[run.dataset].classes)
                    record = RunRecord(
                        **run.named(),
                        status="completed",
                        error=draws.uniform(0, 100),
                        curves={
                            name: draws.uniform(0, 100, 1).astype(np.float32) for name in CURVES
                        },
                        predictions=draws.integers(classes, size=4 * classes, dtype=np.uint16),
                        seconds=0.03,
                        started=1.7e9,
                        host="node1",
                        device="cpu",
                        torch_version="2.13",
                        code_version="0.1.0",
                    )
                    journal.append(record)


def show_recorded(runs: int, folder: Path) -> None:
    (folder / "sweep.yaml").write_text(SWEEP.format(architectures=runs // DATASETS, minutes=10))
    write_journals(folder)
    for _ in range(3):
        status = anynet_study(folder, "status", "scale", "--json")
        collected = anynet_study(folder, "collect", "scale")
        told = f"status {status}, collect {collected}; peak {collected.memory:.0f} MiB"
        print(f"{runs} runs recorded: {told}", flush=True)
    with ResultStore(folder / "studies" / "scale" / "results.h5") as store:
        assert len(store.runs(["status"])) == runs


def main() -> None:
    recorded, sizes = "--recorded" in sys.argv, [int(one) for one in sys.argv[1:] if one.isdigit()]
    for runs in sizes or DEFAULT:
        with tempfile.TemporaryDirectory() as name:
            (show_recorded if recorded else show)(runs, Path(name))


if __name__ == "__main__":
    main()
