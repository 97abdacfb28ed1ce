"""One run, trained, evaluated and written up as records. Imports torch."""

import socket
import time
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from anynet_study.data import DatasetView
from anynet_study.dispatch.planned import PlannedRun
from anynet_study.dispatch.worker.failure_kinds import classify
from anynet_study.errors import UserError
from anynet_study.provenance import code_version
from anynet_study.store import EvaluationRecord, RunRecord
from anynet_study.training.augment import Preprocessor
from anynet_study.training.checkpoint import Checkpoint
from anynet_study.training.cuda.together import Turns
from anynet_study.training.engine import Outcome, make_trainer, steps
from anynet_study.training.evaluation import EvaluationSet
from anynet_study.training.evaluation_pass import evaluate
from anynet_study.training.feeds import DeviceImages
from anynet_study.training.network import Weights
from anynet_study.training.options import Engine, Options


@dataclass(frozen=True)
class Trained:
    """A run that was trained to its end, not yet written down."""

    outcome: Outcome
    network: torch.nn.Module
    started: float
    #: Time that earlier processes spent on it.
    seconds_before: float


def turns(
    run: PlannedRun,
    view: DatasetView,
    source: DeviceImages,
    checkpoint: Checkpoint,
    options: Options,
    weights: Weights | None,
) -> Turns[Trained]:
    """Train `run` step by step, from `checkpoint` if it is there.

    Where further evaluations follow, which may take long, its end is saved, too.
    """
    started = time.time()
    trainer = make_trainer(run.spec, view, source, checkpoint.engine, options, weights)
    outcome = yield from steps(trainer, run.spec, view, checkpoint)
    if run.evaluations and outcome.status == "completed":
        epochs = len(outcome.curves["test_loss"])
        checkpoint.save(trainer.state(), outcome.curves, epochs, steps_done=0)
    return Trained(outcome, trainer.model, started, checkpoint.seconds_before)


def record_of(
    run: PlannedRun, trained: Trained, seconds: float, engine: Engine, device: torch.device
) -> RunRecord:
    """The row of a run that was trained; `seconds`: in this process."""
    outcome = trained.outcome
    return RunRecord(
        **_common(run, engine, device),
        status=outcome.status,
        error=outcome.error,
        curves={name: np.array(v, dtype=np.float32) for name, v in outcome.curves.items()},
        predictions=outcome.predictions,
        seconds=seconds + trained.seconds_before,
        started=trained.started,
    )


def failure_of(
    run: PlannedRun, error: Exception, seconds: float, engine: Engine, device: torch.device
) -> RunRecord:
    """The row of a run that raised `error`: a failure is a record too."""
    name = "" if isinstance(error, UserError) else f"{type(error).__name__}: "
    return RunRecord(
        **_common(run, engine, device),
        status="failed",
        failure_kind=classify(error),
        message=f"{name}{error}".splitlines()[0][:500],
        error=float("nan"),
        seconds=seconds,
        started=time.time() - seconds,
    )


def evaluation_of(
    run: PlannedRun,
    name: str,
    evaluation_set: EvaluationSet,
    network: torch.nn.Module,
    view: DatasetView,
    device: torch.device,
) -> EvaluationRecord:
    """Test the final `network` of `run` on a further test set that the sweep calls `name`."""
    started, clock = time.time(), time.perf_counter()
    preprocess = Preprocessor(run.spec.recipe, view.mean, view.std, device)
    metric = run.spec.recipe.metric
    result = evaluate(network, preprocess, evaluation_set, device, metric=metric)
    return EvaluationRecord(
        run_id=run.run_id,
        evaluation=name,
        evaluation_id=evaluation_set.evaluation_id,
        identity=evaluation_set.canonical(),
        images=result.images,
        loss=result.loss,
        top1=result.top1,
        top5=result.top5,
        error=result.error,
        predictions=result.predictions,
        seconds=time.perf_counter() - clock,
        started=started,
        host=socket.gethostname(),
    )


def _common(run: PlannedRun, engine: Engine, device: torch.device) -> dict[str, Any]:
    """What a row says of every run that this process trained, however it ended."""
    return {
        **run.named(),
        "host": socket.gethostname(),
        "device": torch.cuda.get_device_name(device) if device.type == "cuda" else "cpu",
        "torch_version": torch.__version__,
        "code_version": code_version(),
        "engine": engine,
    }
