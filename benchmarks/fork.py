"""Compare this package with the code of paper 1: a fork of pycls, and pycls's later sweep code.

    python -m benchmarks.fork --fork CHECKOUT [--pycls CHECKOUT] [-o FILE]

`--fork`: a checkout of github.com/tuggeluk/pycls (measured at 116e4d2f, of July 2020). `--pycls`:
one of github.com/facebookresearch/pycls (5719de64, whose sweep code is of May 2021), for the
sampler. Nothing of either is copied here: what is compared is imported from there.

Each row is a quantity, what was compared, the largest difference found and the largest that is
allowed (none where a difference is only told). Exits with 1 where a row is beyond it. Takes 90
seconds of one core.
"""

import argparse
import csv
import importlib.util
import math
import sys
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple
from unittest import mock

import numpy as np
import torch
from scipy import stats
from torch import Tensor, nn

from anynet_study.design_space import Architecture, DesignSpace
from anynet_study.design_space.anynet import AnyNet
from anynet_study.design_space.networks import compatible
from anynet_study.engine.models.anynet import build
from anynet_study.engine.training import Recipe
from anynet_study.engine.training.metrics import training_loss
from anynet_study.engine.training.optimizers import make_optimizer
from anynet_study.engine.training.recipe import learning_rate
from anynet_study.engine.training.trainer import precise_statistics

BAND = (360e6, 400e6)
STEMS = {"imagenet": "res_stem_in", "simple": "simple_stem_in", "cifar": "res_stem_cifar"}
CLASSES = 10
SMALL = [
    Architecture((1, 1, 2, 1), (16, 32, 64, 64), (1, 2, 1, 4), (4, 8, 16, 8)),
    Architecture((2, 1, 1, 2), (24, 24, 48, 96), (1, 1, 2, 1), (1, 8, 8, 32), stem="cifar"),
]
#: Of a chi-squared or z test over all that is drawn: what chance exceeds once in so many times.
CHANCE = 1e-3


class Row(NamedTuple):
    """A line of the table: `difference` may not exceed `allowed`, if there is such a limit."""

    quantity: str
    compared: str
    difference: float
    allowed: float | None

    @property
    def holds(self) -> bool:
        return self.allowed is None or self.difference <= self.allowed


def networks() -> list[Architecture]:
    """Return five architectures of the paper's band, and two small ones."""
    return [*DesignSpace.anynetx().sample(5, flops=BAND, seed=0), *SMALL]


class Fork:
    """The fork's modules, and its network of an architecture."""

    def __init__(self, checkout: Path) -> None:
        sys.path.insert(0, str(checkout))
        self.net = import_module("pycls.core.net")
        self.optimizer = import_module("pycls.core.optimizer")
        self.config = import_module("pycls.core.config").cfg
        self.anynet = import_module("pycls.models.anynet").AnyNet
        self.config.NUM_GPUS = 1

    @staticmethod
    def arguments(architecture: Architecture, classes: int) -> dict[str, Any]:
        """Return the arguments of the fork's AnyNet."""
        return {
            "stem_type": STEMS[architecture.stem],
            "stem_w": architecture.stem_width,
            "block_type": "res_bottleneck_block",
            "ds": list(architecture.depths),
            "ws": list(architecture.widths),
            "ss": list(architecture.strides),
            "bms": [1 / ratio for ratio in architecture.bottleneck_ratios],
            "gws": list(architecture.group_widths),
            "se_r": None,
            "nc": classes,
        }

    def build(self, architecture: Architecture) -> nn.Module:
        network: nn.Module = self.anynet(**self.arguments(architecture, CLASSES))
        return network


def layers(theirs: Any, ours: Any) -> Iterator[tuple[nn.Module, nn.Module]]:
    """Yield the pairs of layers with weights or statistics, theirs and ours."""
    yield theirs.stem.conv, ours.stem[0][0]
    yield theirs.stem.bn, ours.stem[0][1]
    stages = [
        module for name, module in theirs.named_children() if name[0] == "s" and name != "stem"
    ]
    for their_stage, our_stage in zip(stages, ours.stages, strict=True):
        for their, our in zip(their_stage.children(), our_stage.children(), strict=True):
            if their.proj_block:
                yield their.proj, our.shortcut[0]
                yield their.bn, our.shortcut[1]
            for name, part in (("a", our.squeeze), ("b", our.spatial), ("c", our.expand)):
                yield getattr(their.f, name), part[0]
                yield getattr(their.f, f"{name}_bn"), part[1]
    yield theirs.head.fc, ours.head


def pair(fork: Fork, architecture: Architecture, seed: int) -> tuple[nn.Module, nn.Module]:
    """Return their network and ours, in training, with the same weights."""
    ours = build(architecture, CLASSES, torch.Generator().manual_seed(seed))
    theirs = fork.build(architecture)
    with torch.no_grad():
        for their, our in layers(theirs, ours):
            their.load_state_dict(our.state_dict())
    return theirs.train(), ours.train()


def apart(ours: Tensor, theirs: Tensor) -> float:
    """Return the largest difference, as a share of the largest value."""
    ours, theirs = ours.detach(), theirs.detach()
    return float((ours - theirs).abs().max() / theirs.abs().max().clamp(min=1e-30))


def images(seed: int, count: int = 32) -> tuple[Tensor, Tensor]:
    """Return images (count, 3, 32, 32) of noise, and labels."""
    generator = torch.Generator().manual_seed(seed)
    pixels = torch.randn(count, 3, 32, 32, generator=generator)
    return pixels, torch.randint(0, CLASSES, (count,), generator=generator)


def one_step(fork: Fork) -> Iterator[Row]:
    """Compare logits, loss and gradients in float32, with the same weights."""
    logits, losses, gradients = [], [], []
    for number, architecture in enumerate(networks()):
        theirs, ours = pair(fork, architecture, number)
        pixels, labels = images(number)
        their_logits, our_logits = theirs(pixels), ours(pixels)
        their_loss = nn.CrossEntropyLoss()(their_logits, labels)
        our_loss = training_loss(our_logits, labels)
        their_loss.backward()
        our_loss.backward()
        logits.append(apart(our_logits, their_logits))
        losses.append(abs(our_loss.item() - their_loss.item()))
        for their, our in layers(theirs, ours):
            ours_of = dict(our.named_parameters())
            for name, weight in their.named_parameters():
                assert weight.grad is not None
                gradient = ours_of[name].grad
                assert gradient is not None
                gradients.append(apart(gradient, weight.grad))
    compared = f"{len(logits)} networks, a batch of 32, float32"
    yield Row("logits", compared, max(logits), 0.0)
    yield Row("loss", compared, max(losses), 0.0)
    yield Row("gradients", f"{compared}; {len(gradients):,} tensors", max(gradients), 0.0)


def twenty_steps(fork: Fork) -> Iterator[Row]:
    """Compare losses of 20 steps of SGD in float64, and batch norms' statistics after them."""
    recipe = Recipe(epochs=2, lr=0.1, nesterov=True, weight_decay=5e-4, warmup_epochs=1)
    config = fork.config
    config.OPTIM.BASE_LR, config.OPTIM.WEIGHT_DECAY, config.OPTIM.NESTEROV = 0.1, 5e-4, True
    config.BN.NUM_SAMPLES_PRECISE = 16 * 32
    losses, means, variances = [], [], []
    for number, architecture in enumerate(networks()):
        theirs, ours = (network.double() for network in pair(fork, architecture, number))
        their_optimizer = fork.optimizer.construct_optimizer(theirs)
        our_optimizer = make_optimizer(recipe, ours.parameters(), 0.1)
        batches = [images(100 * number + step) for step in range(20)]
        for step, (pixels, labels) in enumerate(batches):
            # The rate is stored in float32 here: the difference would be one of rounding.
            rate = float(torch.tensor(learning_rate(recipe, step, 10)))
            fork.optimizer.set_lr(their_optimizer, rate)
            for group in our_optimizer.param_groups:
                group["lr"] = torch.tensor(rate)
            their_loss = nn.CrossEntropyLoss()(theirs(pixels.double()), labels)
            our_loss = training_loss(ours(pixels.double()), labels)
            for optimizer, loss in ((their_optimizer, their_loss), (our_optimizer, our_loss)):
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
            losses.append(abs(our_loss.item() - their_loss.item()))
        settle(fork, theirs, ours, [pixels.double() for pixels, _ in batches[:16]])
        for their, our in layers(theirs, ours):
            if isinstance(their, nn.BatchNorm2d) and isinstance(our, nn.BatchNorm2d):
                ours_of, theirs_of = our.state_dict(), their.state_dict()
                means.append(apart(ours_of["running_mean"], theirs_of["running_mean"]))
                variances.append(apart(ours_of["running_var"], theirs_of["running_var"]))
    compared = f"{len(networks())} networks, 20 steps of SGD, float64"
    yield Row("loss while training", compared, max(losses), 1e-6)
    yield Row("precise means of batch norms", "after these, 512 images", max(means), 1e-5)
    yield Row("precise variances of batch norms", "after these, 512 images", max(variances), 1e-5)


def settle(fork: Fork, theirs: nn.Module, ours: nn.Module, batches: list[Tensor]) -> None:
    """Set the statistics of batch norms to their means over the batches, each in its own way."""

    class Loader(list[tuple[Tensor, None]]):
        batch_size = 32

    def passes() -> Iterator[None]:
        with torch.no_grad():
            for batch in batches:
                ours(batch)
                yield

    with mock.patch.object(Tensor, "cuda", lambda tensor: tensor):  # theirs asks for a GPU
        fork.net.compute_precise_bn_stats(theirs, Loader((batch, None) for batch in batches))
    for _ in precise_statistics(ours, passes()):
        pass


def initial_weights(fork: Fork) -> Iterator[Row]:
    """Compare the spread of each layer's initial weights over 20 seeds of both."""
    worst, count = 0.0, 0
    for architecture in (networks()[0], SMALL[0]):
        spreads: list[list[list[float]]] = [[], []]
        for seed in range(20):
            torch.manual_seed(seed)
            theirs = fork.build(architecture)
            ours = build(architecture, CLASSES, torch.Generator().manual_seed(1000 + seed))
            found = [
                [float(layer.get_parameter("weight").detach().std()) for layer in both]
                for both in layers(theirs, ours)
                if not isinstance(both[0], nn.BatchNorm2d)
            ]
            for spread, column in zip(spreads, zip(*found, strict=True), strict=True):
                spread.append(list(column))
        pvalues = stats.ttest_ind(spreads[0], spreads[1]).pvalue
        count += len(pvalues)
        worst = max(worst, float(-np.log10(np.min(pvalues) * count)))
    compared = f"spread in {count} layers, 20 seeds: -log10 of the corrected p of a t test"
    yield Row("initial weights", compared, max(worst, 0.0), -math.log10(CHANCE))


def complexities(fork: Fork) -> Iterator[Row]:
    """Compare FLOPs (but for the head's biases, which they count), parameters and activations."""
    shapes = [(224, 1000), (32, 10), (150, 6), (227, 2), (125, 7)]
    population = DesignSpace.anynetx().sample(200, flops=BAND, seed=7)
    worst = {"FLOPs, head's biases apart": 0, "parameters": 0, "activations": 0}
    for stem in STEMS:
        for drawn in population:
            architecture = Architecture.from_dict(drawn.to_dict() | {"stem": stem})
            for side, classes in shapes:
                start = {"h": side, "w": side, "flops": 0, "params": 0, "acts": 0}
                theirs = fork.anynet.complexity(start, **fork.arguments(architecture, classes))
                differences = (
                    theirs["flops"] - classes - architecture.flops(side, classes),
                    theirs["params"] - architecture.parameters(classes),
                    theirs["acts"] - architecture.activations(side, classes),
                )
                for name, difference in zip(worst, differences, strict=True):
                    worst[name] = max(worst[name], abs(difference))
    compared = f"{len(STEMS)} stems, {len(population)} networks, {len(shapes)} sizes"
    for name, difference in worst.items():
        yield Row(name, compared, difference, 0)


def rates(fork: Fork) -> Iterator[Row]:
    """Compare learning rates by epoch, with their warm-up, and tell how far ours by step sum."""
    worst, sums = 0.0, {}
    config = fork.config.OPTIM
    config.BASE_LR = 0.1
    for epochs in (10, 20, 30, 40):
        for warmup in (0, 1):
            config.MAX_EPOCH, config.WARMUP_EPOCHS = epochs, warmup
            theirs = [fork.optimizer.get_epoch_lr(epoch) for epoch in range(epochs)]
            by_epoch = Recipe(epochs=epochs, warmup_epochs=warmup, schedule_by="epoch")
            ours = [learning_rate(by_epoch, step, 7) for step in range(7 * epochs)]
            worst = max(worst, float(np.abs(np.repeat(theirs, 7) - ours).max()))
            by_step = Recipe(epochs=epochs, warmup_epochs=warmup)
            total = sum(learning_rate(by_step, step, 1000) for step in range(1000 * epochs))
            sums[epochs, warmup] = total / (1000 * sum(theirs))
    yield Row("learning rate, `schedule_by: epoch`", "8 schedules", worst, 1e-15)
    told = ", ".join(f"{epochs}: {sums[epochs, 0]:.2f}" for epochs in (10, 20, 30, 40))
    yield Row("sum of rates by step", f"as a share of theirs, by epochs: {told}", sums[10, 0], None)


def sampler(checkout: Path) -> Iterator[Row]:
    """Compare the law of the draws and their adjustment with pycls's sweep code."""
    random = loaded(checkout / "pycls/sweep/random.py")
    adjust = adjustment(checkout)
    np.random.seed(3)  # noqa: NPY002 - theirs draws from it
    count = 5000
    draws: list[Callable[[], float]] = [
        lambda: random.log_uniform(1, 16, 1),
        lambda: random.log_uniform(8, 1024, 8),
        lambda: random.power2_uniform(1, 4, 1),
        lambda: random.power2_uniform(1, 32, 1),
    ]
    values = [np.array([[draw() for _ in range(4)] for _ in range(count)]) for draw in draws]
    space = DesignSpace.anynetx()
    assert isinstance(space.stages, AnyNet)
    for (name, (law,)), drawn in zip(space.stages.distributions.items(), values, strict=True):
        found, counts = np.unique(drawn, return_counts=True)
        expected = np.array([float(law.probability(value)) for value in law.values.tolist()])
        observed = np.zeros(len(expected))
        observed[np.searchsorted(law.values, found)] = counts
        p = stats.chisquare(observed, expected * drawn.size).pvalue
        compared = f"{drawn.size:,} draws: -log10 of the p of a chi-squared test"
        yield Row(f"law of {name}", compared, -math.log10(p), -math.log10(CHANCE))
    d, w, b, g = (drawn.T.astype(float) for drawn in values)
    fits = compatible(d, w, b, g, space.skeleton)
    differing = unbuilt = 0
    for number, (_, w, b, g) in enumerate(zip(*values, strict=True)):
        widths, _, groups = adjust(w.tolist(), [1 / ratio for ratio in b], g.tolist())
        ours = fits.widths[:, number].tolist(), fits.group_widths[:, number].tolist()
        differing += ours != (widths, groups)
        unbuilt += bool(((w // b % g != 0) | (g > w // b)).any())
    yield Row("draws made compatible", f"{count:,} draws", differing, 0)
    share = (
        f"of {count:,} draws; they are another network, or none, in an AnyNet that adjusts nothing"
    )
    yield Row("share of incompatible draws", share, unbuilt / count, None)


def loaded(path: Path) -> ModuleType:
    """Import one file, without the package around it."""
    spec = importlib.util.spec_from_file_location(f"theirs_{path.stem}", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def adjustment(checkout: Path) -> Callable[..., tuple[list[int], Any, list[int]]]:
    """Return pycls's adjust_block_compatibility: its module asks for all of its package."""
    source = (checkout / "pycls/models/blocks.py").read_text()
    start = source.index("def adjust_block_compatibility")
    names: dict[str, Any] = {"np": np}
    exec(source[start : source.index("\n\n\n", start)], names)
    function: Callable[..., tuple[list[int], Any, list[int]]] = names["adjust_block_compatibility"]
    return function


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--fork", type=Path, required=True, help="checkout of tuggeluk/pycls")
    parser.add_argument("--pycls", type=Path, help="checkout of facebookresearch/pycls")
    parser.add_argument("-o", "--output", type=Path, help="the table as CSV")
    options = parser.parse_args()
    torch.set_num_threads(1)
    fork = Fork(options.fork)
    parts = [one_step, twenty_steps, initial_weights, complexities, rates]
    rows: list[Row] = []
    for part in parts:
        rows += part(fork)
    if options.pycls is not None:
        rows += sampler(options.pycls)
    for row in rows:
        limit = "" if row.allowed is None else f" (allowed {row.allowed:.3g})"
        verdict = "" if row.holds else "  BEYOND"
        print(f"{row.quantity}: {row.difference:.3g}{limit}; {row.compared}{verdict}")
    if options.output is not None:
        with options.output.open("w", newline="") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(Row._fields)
            for row in rows:
                limit = "" if row.allowed is None else f"{row.allowed:.3g}"
                writer.writerow([row.quantity, row.compared, f"{row.difference:.3g}", limit])
    return int(not all(row.holds for row in rows))


if __name__ == "__main__":
    sys.exit(main())
