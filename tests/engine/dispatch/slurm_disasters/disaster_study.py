"""A small study on a real Slurm, and what a test must know to strike at the right moment."""

import re
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import psutil
import pytest
from command import command, environment, told, train
from tiny_study import Told

from anynet_study.engine.dispatch import Recorded
from anynet_study.store import ResultStore, stores_equal

Found = TypeVar("Found")

#: What a sweep must say for a job a run.
A_JOB_A_RUN = "launch.job_minutes=0.00001"
#: Jobs stay pending until they are released.
HELD = "launch.slurm.additional_parameters.hold=true"
#: 2 architectures x 4 datasets: first a run of a second or more, then some of ms.
SWEEP = """
population:
  space: {base: anynetx, depths: [1, 2], widths: [8, 32], stem: cifar, stem_width: 8}
  count: 2
  flops: [5.0e4, 2.0e5]
  resolution: 8
  classes: 10
source: digits
datasets:
  digits: {per_class: 50}
  digits-2: {base: digits, classes: 2, per_class: 9}
  gratings: {per_class: 4}
  blobs: {per_class: 4}
recipes:
  basic:
    {epochs: 1, batch_size: 16, crop: none, flip: false, overrides: {digits: {epochs: 4}}}
launch: {cluster: slurm, checkpoint_seconds: 0.05}
"""
RUNS = 8
#: A job is to begin while other tests load the machine.
LONGEST_WAIT = 120.0
#: More launches than a disaster may cost.
LAUNCHES = 4


def slurm(*command: object) -> str:
    """What a command of Slurm says."""
    words = [str(word) for word in command]
    done = subprocess.run(words, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, f"{words}: {done.stderr}"
    return done.stdout


def waited_for(found: Callable[[], Found], what: str, every: float = 0.1) -> Found:
    """What `found` gives as soon as that is something; it is asked `every` so many seconds."""
    until = time.monotonic() + LONGEST_WAIT
    while time.monotonic() < until:
        if there := found():
            return there
        time.sleep(every)
    pytest.fail(f"waited in vain for {what}\n{slurm('squeue')}")


def begin_at_once(job: str) -> None:
    """Wait until a job is back in the queue, and spare it the minutes for which Slurm delays it.

    Not all of it: a job that begins in the second in which it was queued again is refused.
    """
    pending = ("squeue", "--noheader", "--jobs", job, "--states", "pending")
    waited_for(lambda: slurm(*pending), f"job {job} to be queued again")
    slurm("scontrol", "update", f"JobId={job}", "StartTime=now+2")


def in_seconds(seconds: float) -> str:
    """A time as Slurm takes it."""
    return time.strftime("%FT%T", time.localtime(time.time() + seconds))


@dataclass(frozen=True)
class DisasterStudy:
    """A study in a folder of its own, commanded in this process as the shell would."""

    above: Path
    name: str
    data: Path
    runs: int = RUNS

    @property
    def folder(self) -> Path:
        return self.above / "studies" / self.name

    @property
    def sweep(self) -> Path:
        return self.above / "sweep.yaml"

    def write(self, sweep: str = SWEEP) -> None:
        """Write the sweep file; later keys win, so tests append theirs."""
        self.above.mkdir(exist_ok=True)
        self.sweep.write_text(f"name: {self.name}\n{sweep}")

    def tell(self, *arguments: object) -> Told:
        """Run a command of `anynet-study` to its end, in this process."""
        done = told(self.above, arguments, {"ANYNET_DATA": str(self.data)})
        return Told(done.returncode, done.stdout, done.stderr)

    def begin(self, *arguments: str, **variables: str) -> "subprocess.Popen[bytes]":
        """Run a command in a process that may be killed, with other environment variables."""
        env = {**environment(self.above), "ANYNET_DATA": str(self.data), **variables}
        return subprocess.Popen(command(*arguments), cwd=self.above, env=env)

    def launch(self, *options: object) -> int:
        """Launch what is missing; how many runs were submitted."""
        return submitted(self.tell("launch", "sweep.yaml", *options))

    def jobs(self, states: str = "all") -> list[str]:
        """Ids of the study's jobs that Slurm has in some states; `all` that are not over."""
        chosen = [] if states == "all" else ["--states", states]
        listed = ["--noheader", "--array", "--format=%i", "--name", f"anynet-{self.name}"]
        return slurm("squeue", *listed, *chosen).split()

    def recorded(self) -> dict[str, str]:
        """Statuses by run id."""
        return dict(Recorded.read(self.folder / "journals").runs)

    def done(self) -> bool:
        """Whether every run has a result."""
        results = [status for status in self.recorded().values() if status != "failed"]
        return len(results) == self.runs

    def at_a_run(self, since: float = 0.0) -> list[Path]:
        """Checkpoints of runs that are not finished, written after `since` (unix time)."""
        recorded = self.recorded()
        found = (self.folder / "checkpoints").glob("*.pt")
        return [it for it in found if it.stem not in recorded and it.stat().st_mtime > since]

    def wait_for_a_run(self, of: Path | None = None, since: float = 0.0) -> Path:
        """Until a run is under way, with a checkpoint to go on from: this one.

        Its worker is suspended, or on a busy machine it might be done before what is to befall it;
        Slurm wakes what it ends.

        Args:
            of: The checkpoint that is waited for, if not any.
            since: Written after this (unix time).
        """

        def wanted() -> list[Path]:
            return [it for it in self.at_a_run(since) if of in (None, it)]

        return waited_for(lambda: self._stopped_at(wanted), f"a run of {self.name}")[0]

    def _stopped_at(self, wanted: Callable[[], list[Path]]) -> list[Path]:
        if not wanted():
            return []
        workers = self.workers()
        for worker in workers:
            worker.suspend()
        if found := wanted():
            return found
        for worker in workers:
            worker.resume()
        return []

    def workers(self) -> list[psutil.Process]:
        """The processes that train."""
        return [it for it in self.processes() if it.info["name"].startswith("python")]

    def batch_shells(self) -> list[psutil.Process]:
        """The shells of its jobs, each a child of a slurmstepd."""
        return [it for it in self.processes() if "slurm_script" in " ".join(it.info["cmdline"])]

    def processes(self) -> list[psutil.Process]:
        """All processes that its jobs have now."""
        found = psutil.process_iter(["name", "cmdline", "environ"])
        mine = ("SLURM_JOB_NAME", f"anynet-{self.name}")
        return [process for process in found if mine in (process.info["environ"] or {}).items()]

    def logs(self) -> str:
        """What its jobs wrote to stderr."""
        return "\n".join(path.read_text() for path in self.folder.glob("logs/*.err"))

    def run_here(self) -> None:
        """Train and collect in this process, without Slurm."""
        self.write()
        train(self.above, self.sweep, "launch.cluster=local")

    def wait_for_its_jobs(self) -> None:
        """Until Slurm has none of its jobs."""
        waited_for(lambda: not self.jobs(), f"the jobs of {self.name} to end", every=0.5)

    def finish(self, *options: object, launches: int = LAUNCHES) -> None:
        """Launch until every run is recorded, as a user would."""
        self.wait_for_its_jobs()
        while not self.done():
            assert launches, f"not done: {self.recorded()}\n{self.logs()}"
            self.launch(*options)
            self.wait_for_its_jobs()
            launches -= 1

    def collect(self) -> Path:
        """Collect; the store."""
        collected = self.tell("collect", self.name)
        assert collected.code == 0, collected.err
        return self.folder / "results.h5"

    def check(self, undisturbed: "DisasterStudy") -> None:
        """Every run is exactly once in the store, with the numbers of an undisturbed study."""
        store = self.collect()
        with ResultStore(store) as results:
            ids = results.runs(["run_id"])["run_id"]
        assert len(ids) == len(set(ids)) == self.runs
        assert stores_equal(store, undisturbed.folder / "results.h5") == []


def submitted(launched: Told) -> int:
    """How many runs a launch says that it submitted."""
    counts = re.search(r"(\d+) submitted|nothing to submit", launched.out)
    assert launched.code == 0, launched.err
    assert counts is not None, launched.out
    return int(counts[1] or 0)
