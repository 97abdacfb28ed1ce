"""Training one run: the plain loop, on whatever device, repeatable from its specification."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import numpy as np
import torch
from torch.nn import functional as F

from anynet_study.data import DatasetView
from anynet_study.models import build
from anynet_study.training.augment import Preprocessor
from anynet_study.training.batches import Split, in_order, shuffled, steps_per_epoch
from anynet_study.training.chance import chance_error
from anynet_study.training.checkpoint import Checkpoint
from anynet_study.training.metrics import Tally
from anynet_study.training.schedule import learning_rate
from anynet_study.training.spec import RunSpec

CURVES = ("train_loss", "train_top1", "train_top5", "test_loss", "test_top1", "test_top5")
TEST_BATCH = 256


@dataclass
class Outcome:
    """What a run gave."""

    status: Literal["completed", "diverged"] = "completed"
    #: Test error after the last epoch in percent, on the recipe's metric; chance if diverged.
    error: float = float("nan")
    #: Per epoch: mean loss and errors in percent. Training values are running averages over the
    #: augmented batches, as the weights moved; test values are taken after the epoch.
    curves: dict[str, list[float]] = field(default_factory=lambda: {name: [] for name in CURVES})
    #: Predicted class of each test image, (n_test,) uint16; empty if diverged.
    predictions: np.ndarray = field(default_factory=lambda: np.empty(0, dtype=np.uint16))


class Trainer:
    """One network, its optimiser and its data; an epoch at a time."""

    def __init__(self, spec: RunSpec, view: DatasetView, device: torch.device) -> None:
        self.spec = spec
        self.recipe = spec.recipe
        self.device = device
        self.train_split = Split(view, "train", device)
        self.test_split = Split(view, "test", device)
        as_tensor = {"dtype": torch.float32, "device": device}
        mean = torch.as_tensor(view.mean, **as_tensor)  # type: ignore[arg-type]
        std = torch.as_tensor(view.std, **as_tensor)  # type: ignore[arg-type]
        self.preprocess = Preprocessor(self.recipe, mean, std)
        # Drawn on the CPU: the same initial weights on every device.
        generator = torch.Generator().manual_seed(spec.seed_for("initialisation"))
        model = build(spec.architecture, len(view.classes), generator=generator)
        self.model = model.to(device=device, memory_format=torch.channels_last)  # type: ignore[call-overload]
        self.optimizer = torch.optim.SGD(
            self.model.parameters(),
            lr=self.recipe.lr,
            momentum=self.recipe.momentum,
            weight_decay=self.recipe.weight_decay,
            fused=True,
        )

    def train_epoch(self, epoch: int) -> tuple[float, float, float]:
        """Train 0-based `epoch`; loss, top-1 and top-5 error (percent) over its batches."""
        order = torch.Generator().manual_seed(self.spec.seed_for("order", epoch))
        augmentation = torch.Generator().manual_seed(self.spec.seed_for("augmentation", epoch))
        images, size = len(self.train_split), self.recipe.batch_size
        steps = steps_per_epoch(images, size)
        tally = Tally(self.device)
        self.model.train()
        for number, positions in enumerate(shuffled(images, size, order)):
            for group in self.optimizer.param_groups:
                group["lr"] = learning_rate(self.recipe, epoch * steps + number, steps)
            batch, labels = self.train_split.take(positions)
            logits = self.model(self.preprocess.train(batch, augmentation))
            loss = F.cross_entropy(logits, labels)
            self.optimizer.zero_grad(set_to_none=True)
            loss.backward()
            self.optimizer.step()
            tally.add(logits, labels, loss)
        return tally.result()

    @torch.no_grad()
    def evaluate(self) -> tuple[tuple[float, float, float], np.ndarray]:
        """Test loss, top-1 and top-5 error (percent), and the predicted classes (n_test,)."""
        tally = Tally(self.device)
        predictions = []
        self.model.eval()
        for positions in in_order(len(self.test_split), TEST_BATCH):
            batch, labels = self.test_split.take(positions)
            logits = self.model(self.preprocess.test(batch))
            tally.add(logits, labels)
            predictions.append(logits.argmax(1))
        return tally.result(), torch.cat(predictions).cpu().numpy().astype(np.uint16)


def train(
    spec: RunSpec,
    view: DatasetView,
    device: torch.device,
    checkpoint: Path | None = None,
    checkpoint_seconds: float = 300.0,
    on_epoch: Callable[[int], None] = lambda _: None,
) -> Outcome:
    """Train `spec` on `view`; continue from `checkpoint` if that file is there.

    The state is saved after an epoch when `checkpoint_seconds` have passed since the last save.
    Resumed and uninterrupted runs are equal, bit for bit on the CPU. `on_epoch` is told the
    number of epochs done. Raises whatever torch raises; a loss that is not finite is an outcome.
    """
    trainer = Trainer(spec, view, device)
    outcome = Outcome()
    saved = Checkpoint(checkpoint, spec.run_id)
    first_epoch = saved.load(trainer.model, trainer.optimizer, outcome.curves)
    last_save = time.monotonic()
    for epoch in range(first_epoch, spec.recipe.epochs):
        values = trainer.train_epoch(epoch)
        tested, outcome.predictions = trainer.evaluate()
        for name, value in zip(CURVES, values + tested, strict=True):
            outcome.curves[name].append(value)
        on_epoch(epoch + 1)
        if not np.isfinite([values[0], tested[0]]).all():
            return _diverged(outcome, spec, view)
        if time.monotonic() - last_save >= checkpoint_seconds:
            saved.save(trainer.model, trainer.optimizer, outcome.curves, epoch + 1)
            last_save = time.monotonic()
    if first_epoch == spec.recipe.epochs:  # killed after the last checkpoint, before the record
        _, outcome.predictions = trainer.evaluate()
    outcome.error = outcome.curves[f"test_{spec.recipe.metric}"][-1]
    return outcome


def _diverged(outcome: Outcome, spec: RunSpec, view: DatasetView) -> Outcome:
    outcome.status = "diverged"
    outcome.error = chance_error(view.test_labels, len(view.classes), spec.recipe.metric)
    outcome.predictions = np.empty(0, dtype=np.uint16)
    return outcome
