"""What the exact rewrites of a network gain on the CPU, in one thread.

    python -m benchmarks.rewrites [--networks 8] [--rounds 5]

A training step (forward, loss, backward) and a forward pass in evaluation, of networks of three
populations: as they are (NCHW), in channels-last memory, and rewritten. The three are timed in
turns in one process, by processor time; of each the least of all rounds counts, since other work on
the machine only adds.
"""

import argparse
import copy
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from statistics import median

import torch
import yaml
from torch import Tensor
from torch.nn import functional as F

from anynet_study.design_space import Architecture, DesignSpace
from anynet_study.dispatch import keep_freed_memory
from anynet_study.models import AnyNet, accelerate, build, resolve_backend

SWEEPS = Path(__file__).parents[1] / "sweeps"
FORMS = ("plain", "channels-last", "rewritten")


@dataclass(frozen=True)
class Workload:
    """A population, the side of its images in pixels, and the images of a step."""

    name: str
    architectures: list[Architecture]
    resolution: int
    batch: int


def workloads(count: int) -> list[Workload]:
    """The paper's band at 32 pixels, and the populations of two sweep files."""
    band = DesignSpace.anynetx().sample(count, flops=(360e6, 400e6), seed=0)
    found = [Workload("band at 32 px", list(band), 32, 128)]
    for name in ("cifar10-mini", "quickstart"):
        given = yaml.safe_load((SWEEPS / f"{name}.yaml").read_text())["population"]
        space = DesignSpace.from_spec(given["space"])
        limits = {key: given[key] for key in ("flops", "resolution", "classes", "seed")}
        found.append(Workload(name, list(space.sample(count, **limits)), given["resolution"], 64))
    return found


def forms(a: Architecture, resolution: int) -> list[AnyNet]:
    plain = build(a, 10, torch.Generator().manual_seed(0))
    others = [copy.deepcopy(plain) for _ in range(2)]
    for network in others:
        network.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
    accelerate(others[1], resolution, resolve_backend())
    return [plain, *others]


def step(network: AnyNet, images: Tensor, labels: Tensor) -> None:
    network.train().zero_grad(set_to_none=True)
    F.cross_entropy(network(images), labels).backward()


@torch.no_grad()
def evaluate(network: AnyNet, images: Tensor, _: Tensor) -> None:
    network.eval()(images)


def seconds(act: Callable[..., object], calls: int, *arguments: object) -> float:
    start = time.process_time()
    for _ in range(calls):
        act(*arguments)
    return (time.process_time() - start) / calls


def measure(work: Workload, a: Architecture, rounds: int) -> list[list[float]]:
    """Images a second of training, then of evaluation, of each form."""
    images = torch.randn(work.batch, 3, work.resolution, work.resolution)
    labels = torch.randint(10, (work.batch,))
    networks = forms(a, work.resolution)
    inputs = [images, *[images.to(memory_format=torch.channels_last)] * 2]
    calls = 1 if work.batch * a.flops(work.resolution, 10) > 2e8 else 6
    for _ in range(3):
        for network, form in zip(networks, inputs, strict=True):
            step(network, form, labels)
    rates = []
    for act in (step, evaluate):
        least = [float("inf")] * 3
        for _ in range(rounds):
            for k, (network, form) in enumerate(zip(networks, inputs, strict=True)):
                least[k] = min(least[k], seconds(act, calls, network, form, labels))
        rates.append([work.batch / value for value in least])
    return rates


def main(count: int, rounds: int) -> None:
    torch.set_num_threads(1)
    torch.manual_seed(0)
    print(f"torch {torch.__version__}, {torch.backends.cpu.get_cpu_capability()}, one thread")
    print(f"{'images/s':28}" + "".join(f"{name:>15}" for name in FORMS) + "   gain   (least)")
    for work in workloads(count):
        measured = [measure(work, a, rounds) for a in work.architectures]
        for number, kind in enumerate(("training", "evaluation")):
            rates = [rate[number] for rate in measured]
            gains = [rate[2] / rate[0] for rate in rates]
            cells = "".join(f"{median(column):15.0f}" for column in zip(*rates, strict=True))
            print(f"{work.name + ', ' + kind:28}{cells}{median(gains):7.2f}{min(gains):10.2f}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="What the exact rewrites gain.")
    parser.add_argument("--networks", type=int, default=8)
    parser.add_argument("--rounds", type=int, default=5)
    given = parser.parse_args()
    keep_freed_memory()
    main(given.networks, given.rounds)
