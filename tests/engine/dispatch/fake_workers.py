"""Real workers with a fake trainer, forked from a process that has imported all they need.

    python fake_workers.py STUDY COUNT [--seconds S] [--kills N] [--apart] [--ahead S]

Lets COUNT workers train a study that was launched with `--cluster none`, a run each S seconds, and
kills N of them at random, each followed by another. Prints a line of JSON. `--quick`: signs of
life are. `--apart`: they are, and workers see no processes of others, as on several machines.
`--ahead`: the clock of every second one is so many seconds ahead, as are the times of its files.
"""

import argparse
import json
import os
import random
import signal
import sys
import time
import traceback
from collections.abc import Callable, Iterable
from math import inf
from pathlib import Path

import torch

from anynet_study.engine.dispatch import claims, worker, worker_state
from anynet_study.engine.dispatch.recorded import Recorded
from anynet_study.engine.dispatch.work import work_at
from anynet_study.engine.dispatch.worker import Worker
from anynet_study.engine.planning import PlannedRun
from anynet_study.engine.study_folder import StudyFolder
from anynet_study.store import RunRecord

#: Of workers that are apart, in seconds.
BEAT, SILENT = 0.2, 6.0


def train(worker: Worker, cohort: Iterable[PlannedRun], _: object, seconds: float) -> None:
    """What a worker says and writes while it trains, but for the training."""
    for run in cohort:
        state = worker.journals.state
        state.begins(run.run_id, worker._checkpoint(run))
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            if worker.stop():
                raise worker_module.InterruptedRunError(run.run_id)
            time.sleep(min(0.1, seconds))
        if worker.holds(run.run_id):
            common = {"torch_version": "", "code_version": "", "device": "cpu", "host": ""}
            row = RunRecord(
                **run.named(),
                **common,
                status="completed",
                error=1.0,
                seconds=seconds,
                started=time.time(),
            )
            worker.journals.append(row)


worker_module = worker


class Timed:
    """CPU and wall seconds of some functions."""

    def __init__(self) -> None:
        self.cpu = self.wall = 0.0

    def of(self, function: Callable[..., object]) -> Callable[..., object]:
        def timed(*given: object, **named: object) -> object:
            cpu, wall = time.thread_time(), time.perf_counter()
            try:
                return function(*given, **named)
            finally:
                self.cpu += time.thread_time() - cpu
                self.wall += time.perf_counter() - wall

        return timed


def be_worker(study: StudyFolder, number: int, options: argparse.Namespace, report: int) -> None:
    """The child: never returns."""
    code = 1
    try:
        Worker.train = lambda it, cohort, begin=None: train(it, cohort, begin, options.seconds)
        if options.apart or options.quick:
            worker_state.BEAT = BEAT
            claims.SILENT = SILENT
        if options.apart:
            claims.process_mark = lambda _: f"system-{number}/pid 1"
        if options.ahead and number % 2:
            now, utime = time.time, os.utime
            time.time = lambda: now() + options.ahead
            os.utime = lambda path, *given: utime(path, *(given or [(time.time(),) * 2]))
        timed, wall = Timed(), time.perf_counter()
        for name in ("take", "end", "holds"):
            setattr(claims.Claims, name, timed.of(getattr(claims.Claims, name)))
        begun = work_at(study, inf, lambda _: None)
        said = [begun, timed.cpu, timed.wall, time.perf_counter() - wall, time.process_time()]
        os.write(report, json.dumps(said).encode() + b"\n")
        code = 0
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(code)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("study", type=Path)
    parser.add_argument("count", type=int)
    for name in ("seconds", "ahead", "seed", "kills"):
        parser.add_argument(f"--{name}", type=float, default=0.0)
    parser.add_argument("--apart", action="store_true")
    parser.add_argument("--quick", action="store_true")
    options = parser.parse_args()
    study, draw = StudyFolder(options.study), random.Random(int(options.seed))
    torch.set_num_threads(1)
    reader, report = os.pipe()
    numbers, alive = iter(range(10**9)), dict[int, int]()

    def start() -> None:
        number = next(numbers)
        if (pid := os.fork()) == 0:
            be_worker(study, number, options, report)
        alive[pid] = number

    began = time.monotonic()
    for _ in range(options.count):
        start()
    killed = failed = 0
    while alive:
        ended, status = os.waitpid(-1, os.WNOHANG)
        if ended:
            del alive[ended]
            failed += os.waitstatus_to_exitcode(status) > 0
        elif killed < options.kills and draw.random() < 0.05:
            os.kill(victim := draw.choice(list(alive)), signal.SIGKILL)
            os.waitpid(victim, 0)
            del alive[victim]
            killed += 1
            start()
        else:
            time.sleep(0.02)
    os.close(report)
    with os.fdopen(reader) as pipe:
        said = [json.loads(line) for line in pipe]
    runs = Recorded.read(study.journals).runs
    told = {"workers": said, "killed": killed, "failed": failed, "recorded": len(runs)}
    print(json.dumps({**told, "seconds": time.monotonic() - began}))


if __name__ == "__main__":
    sys.exit(main())
