"""Runs an hour of the fast engine, the reference engine and plain loops, in one interleaved run.

    python -m benchmarks.training [--quick] [--json] [--device cpu|cuda] [--runs N] [--epochs N]
                                  [--steps N] [--rounds N] [--dataset NAME]

All train the same networks of the paper's band on the same data with the same recipe, batch size
and steps, from the same weights. On a CPU, but for the loop with a DataLoader, the plain loops are
as fast as torch's own layers get: resident data, channels-last memory, freed memory kept. Runs an
hour is 3600 n / wall, from the start of the processes to the last result on disk: start-up, tests
and journals are inside. Images a second are training images of each process from the beginning of
its first run to its last result, in sum: tests are inside; start-up and the wait for the last
process, which a long study does not feel, are not.
On a CPU the ways take turns (`benchmarks.turns`), on a GPU they follow each other, and ratios are
medians of the ratios within a round. Ends with 1 where the comparison is not fair: other steps,
images or networks, another loss in the first step, errors that differ more than seeds'.

The default takes about eight minutes on two cores, `--quick` a minute. With a GPU, rows for it
follow, at 32 and at 224 px; for several plain loops on it, run them under MPS.
"""

import argparse
import json
import platform
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

import torch

from anynet_study.engine.dispatch import OpenStudy

from .checks import STEP_TOLERANCE, first_step, violations
from .overhead import Overhead, overhead
from .table import agreement, lines, plain, summary
from .task import Task
from .ways import Measured, measure, ways


def tasks(options: argparse.Namespace, folder: Path) -> list[Task]:
    """By default as much as fits the time; on a GPU at least three runs for each at a time."""
    found = []
    if options.device in (None, "cpu"):
        runs, epochs, steps = (2, 1, 8) if options.quick else (10, 1, 40)
        found.append(Task(folder / "cpu", "cpu", runs, epochs, steps))
    if options.device == "cuda" or (options.device is None and torch.cuda.is_available()):
        runs, epochs, steps = (12, 2, 20) if options.quick else (24, 5, 40)
        found.append(Task(folder / "gpu-32", "cuda", runs, epochs, steps))
        if options.dataset is None:
            found.append(Task(folder / "gpu-224", "cuda", runs, 2, steps // 2, side=224))
    names = ("runs", "epochs", "steps", "dataset")
    given = {name: getattr(options, name) for name in names if getattr(options, name) is not None}
    return [Task(**{**asdict(task), **given}) for task in found]


def compare(task: Task, prepared: OpenStudy, rounds: int) -> dict[str, list[Measured]]:
    """Measure every way in every round: in turns on a CPU, on a GPU one after the other.

    What is on its way to a GPU is not stopped with a process.
    """
    order = ways(task.device)
    measured: dict[str, list[Measured]] = {way.name: [] for way in order}
    for number in range(rounds):
        first = number * 2 % len(order)
        turned = order[first:] + order[:first]
        for group in [turned] if task.device == "cpu" else [[way] for way in turned]:
            titles = ", ".join(way.name for way in group)
            print(f"round {number + 1} of {rounds}: {titles}", file=sys.stderr)
            out = task.folder / f"{group[0].name}-{number}"
            for name, one in measure(group, task, out, prepared.plan).items():
                measured[name].append(one)
    return measured


def unfair(task: Task, prepared: OpenStudy, rounds: dict[str, list[Measured]]) -> list[str]:
    steps = task.epochs * task.steps
    work = {run.run_id: (steps, steps * task.batch) for run in prepared.plan}
    found = violations(rounds, work, test_images(prepared), task.device)
    off = first_step(prepared.plan[0].spec, prepared.views["images"], torch.device(task.device))
    if not off <= STEP_TOLERANCE[task.device]:
        found.append(f"the engines' losses in the first step differ by {100 * off:.2g}%")
    return found


def test_images(prepared: OpenStudy) -> int:
    return len(prepared.views["images"].test_index)


def machine() -> str:
    gpu = f", {torch.cuda.get_device_name()}" if torch.cuda.is_available() else ""
    return (
        f"{platform.processor() or platform.machine()}{gpu}, torch {torch.__version__}, "
        f"Python {platform.python_version()}"
    )


def main(arguments: Sequence[str]) -> int:
    options = parser().parse_args(arguments)
    report: dict[str, object] = {"machine": machine()}
    text, problems = [machine()], []
    with tempfile.TemporaryDirectory() as name:
        for task in tasks(options, Path(name)):
            task.prepare()
            prepared = task.opened()
            # Turns are many rounds; without them, ways meet another machine each.
            enough = 1 if options.quick or task.device == "cpu" else 3
            rounds = compare(task, prepared, options.rounds or enough)
            problems += unfair(task, prepared, rounds)
            rows = summary(ways(task.device), rounds)
            text += ["", *lines(task, rows), agreement(rounds, test_images(prepared))]
            report[task.folder.name] = {"rows": rows, "rounds": plain(rounds)}
        beside: Overhead = overhead(Path(name) / "overhead")
    text += [
        "",
        f"a run of one step of a tiny network in a worker at work: {1000 * beside.run:.0f} ms",
        f"from a worker's start to its first run: {beside.worker:.1f} s",
        *(f"NOT FAIR: {problem}" for problem in problems),
    ]
    report |= {"overhead": asdict(beside), "problems": problems}
    print(json.dumps(report) if options.json else "\n".join(text))
    return 1 if problems else 0


def parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser("python -m benchmarks.training")
    made.add_argument("--quick", action="store_true", help="one small round")
    made.add_argument("--json", action="store_true", help="all that was measured")
    made.add_argument("--device", choices=("cpu", "cuda"), help="only this one")
    made.add_argument("--dataset", help="a packed dataset of ten classes; by default one is made")
    for name in ("runs", "epochs", "steps", "rounds"):
        made.add_argument(f"--{name}", type=int)
    return made


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
