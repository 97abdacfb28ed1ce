"""What the exact rewrites and the compiled kernels gain on the CPU, together and each alone.

    python -m benchmarks.rewrites [--networks 8] [--rounds 12]

A training step (forward, loss, backward) and a forward pass in evaluation of networks of three
populations, in one thread: as they are (NCHW), in channels-last memory, rewritten, with compiled
kernels, and without one part each. All take turns in one process and are timed by processor time.
The first table says how many times as fast as the plain network each form is, the second how much
longer it takes without a part: the median, over networks and rounds, of the ratio within a round.
The row of no part says how far noise goes.
"""

import argparse
import copy
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from itertools import chain
from pathlib import Path
from statistics import median
from typing import NamedTuple
from unittest.mock import patch

import torch
import yaml
from torch import Tensor
from torch.nn import functional as F

from anynet_study.design_space import Architecture, DesignSpace, Population
from anynet_study.dispatch import keep_freed_memory
from anynet_study.models import (
    AnyNet,
    BackendKind,
    accelerate,
    build,
    convolutions,
    resolve_backend,
    row_layers,
)

#: Rounds in which caches fill and torch makes its own choices.
WARM_UP = 3
SWEEPS = Path(__file__).parents[1] / "sweeps"
KINDS: dict[str, BackendKind] = {
    "plain": "plain",
    "channels-last": "plain",
    "rewritten": "rewritten",
    "compiled": "compiled",
}
#: Of whichever kind, networks are built and computed without a part in its context.
PARTS: dict[str, tuple[BackendKind, Callable[[], AbstractContextManager[object]]]] = {
    "no part": ("compiled", nullcontext),
    "1x1 convolution and norm in one": (
        "compiled",
        partial(patch.object, row_layers, "pointwise_and_norm", lambda *_: None),
    ),
    "few pixels by matrices": (
        "compiled",
        partial(patch.object, convolutions, "matrix_convolution", lambda *_: None),
    ),
    "the same, no kernels": (
        "rewritten",
        partial(patch.object, convolutions, "matrix_convolution", lambda *_: None),
    ),
}


class Workload(NamedTuple):
    """A population, the side of its images in pixels, and the images of a step."""

    name: str
    architectures: list[Architecture]
    resolution: int
    batch: int


def workloads(count: int) -> list[Workload]:
    """The paper's band at 32 pixels, and the populations of two sweep files."""
    band = DesignSpace.anynetx().sample(count, flops=(360e6, 400e6), seed=0)
    found = [Workload("band at 32 px", _networks(band), 32, 64)]
    for name in ("cifar10-mini", "quickstart"):
        given = yaml.safe_load((SWEEPS / f"{name}.yaml").read_text())["population"]
        space = DesignSpace.from_spec(given["space"])
        limits = {key: given[key] for key in ("flops", "resolution", "classes", "seed")}
        found.append(
            Workload(name, _networks(space.sample(count, **limits)), given["resolution"], 64)
        )
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

    def form(kind: BackendKind, context: Callable[[], AbstractContextManager[object]]) -> Form:
        network = copy.deepcopy(plain)
        network.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
        with context():
            accelerate(network, images.shape[-1], resolve_backend(kind))
        return Form(network, last, context)

    found = {name: form(kind, nullcontext) for name, kind in KINDS.items()}
    found["plain"] = Form(plain, images)
    return found | {part: form(*how) for part, how in PARTS.items()}


def step(network: AnyNet, images: Tensor, labels: Tensor) -> None:
    network.train().zero_grad(set_to_none=True)
    F.cross_entropy(network(images), labels).backward()


@torch.no_grad()
def evaluate(network: AnyNet, images: Tensor, _: Tensor) -> None:
    network.eval()(images)


def seconds(act: Callable[..., object], calls: int, form: Form, labels: Tensor) -> float:
    with form.context():
        start = time.process_time()
        for _ in range(calls):
            act(form.network, form.images, labels)
        return (time.process_time() - start) / calls


def measure(work: Workload, a: Architecture, rounds: int) -> list[list[dict[str, float]]]:
    """Seconds of each form in each round: of a step, then of a forward pass in evaluation."""
    images = torch.randn(work.batch, 3, work.resolution, work.resolution)
    labels = torch.randint(10, (work.batch,))
    networks = forms(a, images)
    calls = 1 if work.batch * a.flops(work.resolution, 10) > 2e8 else 4
    found = []
    for act in (step, evaluate):
        measured = [
            {name: seconds(act, calls, form, labels) for name, form in networks.items()}
            for _ in range(WARM_UP + rounds)
        ]
        found.append(measured[WARM_UP:])
    return found


def main(count: int, rounds: int) -> None:
    torch.set_num_threads(1)
    torch.manual_seed(0)
    columns: dict[str, list[dict[str, float]]] = {}
    for work in workloads(count):
        measured = [measure(work, a, rounds) for a in work.architectures]
        for number, act in enumerate(("training", "evaluation")):
            columns[f"{work.name}, {act}"] = list(chain(*(each[number] for each in measured)))

    def line(title: str, form: str, over: str, style: str) -> None:
        gains = [median(it[form] / it[over] for it in each) for each in columns.values()]
        print(f"{title:36}" + "".join(f"{gain:>26{style}}" for gain in gains))

    print(f"torch {torch.__version__}, {resolve_backend()}")
    print(f"{'times as fast as plain':36}" + "".join(f"{name:>26}" for name in columns))
    for kind in KINDS:
        line(kind, "plain", kind, ".2f")
    print("times as long without")
    for part, (kind, _) in PARTS.items():
        line(part, part, kind, ".3f")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="What exact rewrites and compiled kernels gain.")
    parser.add_argument("--networks", type=int, default=8)
    parser.add_argument("--rounds", type=int, default=12)
    given = parser.parse_args()
    keep_freed_memory()
    main(given.networks, given.rounds)
