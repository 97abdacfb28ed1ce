"""What the loop over epochs asks of an engine, and the batches in which every engine tests."""

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import torch

from anynet_study.training.cuda.together import Turns

#: Loss, top-1 error and top-5 error (percent).
Values = tuple[float, float, float]
State = dict[str, Any]
#: Most images in a batch of a test pass.
LARGEST_BATCH = 256


@dataclass(frozen=True)
class PassResult:
    """What a pass over the test images gave."""

    values: Values
    #: (n_test,) uint16: the predicted classes, in the view's order; where images have several,
    #: (n_test, classes) uint8, 1 for those predicted.
    predictions: np.ndarray
    #: In percent, on the recipe's metric.
    error: float


class Trainer(Protocol):
    """One network, its optimiser and its data; a step at a time."""

    @property
    def model(self) -> torch.nn.Module:
        """The network, whose weights have the names that they have in every engine."""

    def begin_epoch(self, epoch: int, steps_done: int = 0) -> None:
        """Prepare 0-based `epoch`, of which `steps_done` steps have been trained already."""

    def step(self) -> None:
        """Train one step."""

    def trained(self) -> Values:
        """Loss and errors over the steps of this epoch, as the weights moved."""

    def test(self) -> Turns[PassResult]:
        """Evaluate the weights as they are on the test images; yields between steps."""

    def state(self) -> State:
        """Weights, optimiser and this epoch's sums: with the position, all there is to save."""

    def restore(self, state: State) -> None:
        """Take up a `state` of the same run."""


def even_batches(images: int, largest: int = LARGEST_BATCH) -> tuple[int, int]:
    """Number and size of the batches of a test pass: as few as can be, about equal in size."""
    count = -(-images // largest)
    return count, -(-images // count)
