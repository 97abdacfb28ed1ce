"""How fast the engine is on a GPU, and where the time goes."""

import re
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
from torch.profiler import ProfilerActivity, profile

from anynet_study.core.files import write_text
from anynet_study.data import DatasetView
from anynet_study.engine.training import (
    DeviceImages,
    RunSpec,
    Turns,
    finish,
    make_trainer,
    train_together,
)
from benchmarks.serving import BATCH
from benchmarks.training.task import Task
from benchmarks.training.ways import Way, measure, ways

from .parts import Row, Setup, paper_recipe, runs_of, typical_run_of, wait

#: Steps of which a profile is taken, and those before them.
STEPS_PROFILED, STEPS_BEFORE = 20, 3
#: Of several runs at once: steps before the time is taken, and those after.
WARM, TIMED = 20, 100
#: Kernels of a step and its milliseconds, of a typical network of the band in bfloat16, by
#: estimate: with norms, sums and ReLUs in Triton, 7 of each normed convolution, and without.
KERNELS = {True: 460, False: 900}
MILLISECONDS = 2.2
#: What a kernel is, by its name; the first that is found.
KINDS = {
    "norm, sum, ReLU": r"batch_norm|bn_|normalise|batch_statistics|gradients|add_parts",
    "convolution": r"conv|cudnn|xmma|implicit|wgrad|dgrad|cutlass|gemm|depthwise|nchw|nhwc",
    "update": r"multi_tensor|fused_sgd|fused_adam",
    "copy": r"copy|memcpy|memset|cat",
}


@dataclass(frozen=True)
class Length:
    """A kind of run whose number in an hour is asked for."""

    #: Of `sweeps/paper.yaml`, for the recipe.
    dataset: str
    side: int
    epochs: int
    images: int
    test_images: int
    #: Runs an hour on an H200.
    goal: float
    #: How much smaller an epoch is that is measured: images, tests and `precise_bn` alike.
    part: int


#: CIFAR-10, and datasets of 40,000 images of 224 pixels and a fifth as many to test on.
LENGTHS = {
    32: Length("cifar10", 32, 30, 50_000, 10_000, 350.0, part=2),
    224: Length("imagenet-100", 224, 20, 40_000, 8_000, 62.0, part=8),
}
#: The epochs of the two studies whose difference is taken, and the runs of each.
EPOCHS, RUNS = (2, 6), 8
#: Ways of training that are compared, the engine last, and the steps of each of their runs.
PEERS, PEERS_STEPS = ("timm", "processes", "fast"), 100


def runs_an_hour(length: Length) -> Callable[[Setup], Iterator[Row]]:
    """By the slope between two lengths of run: start-up and set-up are told apart from epochs."""

    def part(setup: Setup) -> Iterator[Row]:
        recipe = paper_recipe(length.dataset)
        recipe["precise_bn"] //= length.part
        steps, tested = length.images // length.part // BATCH, length.test_images // length.part
        name = f"of-{length.side}"
        task = setup.task(name, RUNS, EPOCHS[0], steps, length.side, tested, recipe)
        walls = [_wall(task, epochs) for epochs in EPOCHS]
        epoch = (walls[1] - walls[0]) / (EPOCHS[1] - EPOCHS[0]) * length.part
        before = walls[0] - EPOCHS[0] * epoch / length.part
        yield Row("seconds before the first epoch, all runs", round(before, 1))
        yield Row(f"seconds of an epoch of {RUNS} runs, with tests", round(epoch, 2))
        hourly = 3600 * RUNS / (before + length.epochs * epoch)
        reached = setup.judged(hourly >= length.goal)
        yield Row("runs an hour", round(hourly, 1), f"at least {length.goal:g} on an H200", reached)

    return part


def _wall(task: Task, epochs: int) -> float:
    """Seconds of a study, from its command to its last result on disk."""
    asked = f"launch.at_once={RUNS}", "launch.workers=1", f"recipes.basic.epochs={epochs}"
    command = ("-m", "benchmarks.training.study", "SWEEP", "OUT", *asked)
    way = Way("fast", "study", (command,))
    out, plan = task.folder / f"study-{epochs}", task.opened(*asked).plan
    return measure([way], task, out, plan)[way.name].wall


def peers(setup: Setup) -> Iterator[Row]:
    """Images a second of plain loops and of the engine, from a first run to a last result."""
    task = setup.task("peers", RUNS, 1, PEERS_STEPS)
    plan, rates = task.opened().plan, list[float]()
    for way in ways(task.device):
        if way.name in PEERS:
            found = measure([way], task, task.folder / way.name, plan)[way.name]
            rates.append(found.images_a_second)
            yield Row(f"images a second, {way.title}", round(rates[-1]))
    times = rates[-1] / max(rates[:-1])
    yield Row("times the quickest of them", round(times, 2), "at least 4", setup.judged(times >= 4))


def together(setup: Setup) -> Iterator[Row]:
    """How much several networks at once gain: images a second, by the slope after a warm-up."""
    task = setup.task("together", 16, 1, WARM + TIMED)
    specs, view = runs_of(task)
    alone = 0.0
    for at_once in (1, 2, 4, 8, 16) if not setup.quick else (1, 2):
        rate = _images_a_second(specs[:at_once], view, setup)
        alone = alone or rate
        yield Row(f"images a second, {at_once} at once", round(rate))
        goal = "at least 4, small networks" if at_once == 8 else ""
        times = rate / alone
        reached = setup.judged(times >= 4) if goal else None
        yield Row(f"times as fast as one, {at_once} at once", round(times, 2), goal, reached)


def _images_a_second(specs: Sequence[RunSpec], view: DatasetView, setup: Setup) -> float:
    images, device = DeviceImages(setup.device), setup.device
    warm, steps = (WARM, WARM + TIMED) if not setup.quick else (0, 1)
    marks: list[float] = []

    def turns(number: int, spec: RunSpec) -> Turns[int]:
        trainer = make_trainer(spec, view, images)
        trainer.begin_epoch(0)
        for step in range(steps):
            if number == 0 and step == warm:
                wait(device)
                marks.append(time.perf_counter())
            trainer.step()
            yield
        return trainer.batch

    starts = [partial(turns, number, spec) for number, spec in enumerate(specs)]
    ended = [it.result for it in train_together(starts, device)]
    wait(device)
    batches = [it for it in ended if isinstance(it, int)]
    if len(batches) < len(specs):
        raise next(it for it in ended if isinstance(it, Exception))
    return sum(batches) * (steps - warm) / (time.perf_counter() - marks[0])


def evaluation(setup: Setup) -> Iterator[Row]:
    """Seconds of one network's training, tests and precise batch norm in a run of CIFAR-10."""
    length = LENGTHS[32]
    steps, recipe = length.images // BATCH, paper_recipe(length.dataset)
    task = setup.task("evaluation", 3, 2, steps, 32, length.test_images, recipe)
    spec, view = typical_run_of(task)
    found = defaultdict[str, float](float)

    def turns() -> Turns[None]:
        trainer = make_trainer(spec, view, DeviceImages(setup.device))
        for epoch in range(2):  # graphs are recorded in the first
            found.clear()
            for name, work in _parts_of_an_epoch(trainer, epoch):
                wait(setup.device)
                began = time.perf_counter()
                work()
                wait(setup.device)
                found[name] += time.perf_counter() - began
                yield

    for ended in train_together([turns], setup.device):
        if isinstance(ended.result, Exception):
            raise ended.result
    for name, goal in (("training", 7.6), ("precise batch norm", 1.5), ("tests", 1.5)):
        seconds = length.epochs * found[name]
        reached = setup.judged(seconds <= goal)
        goal_said = f"at most {goal:g}, by estimate, on an H200"
        yield Row(f"seconds of {name} in a run", round(seconds, 2), goal_said, reached)


def _parts_of_an_epoch(trainer: Any, epoch: int) -> Iterator[tuple[str, Callable[[], object]]]:
    trainer.begin_epoch(epoch)

    def steps() -> None:
        for _ in range(trainer.steps):
            trainer.step()

    yield "training", steps
    yield "precise batch norm", lambda: finish(trainer.settle_norms())
    yield "tests", lambda: finish(trainer.test())


def profiled(setup: Setup) -> Iterator[Row]:
    """One step of one network at 32 and at 224 pixels: kernels by kind, and their time.

    Each kernel's is in a file of its own.
    """
    for side in (32, 224):
        task = setup.task(f"profile-{side}", 3, 1, STEPS_BEFORE + STEPS_PROFILED, side)
        spec, view = typical_run_of(task)
        found: list[tuple[dict[str, float], dict[str, float], float]] = []

        def turns(spec: RunSpec = spec, view: DatasetView = view) -> Turns[None]:
            trainer = make_trainer(spec, view, DeviceImages(setup.device))
            trainer.begin_epoch(0)
            found.append(_profile(trainer, setup.device))  # noqa: B023
            yield

        for ended in train_together([turns], setup.device):
            if isinstance(ended.result, Exception):
                raise ended.result
        ((kernels, times, wall),) = found
        write_text(setup.out / f"kernels-{side}.txt", _by_time(kernels, times))
        count, busy = sum(kernels.values()), sum(times.values())
        triton = any("normalise" in name for name in kernels)
        most, few = KERNELS[triton], setup.judged(count <= KERNELS[triton])
        yield Row(f"{side} px, kernels of a step", round(count), f"at most {most}", few)
        for kind in (*KINDS, "other"):
            share = sum(it for name, it in times.items() if kind_of(name) == kind) / (busy or 1)
            number = sum(it for name, it in kernels.items() if kind_of(name) == kind)
            yield Row(f"{side} px, {kind}", f"{number:.0f} kernels, {share:.0%} of their time")
        quick = setup.judged(1000 * wall <= MILLISECONDS) if side == 32 else None
        goal = f"at most {MILLISECONDS:g}" if side == 32 else ""
        yield Row(f"{side} px, milliseconds of a step", round(1000 * wall, 2), goal, quick)
        yield Row(f"{side} px, share in which the GPU works", round(busy / wall, 3))


def _by_time(kernels: Mapping[str, float], times: Mapping[str, float]) -> str:
    """Kernels of a step, the one that takes longest first."""
    named = sorted(times, key=lambda it: -times[it])
    rows = [f"{1e6 * times[it]:12.1f} {kernels[it]:8.1f}  {it}" for it in named]
    return "\n".join([f"{'microseconds':>12} {'times':>8}  kernel, in one step", *rows, ""])


def kind_of(kernel: str) -> str:
    """What a kernel of this name is for."""
    fitting = (kind for kind, names in KINDS.items() if re.search(names, kernel, re.IGNORECASE))
    return next(fitting, "other")


def _profile(
    trainer: Any, device: torch.device
) -> tuple[dict[str, float], dict[str, float], float]:
    """Kernels of a step and their seconds by name, and the seconds of a step."""
    before = min(STEPS_BEFORE, trainer.steps - 1)
    count = min(STEPS_PROFILED, trainer.steps - before)
    for _ in range(before):
        trainer.step()  # the first records the graph
    wait(device)
    activities = [ProfilerActivity.CPU]
    if device.type == "cuda":
        activities.append(ProfilerActivity.CUDA)
    with profile(activities=activities) as seen:
        began = time.perf_counter()
        for _ in range(count):
            trainer.step()
        wait(device)
        wall = (time.perf_counter() - began) / count
    kernels, times = defaultdict[str, float](float), defaultdict[str, float](float)
    for event in seen.key_averages():  # those of the host tell the time of their kernels again
        if event.device_type.name == "CUDA":
            kernels[event.key] += event.count / count
            times[event.key] += event.self_device_time_total / count / 1e6
    return kernels, times, wall
