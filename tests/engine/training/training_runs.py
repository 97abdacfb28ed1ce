"""Small runs for the tests of the engines."""

from itertools import count
from pathlib import Path

import numpy as np
import pytest
import torch

from anynet_study.data import DatasetView
from anynet_study.design_space import Architecture
from anynet_study.engine.models import Backend
from anynet_study.engine.training import (
    Checkpoint,
    DeviceImages,
    Options,
    Outcome,
    Recipe,
    RunSpec,
    Turns,
    Weights,
)
from anynet_study.engine.training.engine import make_trainer, steps
from anynet_study.engine.training.options import Engine
from anynet_study.engine.training.together import finish
from anynet_study.engine.training.trainer import Trainer

CPU = torch.device("cpu")
#: Equal to the reference engine bit for bit, on a CPU.
EXACT = Options(backend=Backend("plain", "", 1), channels_last=False)
NETWORK = Architecture(
    depths=(1, 2, 1, 1),
    widths=(8, 16, 16, 32),
    bottleneck_ratios=(1, 2, 1, 1),
    group_widths=(4, 8, 1, 16),
    stem="cifar",
    stem_width=8,
)
#: The reference engine takes each image by itself.
ENGINES = ["fast", pytest.param("reference", marks=pytest.mark.slow)]
BASIC = {"epochs": 3, "batch_size": 32, "lr": 0.05, "flip": False, "padding": 1}


def spec(view: DatasetView, **changes: object) -> RunSpec:
    """A run of three epochs, or as `changes` say, of 5 steps each on six classes of digits."""
    keys = BASIC | ({"epochs": None} if "steps" in changes else {}) | changes
    recipe = Recipe(**keys).resolved(view.size, len(view.classes), view.multi_label)  # type: ignore[arg-type]
    return RunSpec(NETWORK, view.identity, recipe)


def same(a: Outcome, b: Outcome) -> bool:
    """Whether two outcomes are equal, bit for bit."""
    return (
        a.curves == b.curves
        and np.array_equal(a.predictions, b.predictions)
        and (a.status, a.error) == (b.status, b.error)
    )


def turns(
    run: RunSpec,
    view: DatasetView,
    images: DeviceImages,
    options: Options,
    checkpoint: Checkpoint | None = None,
    weights: Weights | None = None,
) -> Turns[Outcome]:
    """A run of the fast engine, a step at a time."""
    trainer = make_trainer(run, view, images, "fast", options, weights)
    saved = checkpoint or Checkpoint(None, run.run_id, "fast")
    return (yield from steps(trainer, run, view, saved))


def finished(
    trainer: Trainer, run: RunSpec, view: DatasetView, checkpoint: Checkpoint | None = None
) -> Outcome:
    """Train `run` to its end by a trainer that the test keeps."""
    saved = checkpoint or Checkpoint(None, run.run_id, "fast")
    return finish(steps(trainer, run, view, saved))


def stopped(run: RunSpec, view: DatasetView, path: Path, after: int, engine: Engine) -> Checkpoint:
    """Train `run` on a CPU from `path`, if it is there, and stop after so many more steps.

    Raises InterruptedRunError through `finished`, and nothing where the run ends before.
    """
    asked = count(1)
    saved = Checkpoint(path, run.run_id, engine, stop=lambda: next(asked) == after)
    finished(make_trainer(run, view, DeviceImages(CPU), engine), run, view, saved)
    return saved
