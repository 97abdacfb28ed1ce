"""Count, of a whole population, what the time of runs and of further evaluations consists of.

A device's price of each (`prices.PRICES`) makes seconds of them. Counts of a training step are
three forward passes: forward, backward to the inputs, backward to the weights.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from anynet_study.design_space import (
    Counts,
    ForeignNetwork,
    Group,
    Networks,
    layers,
    measure,
)
from anynet_study.engine.training import (
    FINAL,
    EvaluationSet,
    Moment,
    Recipe,
    TransformName,
    epoch_lengths,
    steps_per_epoch,
)

FloatArray = npt.NDArray[np.float64]

#: How many forward passes take as long as a training step: of all layers, and of the last alone.
TRAINING_PASSES = {"all": 3, "head": 1}
#: Images of a batch of evaluation, as in the engine.
EVALUATION_BATCH = 256
#: The time that each transform takes for a pixel, as a share of what the costliest one takes;
#: measured on a CPU.
COST: Mapping[TransformName, float] = MappingProxyType(
    {
        "identity": 0.0,
        "blur": 0.9,
        "sharpness": 0.2,
        "affine": 0.9,
        "colour_jitter": 1.0,
        "contrast": 0.12,
        "equalise": 0.25,
        "grayscale": 0.1,
        "horizontal_flip": 0.01,
        "invert": 0.005,
        "perspective": 0.95,
        "posterise": 0.005,
        "resized_crop": 0.95,
        "rotation": 0.75,
        "sharpness_change": 0.2,
        "solarise": 0.15,
        "vertical_flip": 0.005,
        "jpeg": 0.75,
    }
)
#: The same of mixing the images of a batch.
MIXING_COST = 0.15
#: Measures of complexity that are features.
COUNTED = ("flops", "activations")


@dataclass(frozen=True)
class Workload:
    """The work of a run, or of evaluations: all beside the network on which its cost depends."""

    train_images: int
    #: Including the validation images, if they are evaluated as well.
    test_images: int
    #: Optimiser steps of the whole run (none of further evaluations), and evaluations of all test
    #: images.
    steps: int
    evaluations: int
    batch_size: int
    #: Parts in which a step's batch is computed.
    parts: int
    #: Forward passes that a step takes as long as.
    training_passes: int
    #: Side of the network's input in pixels.
    resolution: int
    classes: int
    #: Pixels that training and further evaluations transform, each weighted by `COST`.
    transformed: float = 0.0
    #: Images that pass before each evaluation, in batches of training, to settle batch norms.
    settling: int = 0

    @classmethod
    def of(
        cls, recipe: Recipe, train_images: int, test_images: int, side: int, classes: int
    ) -> "Workload":
        """The work of a recipe on a dataset, packed at `side` pixels."""
        each_epoch = steps_per_epoch(train_images, recipe.batch_size)
        lengths = epoch_lengths(recipe, each_epoch)
        batch, settling = min(recipe.batch_size, train_images), min(recipe.precise_bn, train_images)
        tests = len(lengths) if recipe.validates else -(-len(lengths) // recipe.test_every)
        augmented = batch * sum(lengths) + settling * tests
        return cls(
            train_images,
            test_images,
            sum(lengths),
            tests,
            batch,
            recipe.accumulation,
            TRAINING_PASSES[recipe.trained],
            recipe.resolution or side,
            classes,
            transformed=augmented * side**2 * _cost_of(recipe),
            settling=settling,
        )

    @property
    def epochs(self) -> int:
        """Passes over the training images, the last one perhaps cut short."""
        return -(-self.steps // steps_per_epoch(self.train_images, self.batch_size))

    @property
    def trained(self) -> int:
        """Images of all training steps."""
        return self.steps * self.batch_size

    @property
    def evaluated(self) -> int:
        """Images of all evaluations."""
        return self.evaluations * (self.test_images + self.settling)

    @property
    def passes(self) -> int:
        """Images that pass forward through the network, or as long as that."""
        return self.training_passes * self.trained + self.evaluated

    @property
    def batches(self) -> int:
        """Batches that pass forward through the network, or as long as that."""
        each = -(-self.test_images // EVALUATION_BATCH)
        if self.settling:
            each += -(-self.settling // self.batch_size) * self.parts
        return self.training_passes * self.steps * self.parts + self.evaluations * each


def _cost_of(recipe: Recipe) -> float:
    """The time of a recipe's operators for a pixel, in the units of `COST`."""
    costs = [MIXING_COST] * len(recipe.mixing)
    for operator in recipe.operators:
        costs += [COST[name] * often for name, often in operator.uses.items()]
    return sum(costs)


class Features(NamedTuple):
    """The counts of a run, or what one of each costs in seconds; arrays of shape (n,)."""

    #: Multiply-adds.
    flops: Any
    #: Output elements of all layers: normalised, activated and added, at the speed of the memory.
    activations: Any
    #: Layers times batches: the overhead of starting an operation.
    layers: Any
    #: `Workload.transformed`.
    transforms: Any
    #: Runs: building the network, writing up the result.
    runs: Any


def run_features(groups: Sequence[Group], work: Workload) -> FloatArray:
    """The features of a run of each network, shape (n, features); rows are the groups' rows."""
    table = np.empty((sum(len(group.rows) for group in groups), len(Features._fields)))
    for rows, networks in groups:
        if isinstance(networks, ForeignNetwork):
            costs = networks.costs_at(work.resolution, work.classes)
            counted: Sequence[Any] = (costs.flops, costs.activations)
        else:
            counted = [measure(it, networks, work.resolution, work.classes) for it in COUNTED]
        flops, activations = counted
        columns = Features(
            flops=work.passes * flops,
            activations=work.passes * activations,
            layers=work.batches * layer_counts(networks),
            transforms=work.transformed,
            runs=int(work.steps > 0),
        )
        table[rows] = np.stack(np.broadcast_arrays(*columns), axis=-1)
    return table


def layer_counts(networks: Networks | ForeignNetwork) -> Counts | int:
    """Convolutions of each network, and its linear layer, shape (n,); of a foreign one a number."""
    if isinstance(networks, ForeignNetwork):
        return networks.costs.layers
    stages = np.zeros(networks.widths.shape, dtype=np.int64)
    stem, *others = layers(networks, 1)
    for layer in others:
        stages += layer.count
    counts: Counts = stem.count + stages.sum(axis=0) + 1
    return counts


@dataclass(frozen=True)
class FurtherEvaluation:
    """A further evaluation of a run."""

    evaluation_id: str
    images: int
    #: Side of the packed images in pixels, at which they are transformed.
    side: int
    transform: TransformName
    #: Of the network.
    classes: int
    #: Which of the run's networks is tested.
    moment: Moment = FINAL

    @classmethod
    def of(cls, evaluation_set: EvaluationSet) -> "FurtherEvaluation":
        """The evaluation of images that are there."""
        shots = len(evaluation_set.shots[0]) if evaluation_set.shots else 0
        return cls(
            evaluation_set.evaluation_id,
            len(evaluation_set.index) + shots,
            evaluation_set.dataset.size,
            evaluation_set.transform,
            len(evaluation_set.allowed),
            evaluation_set.moment,
        )


def evaluation_features(
    groups: Sequence[Group], tests: Sequence[FurtherEvaluation], resolution: int
) -> FloatArray:
    """Return what all `tests` of each network take together, shape (n, features); rows are the
    groups'.

    `resolution`: of the network's input in pixels.
    """
    together = np.zeros((sum(len(group.rows) for group in groups), len(Features._fields)))
    # Those alike are counted at once.
    for images, classes in sorted({(test.images, test.classes) for test in tests}):
        alike = [test for test in tests if (test.images, test.classes) == (images, classes)]
        pixels = sum(COST[test.transform] * test.side**2 * images for test in alike)
        work = Workload(
            train_images=0,
            test_images=images,
            steps=0,
            evaluations=len(alike),
            batch_size=0,
            parts=1,
            training_passes=0,
            resolution=resolution,
            classes=classes,
            transformed=pixels,
        )
        together += run_features(groups, work)
    return together
