"""The loops that the engines are compared with, as their users would write them.

    python -m benchmarks.training.plain SWEEP OUT KIND THREADS PART PARTS

Trains the PART-th of PARTS shares of the sweep's runs, one after the other, on THREADS threads
(0: as many as torch takes) and leaves a file of each in OUT. KIND is one of `LOADERS`, `timm`, or
`reference`. The loops differ in where batches come from, and share model, update and test. On a
CPU those with resident data are as fast as plain loops get: in channels-last memory, with freed
memory kept. They start from the weights of their run and shuffle by themselves, so that they are to
the engines what other seeds are.
"""

import os
import sys
import time
from importlib import import_module
from pathlib import Path

import torch
from torch import nn
from torch.nn import functional as F

from anynet_study.data import DatasetView
from anynet_study.engine.dispatch import keep_freed_memory, open_sweep
from anynet_study.engine.training import RunSpec, learning_rate, steps_per_epoch, total_steps, train
from anynet_study.engine.training.network import initial_network

from .loaders import LOADERS, Batches, Resident
from .results import Result


def main(sweep: Path, out: Path, kind: str, threads: int, part: int, parts: int) -> None:
    if threads:
        torch.set_num_threads(threads)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    if device.type == "cpu" and kind not in ("loader", "reference"):
        keep_freed_memory()
    prepared = open_sweep(sweep, [])
    batches = (
        None
        if kind == "reference"
        else LOADERS.get(kind, Resident)(
            prepared.views["images"], prepared.plan[0].spec.recipe, device
        )
    )
    for run in prepared.plan[part::parts]:
        view = prepared.views[run.dataset]
        if batches is None:
            result = by_reference(run.spec, view, device)
        else:
            torch.manual_seed(run.spec.seed_for("plain loop"))
            result = by_loop(run.spec, view, device, batches, kind)
        result.write(out)


def by_reference(spec: RunSpec, view: DatasetView, device: torch.device) -> Result:
    """The package's reference engine."""
    started = time.time()
    outcome = train(spec, view, device, engine="reference")
    steps = len(outcome.curves["train_loss"]) * steps_per_epoch(
        len(view.train_index), spec.recipe.batch_size
    )
    first = outcome.curves["train_loss"][0]
    images = steps * spec.recipe.batch_size
    return Result(spec.run_id, steps, images, first, outcome.error, started, str(os.getpid()))


def by_loop(
    spec: RunSpec, view: DatasetView, device: torch.device, batches: Batches, kind: str
) -> Result:
    """Train and test after every epoch; the error is the last one."""
    started, recipe = time.time(), spec.recipe
    model, optimizer = timm_model(spec, view) if kind == "timm" else plain_model(spec, view)
    model.to(device)
    if isinstance(batches, Resident):
        model.to(memory_format=batches.order)  # type: ignore[call-overload]
    bf16 = kind == "timm" and device.type == "cuda"
    an_epoch = steps_per_epoch(len(view.train_index), recipe.batch_size)
    steps = images = 0
    losses, error = [], float("nan")
    for _ in range(total_steps(recipe, an_epoch) // an_epoch):
        model.train()
        total = 0.0
        for batch, labels in batches.train():
            for group in optimizer.param_groups:
                group["lr"] = learning_rate(recipe, steps, an_epoch)
            with torch.autocast("cuda", torch.bfloat16, enabled=bf16):
                loss = F.cross_entropy(model(batch), labels)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item() * len(labels)
            steps, images = steps + 1, images + len(labels)
        losses.append(total / (an_epoch * recipe.batch_size))
        error = test(model, batches)
    return Result(spec.run_id, steps, images, losses[0], error, started, str(os.getpid()))


def plain_model(spec: RunSpec, view: DatasetView) -> tuple[nn.Module, torch.optim.Optimizer]:
    """The run's network and torch's SGD, in their defaults."""
    model, recipe = initial_network(spec, view), spec.recipe
    return model, torch.optim.SGD(
        model.parameters(),
        lr=recipe.lr,
        momentum=recipe.momentum,
        weight_decay=recipe.weight_decay,
    )


def timm_model(spec: RunSpec, view: DatasetView) -> tuple[nn.Module, torch.optim.Optimizer]:
    """timm's network of the same size, and its SGD without Nesterov's step."""
    timm = import_module("timm")
    create_optimizer = import_module("timm.optim").create_optimizer_v2
    recipe = spec.recipe
    model = timm.create_model("regnetx_004", num_classes=len(view.classes))
    how = {"momentum": recipe.momentum, "weight_decay": recipe.weight_decay}
    return model, create_optimizer(model, opt="momentum", lr=recipe.lr, **how)


@torch.no_grad()
def test(model: nn.Module, batches: Batches) -> float:
    """Error in percent."""
    model.eval()
    wrong = count = 0
    for images, labels in batches.test():
        wrong += int((model(images).argmax(1) != labels).sum())
        count += len(labels)
    return 100.0 * wrong / count


if __name__ == "__main__":
    file, out, kind, *numbers = sys.argv[1:]
    main(Path(file), Path(out), kind, *map(int, numbers))
