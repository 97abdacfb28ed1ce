"""What a part of the first hour is given, and what it tells."""

import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch
import yaml

from anynet_study.data import DatasetView
from anynet_study.design_space import AnyNetwork, Architecture, layers
from anynet_study.engine.training import RunSpec
from benchmarks.serving import BATCH
from benchmarks.training.task import Task

#: Batch norms of a network of the band, on average of 200: from 26 to 110.
NORMS = 64
PAPER = Path(__file__).parents[2] / "sweeps" / "paper.yaml"


@dataclass(frozen=True)
class Row:
    """One thing measured."""

    what: str
    value: float | str
    goal: str = ""
    #: None: there is no goal.
    reached: bool | None = None


@dataclass(frozen=True)
class Part:
    """What became of a part."""

    rows: list[Row] = field(default_factory=list)
    seconds: float = 0.0
    #: Why it failed, or was left out; "" otherwise.
    failed: str = ""
    skipped: str = ""


@dataclass(frozen=True)
class Setup:
    """What a part is given."""

    device: torch.device
    quick: bool
    folder: Path
    #: For what is kept beside the rows.
    out: Path = Path()

    @property
    def on_gpu(self) -> bool:
        return self.device.type == "cuda"

    def needs_gpu(self) -> None:
        """Raises NoGpuError where there is none."""
        if not self.on_gpu:
            raise NoGpuError("it needs a CUDA device")

    def judged(self, reached: bool) -> bool | None:
        """Whether a goal of a GPU is reached: nothing is said of another device, or a quick try."""
        return reached if self.on_gpu and not self.quick else None

    def task(
        self,
        name: str,
        runs: int,
        epochs: int,
        steps: int,
        side: int = 32,
        test_images: int = 5 * BATCH,
        recipe: Mapping[str, Any] | None = None,
    ) -> Task:
        """Runs of the paper's band on images drawn by formula; a small step of two if quick."""
        batch, keys = BATCH, dict(recipe or {})
        if self.quick:
            runs, epochs, steps, side, batch, test_images = 2, 1, 1, 32, 10, 50
            keys |= {"warmup_epochs": 0, "resolution": 32, "precise_bn": 10} if keys else {}
        device: Literal["cpu", "cuda"] = "cuda" if self.on_gpu else "cpu"
        task = Task(
            self.folder / name,
            device,
            runs,
            epochs,
            steps,
            side,
            batch,
            test_images,
            recipe=keys,
        )
        task.prepare()
        return task


class NoGpuError(Exception):
    """The part asks for a GPU, or for a tool of one, and there is none."""


def paper_recipe(dataset: str) -> dict[str, Any]:
    """Keys of the recipe of `sweeps/paper.yaml` for a dataset, but for its length and batch."""
    recipe = yaml.safe_load(PAPER.read_text())["recipes"]["basic"]
    keys = {**recipe, **recipe["overrides"].get(dataset, {})}
    return {key: it for key, it in keys.items() if key not in ("overrides", "epochs", "batch_size")}


def runs_of(task: Task) -> tuple[list[RunSpec], DatasetView]:
    """The planned runs and their images."""
    prepared = task.opened()
    return [run.spec for run in prepared.plan], prepared.views["images"]


def typical_run_of(task: Task) -> tuple[RunSpec, DatasetView]:
    """The planned run whose network is nearest to the band's in its number of batch norms.

    Estimates are of such a network: small maps take as long as their kernels are many.
    """
    specs, view = runs_of(task)
    return min(specs, key=lambda it: off_typical(it.architecture)), view


def off_typical(architecture: AnyNetwork) -> int:
    """How far a network is from the band's in its number of batch norms."""
    return abs(norms_of(architecture) - NORMS)


def norms_of(architecture: AnyNetwork) -> int:
    """How many batch norms a network has."""
    return normed(architecture, 32).total()


def normed(architecture: AnyNetwork, resolution: int) -> Counter[tuple[int, int]]:
    """How many normed layers put out maps of these channels and this side."""
    assert isinstance(architecture, Architecture)
    found: Counter[tuple[int, int]] = Counter()
    for layer in layers(architecture.networks(), resolution):
        if layer.normalised:
            sizes = np.broadcast_arrays(layer.width_out, layer.area, layer.count)
            for channels, area, count in zip(*(it.ravel().tolist() for it in sizes), strict=True):
                found[channels, math.isqrt(area)] += count
    return +found


def wait(device: torch.device) -> None:
    """Until a GPU has done what it was told."""
    if device.type == "cuda":
        torch.cuda.synchronize(device)
