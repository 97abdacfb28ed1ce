"""What the exact rewrites gain on the CPU, together and alone.

    python -m benchmarks.rewrites [--networks 8] [--rounds 12] [--sides 32,64,96,224] [--opponents]

A training step (forward, loss, backward) and a forward pass in evaluation of networks of the
paper's band at each of the sides, below 96 pixels with 64 and with 128 images a step, and of two
sweep files, in one thread: as they are (NCHW),
rewritten, in bfloat16 as a recipe with `precision: bfloat16` has it, and as a user who knows torch
well would compute them: in channels-last memory, by `torch.compile`, and by autocast in bfloat16,
whose results are others. All take turns in one process and are
timed by processor time; as many processes as there are cores do as many times as much.
The first table says how many times as fast as the plain network each form is: the median, over
networks and rounds, of the ratio within a round. For `torch.compile` the seconds of compiling are
spread over the steps of a run of 30 epochs of CIFAR-10, or of the sweep file's own epochs. Then
follow, without `--opponents`, how much longer a step takes where maps of few pixels are not
convolved by matrices; the row of no part says how far noise goes.
"""

import argparse
import copy
import resource
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from itertools import chain
from pathlib import Path
from statistics import median
from typing import NamedTuple
from unittest.mock import patch

import pandas as pd
import torch
import yaml
from torch import Tensor
from torch.nn import functional as F

from anynet_study.design_space import Architecture, DesignSpace, Population
from anynet_study.engine.dispatch import keep_freed_memory
from anynet_study.engine.models import (
    AnyNet,
    accelerate,
    backend_here,
    build,
    convolutions,
    use_bfloat16,
)

#: Rounds in which caches fill and torch makes its own choices.
WARM_UP = 3
SWEEPS = Path(__file__).parents[1] / "sweeps"
OPPONENTS = ("channels-last", "torch.compile", "autocast, bfloat16")
OURS = ("rewritten", "precision: bfloat16")
#: `torch.compile` with the seconds of compiling.
COUNTED = "the same, compiling counted"
#: Networks are rewritten and computed without a part in its context.
PARTS: dict[str, Callable[[], AbstractContextManager[object]]] = {
    "no part": nullcontext,
    "few pixels by matrices": partial(
        patch.object, convolutions, "matrix_convolution", lambda *_: None
    ),
}


class Workload(NamedTuple):
    """A population, the side of its images in pixels, the images of a step, and steps of a run."""

    name: str
    architectures: list[Architecture]
    resolution: int
    batch: int
    steps: int


def workloads(count: int, sides: Sequence[int]) -> list[Workload]:
    """The paper's band at `sides`, in pixels, and the populations of two sweep files."""
    band = _networks(DesignSpace.anynetx().sample(count, flops=(360e6, 400e6), seed=0))
    found = []
    for side in sides:
        # Recipes take 128 images a step by default; at 128 px and more 16, for memory.
        for batch in (64, 128) if side < 96 else (64,) if side < 128 else (16,):
            name = f"band at {side} px, {batch} images"
            found.append(Workload(name, band, side, batch, 30 * 50_000 // batch))
    for name, images in (("cifar10-mini", 10_000), ("quickstart", 1_440)):
        sweep = yaml.safe_load((SWEEPS / f"{name}.yaml").read_text())
        given, recipe = sweep["population"], sweep["recipes"]["basic"]
        space = DesignSpace.from_spec(given["space"])
        limits = {key: given[key] for key in ("flops", "resolution", "classes", "seed")}
        networks, batch = _networks(space.sample(count, **limits)), recipe["batch_size"]
        steps = recipe["epochs"] * images // batch
        found.append(Workload(name, networks, given["resolution"], batch, steps))
    return found


def _networks(population: Population) -> list[Architecture]:
    return [one for one in population if isinstance(one, Architecture)]


class Form(NamedTuple):
    """A network and its images, and the context in which it is computed."""

    network: AnyNet
    images: Tensor
    context: Callable[[], AbstractContextManager[object]] = nullcontext


def forms(a: Architecture, images: Tensor) -> dict[str, Form]:
    plain = build(a, 10, torch.Generator().manual_seed(0))
    last = images.to(memory_format=torch.channels_last)

    def in_channels_last() -> AnyNet:
        return copy.deepcopy(plain).to(memory_format=torch.channels_last)  # type: ignore[call-overload,no-any-return]

    def rewritten(context: Callable[[], AbstractContextManager[object]] = nullcontext) -> Form:
        network = in_channels_last()
        with context():
            accelerate(network, images.shape[-1], backend_here())
        return Form(network, last, context)

    half = in_channels_last()
    use_bfloat16(half, images.shape[-1])
    autocast = partial(torch.autocast, "cpu", torch.bfloat16)
    return {
        "plain": Form(plain, images),
        "channels-last": Form(in_channels_last(), last),
        "torch.compile": Form(torch.compile(in_channels_last()), last),  # type: ignore[arg-type]
        "autocast, bfloat16": Form(in_channels_last(), last, autocast),
        "precision: bfloat16": Form(half, last),
        "rewritten": rewritten(),
        **{part: rewritten(context) for part, context in PARTS.items()},
    }


def step(network: AnyNet, images: Tensor, labels: Tensor) -> None:
    network.train().zero_grad(set_to_none=True)
    F.cross_entropy(network(images), labels).backward()


@torch.no_grad()
def evaluate(network: AnyNet, images: Tensor, _: Tensor) -> None:
    network.eval()(images)


def cpu_seconds() -> float:
    """Processor time of this process and of the compilers that it started."""
    used = map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(one.ru_utime + one.ru_stime for one in used)


def seconds(act: Callable[..., object], calls: int, form: Form, labels: Tensor) -> float:
    with form.context():
        start = cpu_seconds()
        for _ in range(calls):
            act(form.network, form.images, labels)
        return (cpu_seconds() - start) / calls


def measure(
    work: Workload, a: Architecture, rounds: int, wanted: Sequence[str]
) -> list[list[dict[str, float]]]:
    """Seconds of each form in each round: of a step, then of a forward pass in evaluation."""
    # All networks share the code of `forward`: after eight of them nothing more would be compiled.
    torch.compiler.reset()
    images = torch.randn(work.batch, 3, work.resolution, work.resolution)
    labels = torch.randint(10, (work.batch,))
    networks = {name: form for name, form in forms(a, images).items() if name in wanted}
    calls = 1 if work.batch * a.flops(work.resolution, 10) > 2e8 else 4
    found = []
    # Tests after each epoch, of a fifth as many images as are trained on in it.
    for act, calls_of_run in ((step, work.steps), (evaluate, work.steps // 5)):
        first, *later = [
            {name: seconds(act, calls, form, labels) for name, form in networks.items()}
            for _ in range(WARM_UP + rounds)
        ]
        measured = later[WARM_UP - 1 :]
        usual = median(each["torch.compile"] for each in measured)
        compiling = calls * (first["torch.compile"] - usual)
        for each in measured:
            each[COUNTED] = each["torch.compile"] + compiling / calls_of_run
        found.append(measured)
    return found


def main(count: int, rounds: int, sides: Sequence[int], parts: Sequence[str]) -> None:
    torch.set_num_threads(1)
    torch.manual_seed(0)
    torch.compiler.config.force_disable_caches = True  # what an earlier run compiled costs nothing
    wanted = ("plain", *OPPONENTS, *OURS, *parts)
    columns: dict[str, list[dict[str, float]]] = {}
    for work in workloads(count, sides):
        measured = [measure(work, a, rounds, wanted) for a in work.architectures]
        for number, act in enumerate(("training", "evaluation")):
            columns[f"{work.name}, {act}"] = list(chain(*(each[number] for each in measured)))

    def row(form: str, over: str) -> list[float]:
        return [median(one[form] / one[over] for one in each) for each in columns.values()]

    names = pd.Index(columns, name="")
    speed = {form: row("plain", form) for form in ("plain", *OPPONENTS, COUNTED, *OURS)}
    print(f"torch {torch.__version__}, {backend_here()}\n\ntimes as fast as plain")
    print(pd.DataFrame(speed, index=names).T.to_string(float_format="{:.2f}".format))
    if parts:
        print("\ntimes as long without")
        without = {part: row(part, "rewritten") for part in parts}
        print(pd.DataFrame(without, index=names).T.to_string(float_format="{:.3f}".format))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="What the exact rewrites gain.")
    parser.add_argument("--networks", type=int, default=8)
    parser.add_argument("--rounds", type=int, default=12)
    parser.add_argument("--sides", default="32,64,96,224", help="of the band's images, in pixels")
    parser.add_argument("--opponents", action="store_true", help="without the parts")
    given = parser.parse_args()
    keep_freed_memory()
    sides = [int(side) for side in given.sides.split(",") if side]
    main(given.networks, given.rounds, sides, [] if given.opponents else list(PARTS))
