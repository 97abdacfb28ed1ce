"""A study of a million runs on a thousand simulated workers, by the real planner and journals.

    python -m benchmarks.dispatch_million [RUNS] [WORKERS] [LOST]

By default a million, a thousand and 2% of the jobs; 1.5 GB of disk.

What `launch` and `status` do is done for real: the plan, what is recorded, prices learned from the
last runs, what is tried again, the packing into jobs. The cluster is a simulation: runs take about
the time that was predicted, jobs wait for a worker, some are lost on the way, runs diverge or fail.
Each worker appends what it finished to a journal of its own. Launches are repeated until nothing is
left to do; then every run must have come to its end exactly once.

Each launch is a process, as on a login node. Printed of it: its jobs, its processor time and peak
memory, and the share of the workers' time that start-up and waiting for the last job cost.
"""

import contextlib
import heapq
import itertools
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import BinaryIO

import numpy as np

from anynet_study.core.metrics import CURVES
from anynet_study.engine.dispatch import JournalReader, open_sweep, pack_by_length, retries
from anynet_study.store import RunRecord
from anynet_study.store.frames import encode
from anynet_study.store.records import RUN

SWEEP_FILE, JOBS_FILE = "sweep.yaml", "jobs.txt"
VIEWS = 13
SWEEP = """
name: million
population:
  space: {{base: anynetx, depths: [1, 16], widths: [8, 256], stem: cifar, stem_width: 8}}
  count: {count}
  flops: [1.0e5, 2.0e7]
  resolution: 8
  classes: 10
source: digits
datasets: {{digits: {{}}, blobs: {{}}, {views}}}
recipes: {{basic: {{epochs: 200}}}}
"""
#: Epochs of the curves in a record.
EPOCHS = 10
#: Of the simulated cluster: seconds from a job's start to its first step, and the shares of runs
#: that diverge, that are short of memory and that fail for good.
START_UP = 10.0
FATES = {"diverged": 1e-3, "oom": 1e-4, "code": 1e-5}
#: Tries of a run that is short of memory.
ATTEMPTS = 3
BEGIN = 1.7e9


class Frame:
    """A record in which ids and times are patched: a million take a minute to write."""

    def __init__(self, fate: str) -> None:
        failed = fate in ("oom", "code")
        curve = np.linspace(90, 20, EPOCHS, dtype=np.float32)
        template = RunRecord(
            run_id="r" * 16,
            spec=json.dumps({"recipe": {f"setting_{number}": number / 8 for number in range(30)}}),
            architecture="a" * 16,
            dataset="digits",
            recipe="basic",
            replicate=0,
            status="failed" if failed else fate,  # type: ignore[arg-type]
            failure_kind=fate if failed else "",  # type: ignore[arg-type]
            metric="top1",
            error=float("nan") if failed else 20.0,
            curves={} if failed else dict.fromkeys(CURVES, curve),
            seconds=1234.5,
            started=54321.5,
            host="node1",
            device="cpu",
            torch_version="2.13.0",
            code_version="0.1.0",
            engine="fast",
        )
        frame = self._frame = bytearray(encode(RUN.to_batch(template), RUN.version))
        marks = [b"r" * 16, np.float64(1234.5).tobytes(), np.float64(54321.5).tobytes()]
        self._places = [frame.index(mark) for mark in marks]
        at = frame.index(b"crc32=") + 6
        self._crc = slice(at, at + 8)

    def record(self, run_id: str, seconds: float, started: float) -> bytes:
        values = run_id.encode(), np.float64(seconds).tobytes(), np.float64(started).tobytes()
        for place, value in zip(self._places, values, strict=True):
            self._frame[place : place + len(value)] = value
        self._frame[self._crc] = b"00000000"
        self._frame[self._crc] = b"%08x" % zlib.crc32(self._frame)
        return bytes(self._frame)


class Cluster:
    """Workers that take the jobs in turn; it has its own clock, in seconds since 1970."""

    def __init__(self, journals: Path, workers: int, lost: float) -> None:
        self.now = BEGIN
        #: How runs ended; a run may be there more than once.
        self.ends: Counter[str] = Counter()
        self._journals, self._workers = journals, workers
        #: Share of jobs that end on the way.
        self._lost = lost
        self._draws = np.random.default_rng(0)
        self._frames = {fate: Frame(fate) for fate in ("completed", *FATES)}

    def train(self, jobs: Iterable[list[tuple[str, float]]]) -> tuple[float, float]:
        """Until all jobs, of runs and their predicted seconds, have ended.

        Of the workers' time the shares that start-up took, and waiting for the last job.
        """
        free = [(self.now, number) for number in range(self._workers)]
        began, starting = self.now, 0.0
        for job in jobs:
            at, number = heapq.heappop(free)
            with (self._journals / f"{number}-{began:.0f}.arrow").open("ab") as file:
                file.write(b"" if file.tell() else RUN.schema.serialize())
                heapq.heappush(free, (self._job(job, at + START_UP, file), number))
            starting += START_UP
        self.now = max(at for at, _ in free)
        whole = self._workers * (self.now - began)
        return starting / whole, sum(self.now - at for at, _ in free) / whole

    def _job(self, job: list[tuple[str, float]], at: float, journal: BinaryIO) -> float:
        """When the job ends, its runs' records in the journal; a lost one ends on the way."""
        draws, shares = self._draws, list(FATES.values())
        trained = draws.integers(len(job)) if draws.random() < self._lost else len(job)
        noise = draws.lognormal(0, 0.1, len(job)).tolist()
        fates = draws.choice(["completed", *FATES], len(job), p=[1 - sum(shares), *shares]).tolist()
        for (run_id, predicted), factor, fate in zip(job[:trained], noise, fates, strict=False):
            self.ends[fate] += 1
            journal.write(self._frames[fate].record(run_id, predicted * factor, at))
            at += predicted * factor
        return at


def launch() -> None:
    """What the login node does, in the folder of a sweep; jobs go to a file instead of Slurm."""
    clock = time.process_time
    times = [clock()]
    prepared = open_sweep(Path(SWEEP_FILE), [])
    times.append(clock())
    reader = JournalReader(prepared.folder.journals)
    recorded = reader.read()
    times.append(clock())
    known = prepared.calibrated(reader)
    todo = recorded.todo(known.plan, retries(recorded, ATTEMPTS))
    count = 0
    with Path(JOBS_FILE).open("w", encoding="ascii") as file:
        for job in pack_by_length(todo, 60 * prepared.sweep.launch.job_minutes):
            count += 1
            file.write(" ".join(f"{run.run_id} {run.seconds:.2f}" for run in job) + "\n")
    times.append(clock())
    seconds = [f"{b - a:.1f} s" for a, b in itertools.pairwise(times)]
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(
        f"{len(todo)} of {len(prepared.plan)} runs in {count} jobs; planned in {seconds[0]}, "
        f"journals read in {seconds[1]}, packed in {seconds[2]}; peak {peak:.0f} MiB"
    )


def queued() -> Iterator[list[tuple[str, float]]]:
    for line in Path(JOBS_FILE).read_text(encoding="ascii").splitlines():
        words = line.split()
        yield list(zip(words[::2], map(float, words[1::2]), strict=True))


def study(runs: int, workers: int, lost: float) -> None:
    views = ", ".join(
        f"d{i}: {{base: digits, classes: {2 + i % 9}, per_class: {10 + i}}}" for i in range(VIEWS)
    )
    Path(SWEEP_FILE).write_text(SWEEP.format(count=-(-runs // (VIEWS + 2)), views=views))
    journals = Path("studies/million/journals")
    journals.mkdir(parents=True)
    cluster = Cluster(journals, workers, lost)
    for number in itertools.count(1):
        command = [sys.executable, __file__, "--launch"]
        told = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout
        print(f"launch {number}: {told.strip()}", flush=True)
        if not Path(JOBS_FILE).stat().st_size:
            break
        starting, waiting = cluster.train(queued())
        print(f"    start-up {starting:.1%}, waiting for the last job {waiting:.1%}", flush=True)
    recorded = JournalReader(journals).read()
    statuses = Counter(recorded.runs.values())
    assert len(recorded.runs) >= runs, statuses
    for status in ("completed", "diverged"):
        assert cluster.ends[status] == statuses[status], (cluster.ends, statuses)
    print(f"every run came to its end once: {dict(statuses)}, tries: {dict(cluster.ends)}")


def main() -> None:
    if sys.argv[1:] == ["--launch"]:
        launch()
        return
    given = [float(it) for it in sys.argv[1:]]
    runs, workers, lost = given + [1e6, 1000, 0.02][len(given) :]
    with tempfile.TemporaryDirectory() as name, contextlib.chdir(name):
        os.environ["ANYNET_DATA"] = "data"
        study(int(runs), int(workers), lost)


if __name__ == "__main__":
    main()
