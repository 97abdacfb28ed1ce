"""Random kills of a small study: is a finished run ever lost, or doubled?

    python -m benchmarks.kills 500
    python -m benchmarks.kills 500 --work

Goes through `anynet-study run` on a study of 16 short runs (replicates, tuning, a recipe that
starts from another) and their evaluations, with two workers. Kills the launcher, or it and its
workers, at a random moment, looks at the journals, and starts again, until so many kills are done;
a study that ends is compared with one that was never killed, and another begins, its datasets yet
to be packed. Prints how far the study was at the kills. Exits with 1 where a recorded run was gone
after a kill, a run was recorded twice, or a study ended with other results. With `--work` it is
`launch --cluster none`, then two of `anynet-study work` at once until all is recorded, then
`collect`: workers are killed with what started them, or live on beside those that are started next.

Launchers are forks of a process that has imported what they need, and the report has four figures,
which saves most of their time; otherwise they do what the command does. `--commands` starts them as
users do. Workers are started as always.
"""

import argparse
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from contextlib import suppress
from multiprocessing import get_context
from multiprocessing.context import ForkServerProcess
from pathlib import Path

import psutil

from anynet_study.analysis.analyses import FIGURES
from anynet_study.store import read_journals, stores_equal

SWEEP = """
name: {name}
population:
  space: {{base: anynetx, depths: [1, 2], widths: [8, 32], stem: cifar, stem_width: 8}}
  count: 2
  flops: [5.0e4, 2.0e5]
  resolution: 8
  classes: 10
source: digits
datasets:
  digits: {{classes: 2, per_class: 40, validation: 0.2}}
  blobs: {{classes: 2, per_class: 40, validation: 0.2}}
recipes:
  basic: &basic {{epochs: 2, batch_size: 16, crop: none, flip: false}}
  tuned: {{<<: *basic, pretrained: digits}}
  chosen: {{<<: *basic, tuning: {{space: {{lr: [0.05, 0.01]}}, scheduler: grid}}}}
replicates: {{count: 2, architectures: 1, recipes: [basic]}}
evaluations: {{blur: {{transform: blur}}}}
launch: {{workers: 2, checkpoint_seconds: 0, scores: true, attempts: 1000}}
"""
RUNS = 16
#: Longest and shortest time to a kill, drawn evenly by their logarithms, in the time of a study.
SHORTEST, LONGEST = 0.02, 0.4
#: Most kills of a study in one of its phases: the report begins anew after each.
KILLS_IN_PHASE = 6
#: Seconds that anything may take.
HANGS = 600.0
#: What launchers import.
IMPORTS = (
    "cli.app",
    "engine.dispatch.local",
    "engine.stages",
    "analysis.analyses.loading",
    "analysis.report.page",
    "analysis.report.drawing",
)


def command(folder: Path, name: str, commands: bool, work: bool) -> None:
    """Train a study of this name and collect it, in a process of its own."""
    os.chdir(folder)
    os.environ["ANYNET_DATA"] = str(folder / f"data-{name}")
    log = os.open(f"{name}.log", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    os.dup2(log, 1)
    os.dup2(log, 2)
    if work:
        train_by_workers(name)
        return
    arguments = ["run", f"{name}.yaml", "--resamples", "100"]
    if commands:
        os.execv(sys.executable, [sys.executable, "-m", "anynet_study", *arguments])
    from anynet_study.analysis.report import write_report
    from anynet_study.cli import main

    write_report.__defaults__ = (FIGURES[:4], ())
    sys.argv = ["anynet-study", *arguments]
    main()


def train_by_workers(name: str) -> None:
    """What somebody types who starts workers, until all is recorded: it may be by earlier ones."""
    program = [sys.executable, "-m", "anynet_study"]
    while True:
        subprocess.run([*program, "launch", f"{name}.yaml", "--cluster", "none"], check=True)
        workers = [subprocess.Popen([*program, "work", f"studies/{name}"]) for _ in range(2)]
        codes = [worker.wait() for worker in workers]
        assert codes == [0, 0], codes
        told = [*program, "status", name, "--json"]
        now = json.loads(subprocess.run(told, check=True, stdout=subprocess.PIPE).stdout)
        left = now["missing"] + now["failed"] + now["awaited"]
        if not left and now["evaluations"] == now["evaluations_planned"]:
            break
        time.sleep(0.5)  # others are at what is left
    os.execv(program[0], [*program, "collect", name])


def kill(pid: int, workers_too: bool) -> None:
    """kill -9, and wait until those that were killed are gone."""
    with suppress(psutil.NoSuchProcess):
        launcher = psutil.Process(pid)
        workers = launcher.children(recursive=True)
        killed = [launcher, *workers] if workers_too else [launcher]
        for each in killed:
            with suppress(psutil.NoSuchProcess):
                each.send_signal(signal.SIGKILL)
        psutil.wait_procs(killed, timeout=HANGS)


class Kills:
    """Studies that are killed and gone on with, and what became of them."""

    def __init__(self, folder: Path, seed: int, commands: bool, work: bool) -> None:
        self.folder, self.draw = folder, random.Random(seed)
        self.how = commands, work
        self.context = get_context("forkserver")
        self.context.set_forkserver_preload([f"anynet_study.{each}" for each in IMPORTS])
        self.counts = Counter(studies=0, lost=0, doubled=0, different=0)
        #: How far studies were when they were killed.
        self.phases = Counter[str]()
        warm = self.context.Process()  # all is imported now
        warm.start()
        warm.join()
        began = time.monotonic()
        self.end(self.start("whole"), "whole")
        self.whole = time.monotonic() - began

    def start(self, name: str) -> ForkServerProcess:
        """Begin a study, or go on with it."""
        (self.folder / f"{name}.yaml").write_text(SWEEP.format(name=name))
        process = self.context.Process(target=command, args=(self.folder, name, *self.how))
        process.start()
        return process

    def end(self, process: ForkServerProcess, name: str) -> None:
        """Wait for the end of a study's command; raises SystemExit if it fails."""
        process.join(HANGS)
        if process.exitcode != 0:
            raise SystemExit((self.folder / f"{name}.log").read_text())

    def study(self, name: str, most: int) -> None:
        """A study, killed until it ends, or `most` kills are done."""
        study, before, kills = self.folder / "studies" / name, Counter[str](), Counter[str]()
        while kills.total() < most:
            process = self.start(name)
            killed_in = self.kill_somewhere(process, study, kills)
            now = recorded(study)
            self.counts["lost"] += len(before.keys() - now.keys())
            self.counts["doubled"] += sum(count > 1 for count in now.values())
            before = now
            if not killed_in:
                self.end(process, name)
                stores = [study / "results.h5", study.parent / "whole" / "results.h5"]
                self.counts["different"] += stores_equal(*stores) != []
                self.counts["studies"] += 1
                shutil.rmtree(study)
                break
            kills[killed_in] += 1
        self.phases += kills

    def kill_somewhere(self, process: ForkServerProcess, study: Path, kills: Counter[str]) -> str:
        """Kill a study's command at a random moment; the phase of it, "" if it ended before."""
        while process.exitcode is None:
            process.join(self.whole * LONGEST * (SHORTEST / LONGEST) ** self.draw.random())
            where = phase(study)
            if process.exitcode is None and kills[where] < KILLS_IN_PHASE:
                kill(process.pid or 0, workers_too=self.draw.random() < 0.7)
                return where
        return ""


def recorded(study: Path) -> Counter[str]:
    """How often each run of a study is recorded as completed."""
    journals = study / "journals"
    if not journals.is_dir():
        return Counter()
    table = read_journals(journals, problems={}).to_pandas()
    return Counter(table["run_id"][table["status"] == "completed"])


def phase(study: Path) -> str:
    """How far a study is."""
    if not (study.parent.parent / f"data-{study.name}").exists():
        return "start"
    if not (study / "jobs").exists():
        return "packing, planning"
    if (runs := len(recorded(study))) < RUNS:
        return "training" if runs else "launching"
    return "report" if (study / "results.h5").exists() else "collecting"


def main() -> int:
    """Kill, look, go on; print what became of it."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("kills", type=int)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--commands", action="store_true", help="start all as users do")
    parser.add_argument("--work", action="store_true", help="workers that come by themselves")
    told = parser.parse_args()
    os.environ["OMP_NUM_THREADS"] = "1"
    with tempfile.TemporaryDirectory() as place:
        kills = Kills(Path(place), told.seed, told.commands, told.work)
        print(f"a study takes {kills.whole:.1f} s", flush=True)
        number = 0
        while left := told.kills - kills.phases.total():
            kills.study(f"study-{number}", left)
            number += 1
            print(dict(kills.phases), dict(kills.counts), flush=True)
        time.sleep(1)  # workers that outlive their launcher for a moment
    found = kills.counts
    return int(bool(found["lost"] or found["doubled"] or found["different"]))


if __name__ == "__main__":
    sys.exit(main())
