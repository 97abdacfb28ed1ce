"""Small runs for the tests of the engines."""

import numpy as np

from anynet_study.data import DatasetView
from anynet_study.design_space import Architecture
from anynet_study.training import Recipe, RunSpec
from anynet_study.training.engine import Outcome

NETWORK = Architecture(
    depths=(1, 2, 1, 1),
    widths=(8, 16, 16, 32),
    bottleneck_ratios=(1, 2, 1, 1),
    group_widths=(4, 8, 1, 16),
    stem="cifar",
    stem_width=8,
)
BASIC = {"epochs": 3, "batch_size": 32, "lr": 0.05, "flip": False, "padding": 1}


def spec(view: DatasetView, **changes: object) -> RunSpec:
    """A run of three epochs, or as `changes` say, on six classes of digits."""
    keys = BASIC | ({"epochs": None} if "steps" in changes else {}) | changes
    recipe = Recipe(**keys).resolved(view.size, len(view.classes))
    return RunSpec(NETWORK, view.identity, recipe)


def same(a: Outcome, b: Outcome) -> bool:
    """Whether two outcomes are equal, bit for bit."""
    return (
        a.curves == b.curves
        and np.array_equal(a.predictions, b.predictions)
        and (a.status, a.error) == (b.status, b.error)
    )
