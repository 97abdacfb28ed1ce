"""The ways of training that are compared, and how long each takes."""

import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from pathlib import Path

from anynet_study.engine.planning import PlannedRun
from benchmarks.turns import Turns, take_turns

from .results import Result, last_written, read_results
from .task import Task

#: Plain loops at a time on a GPU.
GPU_PROCESSES = 4


@dataclass(frozen=True)
class Way:
    """One way to train the runs of a task: processes that start together."""

    name: str
    title: str
    #: Arguments of Python, of each process; SWEEP and OUT stand for the task's.
    processes: tuple[tuple[str, ...], ...]
    threads: int = 0


@dataclass(frozen=True)
class Measured:
    """A way's results, and how many seconds of its turns it took."""

    results: list[Result]
    #: Until the first run began.
    start_up: float
    #: Until the last result was on disk.
    wall: float
    #: Training images a second of each process, from the beginning of its first run to its last
    #: result on disk, in sum: a long study's, without start-up and the wait for the last process.
    images_a_second: float

    @property
    def runs_an_hour(self) -> float:
        """Everything inside: start-up, tests, journals."""
        return 3600 * len(self.results) / self.wall


def ways(device: str) -> list[Way]:
    """What is compared on a device, slowest first."""
    if device == "cpu":
        cores = len(os.sched_getaffinity(0))
        return [
            Way("loader", f"plain loop, DataLoader, {cores} threads", _plain("loader")),
            Way("reference", f"reference engine, {cores} threads", _plain("reference")),
            Way("resident", f"plain loop, channels last, {cores} threads", _plain("resident")),
            Way(
                "processes",
                f"the same, {cores} processes of 1 thread",
                _plain("resident", 1, cores),
                threads=1,
            ),
            *_timm(f"channels last, {cores} threads"),
            Way("fast", f"fast engine, {cores} workers of 1 thread", _study()),
        ]
    several = _plain("resident", 0, GPU_PROCESSES)
    return [
        Way("loader", "plain loop, DataLoader", _plain("loader")),
        Way("reference", "reference engine", _plain("reference")),
        Way("resident", "plain loop, resident data", _plain("resident")),
        Way("processes", f"the same, {GPU_PROCESSES} processes", several),
        *_timm("bf16, resident data"),
        Way("one", "fast engine, one run at a time", _study("launch.at_once=1")),
        Way("fast", "fast engine, several at a time", _study()),
    ]


def _timm(how: str) -> list[Way]:
    """Of the network of this size that timm has, where timm is installed."""
    there = find_spec("timm") and find_spec("torchvision")
    return [Way("timm", f"timm's regnetx_004, {how}", _plain("timm"))] if there else []


def measure(
    ways: Sequence[Way], task: Task, out: Path, planned: Sequence[PlannedRun]
) -> dict[str, Measured]:
    """Train the task's runs by each of `ways`, in turns; SystemExit if that fails.

    Results are left in the new folder `out`.
    """
    out.mkdir()
    turns = take_turns({way.name: partial(_start, way, task, out) for way in ways})
    found = {}
    for way in ways:
        its, folder = turns[way.name], out / way.name
        if its.status:
            error = (out / f"{way.name}.log").read_text()
            sys.exit(f"{way.title}: exit {its.status}\n{error[-2000:]}")
        results = read_results(folder, planned, task.images)
        first = min(result.started for result in results)
        last = last_written(folder)
        rate = images_a_second(results, its, last)
        wall = its.until(max(last.values()))
        found[way.name] = Measured(results, its.until(first), wall, rate)
    return found


def images_a_second(results: Sequence[Result], turns: Turns, ended: Mapping[str, float]) -> float:
    """See `Measured`; `ended`: when each process had its last result on disk."""
    rate = 0.0
    for process, end in ended.items():
        own = [result for result in results if result.process == process]
        seconds = turns.until(end) - turns.until(min(result.started for result in own))
        rate += sum(result.images for result in own) / seconds
    return rate


def _start(way: Way, task: Task, out: Path) -> "list[subprocess.Popen[bytes]]":
    names = {"SWEEP": str(task.sweep_file), "OUT": str(out / way.name)}
    environment = task.environment()
    if way.threads:
        environment["OMP_NUM_THREADS"] = str(way.threads)
    with (out / f"{way.name}.log").open("w") as log:
        return [
            subprocess.Popen(
                [sys.executable, *(names.get(argument, argument) for argument in arguments)],
                env=environment,
                stdout=subprocess.DEVNULL,
                stderr=log,
            )
            for arguments in way.processes
        ]


def _plain(kind: str, threads: int = 0, processes: int = 1) -> tuple[tuple[str, ...], ...]:
    command = ("-m", "benchmarks.training.plain", "SWEEP", "OUT", kind, str(threads))
    return tuple((*command, str(part), str(processes)) for part in range(processes))


def _study(*overrides: str) -> tuple[tuple[str, ...], ...]:
    return (("-m", "benchmarks.training.study", "SWEEP", "OUT", *overrides),)
