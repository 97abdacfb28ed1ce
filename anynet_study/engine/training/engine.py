"""Training one run to its end, a step at a time, so that several can take turns."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import numpy as np
import torch

from anynet_study.core.metrics import CURVES, chance_error
from anynet_study.data import DatasetView
from anynet_study.engine.models import backend_here
from anynet_study.engine.training.checkpoint import Checkpoint, Weights
from anynet_study.engine.training.fast import FastTrainer
from anynet_study.engine.training.feeds import DeviceImages
from anynet_study.engine.training.options import Engine, Options, fitting
from anynet_study.engine.training.passes import PassResult
from anynet_study.engine.training.recipe import epoch_lengths, is_tested, steps_per_epoch
from anynet_study.engine.training.reference import ReferenceTrainer
from anynet_study.engine.training.spec import RunSpec
from anynet_study.engine.training.together import Turns, train_together
from anynet_study.engine.training.trainer import Trainer, Values


@dataclass
class Outcome:
    """The results of a run."""

    status: Literal["completed", "diverged"] = "completed"
    #: Test error of the final weights in percent, on the recipe's metric; chance if diverged.
    error: float = float("nan")
    #: Per epoch: mean loss and errors in percent, `test_error` on the recipe's metric. Training
    #: values are running averages over the augmented batches, as the weights moved; test values
    #: are taken after the epoch, and are NaN after an epoch without a test.
    curves: dict[str, list[float]] = field(default_factory=lambda: {name: [] for name in CURVES})
    #: Predicted class of each test image, (n_test,) uint16; where images have
    #: several, as `to_words` packs them; empty if diverged.
    predictions: np.ndarray = field(default_factory=lambda: np.empty(0, dtype=np.uint16))
    #: A remark for the run's record, or "".
    remark: str = ""


def make_trainer(
    spec: RunSpec,
    view: DatasetView,
    images: DeviceImages,
    engine: Engine = "fast",
    options: Options | None = None,
    weights: Weights | None = None,
) -> Trainer:
    """The network of `spec` and all that trains it, on the device of `images`.

    `options`: by default those of the device. `weights`: the final ones of `spec.pretrained`, where
    the run starts from another.
    """
    device = images.device
    if engine == "reference":
        return ReferenceTrainer(spec, view, device, weights)
    options = options or Options(backend_here(None, "cpu" if device.type == "cpu" else "cuda"))
    return FastTrainer(spec, view, images, fitting(options, spec, device.type), weights)


def steps(
    trainer: Trainer,
    spec: RunSpec,
    view: DatasetView,
    checkpoint: Checkpoint,
    after_epoch: Callable[[Trainer, int], Iterable[None]] = lambda *_: (),
) -> Turns[Outcome]:
    """Train to the end, from `checkpoint` if it is there; yields between steps.

    `after_epoch(trainer, epochs)` is called after each epoch, with the number of epochs done; it
    yields between steps of its own. If the run is killed there, it is called again for the same
    epoch when the run goes on.

    A resumed run equals an uninterrupted one, bit for bit on a CPU. Raises InterruptedRunError if
    the checkpoint is told to stop, and whatever torch raises. A loss that is not finite does not
    raise: the outcome is `diverged`.
    """
    outcome = Outcome()
    lengths = epoch_lengths(
        spec.recipe, steps_per_epoch(len(view.train_index), spec.recipe.batch_size)
    )
    first, done = checkpoint.load(trainer, outcome.curves)
    tested = None
    for epoch in range(first, len(lengths)):
        if trainer.selection.ends(epoch):
            break
        trainer.begin_epoch(epoch, done)
        for number in range(done, lengths[epoch]):
            trainer.step()
            checkpoint.reached(trainer, outcome.curves, epoch, number + 1)
            yield
        done = 0
        # Both wait for the device, so they come after the host has said all that is to be done.
        tested = None
        if is_tested(spec.recipe, epoch, len(lengths)):
            yield from trainer.settle_norms()
            tested = yield from trainer.test()
        losses = _append_epoch(outcome, trainer.trained(), tested)
        if not np.isfinite(losses).all():
            return _diverged(outcome, spec, view)
        yield from trainer.validate(epoch)
        yield from after_epoch(trainer, epoch + 1)
    # Other weights than the last; killed after the last test and before the record; or ended early,
    # after an epoch without a test.
    others = trainer.take_selected()
    if spec.recipe.thresholds == "validation":
        yield from trainer.set_thresholds()
    if others or spec.recipe.thresholds == "validation" or tested is None:
        tested = yield from trainer.test()
    if spec.recipe.validates:
        trained_for, best = len(outcome.curves["test_loss"]), trainer.selection.epoch + 1
        outcome.remark = f"lowest validation error after epoch {best} of {trained_for}"
    outcome.predictions, outcome.error = tested.predictions, tested.error
    return outcome


def train(
    spec: RunSpec,
    view: DatasetView,
    device: torch.device,
    checkpoint: Path | None = None,
    checkpoint_seconds: float = 300.0,
    engine: Engine = "fast",
    options: Options | None = None,
    weights: Weights | None = None,
) -> Outcome:
    """Train `spec` on `view`; continue from `checkpoint` if that file is there. See `steps`."""

    def turns() -> Turns[Outcome]:
        trainer = make_trainer(spec, view, DeviceImages(device), engine, options, weights)
        saved = Checkpoint(checkpoint, spec.run_id, engine, checkpoint_seconds)
        return (yield from steps(trainer, spec, view, saved))

    (ended,) = train_together([turns], device)
    if isinstance(ended.result, Exception):
        raise ended.result
    return ended.result


def _append_epoch(outcome: Outcome, trained: Values, tested: PassResult | None) -> list[float]:
    """Add an epoch to the curves, NaN if it was not tested; return the losses that are known."""
    test = (np.nan,) * 4
    if tested is not None:
        test = (tested.loss, tested.top1, tested.top5, tested.error)
    for name, value in zip(CURVES, (*trained, *test), strict=True):
        outcome.curves[name].append(float(value))  # checkpoints refuse those of NumPy
    return [trained[0]] if tested is None else [trained[0], tested.loss]


def _diverged(outcome: Outcome, spec: RunSpec, view: DatasetView) -> Outcome:
    outcome.status = "diverged"
    outcome.error = chance_error(view.test_labels, len(view.classes), spec.recipe.metric)
    outcome.predictions = np.empty(0, dtype=np.uint16)
    return outcome
