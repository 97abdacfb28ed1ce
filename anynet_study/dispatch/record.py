"""One run, trained and written up as a record: failures are records too. Imports torch."""

import socket
import time
from pathlib import Path
from typing import Literal

import numpy as np
import torch

from anynet_study.data import DatasetView
from anynet_study.dispatch.plan import PlannedRun
from anynet_study.errors import UserError
from anynet_study.provenance import code_version
from anynet_study.store import RunRecord
from anynet_study.training.engine import Outcome, train

FailureKind = Literal["oom", "data", "code"]


def train_and_record(
    run: PlannedRun,
    view: DatasetView,
    device: torch.device,
    checkpoint: Path,
    checkpoint_seconds: float,
) -> RunRecord:
    """Train `run`; whatever the training raises becomes a record with status `failed`."""
    started = time.time()
    clock = time.perf_counter()
    kind, message, outcome = "", "", Outcome()
    try:
        outcome = train(run.spec, view, device, checkpoint, checkpoint_seconds)
    except Exception as error:
        kind = classify(error)
        name = "" if isinstance(error, UserError) else f"{type(error).__name__}: "
        message = f"{name}{error}".splitlines()[0][:500]
    return RunRecord(
        run_id=run.run_id,
        spec=run.spec.canonical(),
        architecture=run.spec.architecture.id,
        dataset=run.dataset,
        recipe=run.recipe,
        replicate=run.replicate,
        status="failed" if kind else outcome.status,
        failure_kind=kind,  # type: ignore[arg-type]
        message=message,
        metric=run.spec.recipe.metric,
        error=outcome.error,
        curves={name: np.array(v, dtype=np.float32) for name, v in outcome.curves.items()},
        predictions=outcome.predictions,
        seconds=time.perf_counter() - clock,
        started=started,
        host=socket.gethostname(),
        device=_device_name(device),
        torch_version=torch.__version__,
        code_version=code_version(),
    )


def classify(error: Exception) -> FailureKind:
    """The kind of failure behind an exception raised by training."""
    text = str(error).lower()
    if isinstance(error, (MemoryError, torch.OutOfMemoryError)) or "not enough memory" in text:
        return "oom"
    bad_data = (UserError, OSError, ValueError, IndexError)  # UserError: a damaged dataset
    return "data" if isinstance(error, bad_data) else "code"


def _device_name(device: torch.device) -> str:
    return torch.cuda.get_device_name(device) if device.type == "cuda" else "cpu"
