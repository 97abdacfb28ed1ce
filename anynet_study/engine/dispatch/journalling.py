"""Runs written up as records: those trained, those that failed and how. Imports torch."""

import errno
import socket
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

from anynet_study.core.errors import UserError, first_line
from anynet_study.core.files import replacing, sha256_of
from anynet_study.core.provenance import code_version
from anynet_study.data import DatasetView
from anynet_study.engine.dispatch.worker_state import WorkerState
from anynet_study.engine.models import Backend, ChangedNetworkError, libraries, processor
from anynet_study.engine.planning import PlannedRun
from anynet_study.engine.study_folder import StudyFolder
from anynet_study.engine.training import (
    Checkpoint,
    DeviceImages,
    Engine,
    EvaluationSet,
    Options,
    Outcome,
    Preprocessor,
    Trainer,
    Turns,
    Weights,
    evaluate,
    given_up,
    is_out_of_memory,
    make_trainer,
    steps,
)
from anynet_study.store import (
    EVALUATIONS_SUFFIX,
    EvaluationRecord,
    EvaluationWriter,
    FailureKind,
    JournalWriter,
    RunRecord,
)

#: No room for a file. The same for every run, and gone once someone has made room.
FULL_DISK = frozenset({errno.ENOSPC, errno.EDQUOT})
#: How a network file system, or a disk that is breaking, says that it is out of reach from here;
#: and a machine, that it has no more processes or open files to give.
OUT_OF_REACH = frozenset(
    {
        *(errno.EIO, errno.ESTALE, errno.EREMOTEIO, errno.ENODEV, errno.ENXIO),
        *(errno.ENOTCONN, errno.ESHUTDOWN, errno.ETIMEDOUT, errno.ECONNREFUSED),
        *(errno.ECONNRESET, errno.ECONNABORTED, errno.ENETDOWN, errno.ENETUNREACH),
        *(errno.EHOSTDOWN, errno.EHOSTUNREACH, errno.EMFILE, errno.ENFILE, errno.EAGAIN),
    }
)
#: How torch and its libraries say that a GPU, its driver or the machine is not well, in lower case.
UNWELL = (
    "no cuda gpus are available",
    "cuda-capable device",
    "cuda driver",
    "uncorrectable ecc",
    "unspecified launch failure",
    "nvml",
    "can't start new thread",
)


def classify(error: BaseException) -> FailureKind:
    """The kind of failure behind an exception raised by training.

    Not for a full disk, which is no failure of a run: see `disk_is_full`.
    """
    if is_out_of_memory(error):
        return "oom"
    if isinstance(error, ChangedNetworkError):
        return "code"
    causes = list(_with_causes(error))
    if any(isinstance(cause, OSError) and cause.errno in OUT_OF_REACH for cause in causes):
        return "node"
    if any(map(is_unwell, causes)):
        return "node"
    bad_data = (UserError, OSError, ValueError, IndexError)  # UserError: a damaged dataset
    return "data" if isinstance(error, bad_data) else "code"


def is_unwell(error: BaseException) -> bool:
    """Tell whether an exception says that the GPU, its driver or the machine is not well."""
    return any(words in str(error).lower() for words in UNWELL)


def disk_is_full(error: BaseException) -> bool:
    """Tell whether an exception, or one that it came of, says that a disk or a quota is full."""
    return any(
        isinstance(cause, OSError) and cause.errno in FULL_DISK for cause in _with_causes(error)
    )


def _with_causes(error: BaseException) -> Iterator[BaseException]:
    cause: BaseException | None = error
    while cause is not None:
        yield cause
        cause = cause.__cause__ or cause.__context__


@dataclass(frozen=True)
class Trained:
    """A run that was trained to its end, not yet written down."""

    outcome: Outcome
    trainer: Trainer
    started: float
    #: Time that earlier processes spent on it.
    seconds_before: float
    options: Options
    #: Of all processes that worked at it, in words.
    backends: list[str]


def training_steps(
    run: PlannedRun,
    view: DatasetView,
    source: DeviceImages,
    checkpoint: Checkpoint,
    options: Options,
    weights: Weights | None,
    after_epoch: Callable[[Trainer, int], Iterable[None]] = lambda *_: (),
) -> Turns[Trained]:
    """Train `run` step by step, from `checkpoint` if it is there.

    Where further evaluations follow, which may take long, its end is saved, too.
    """
    started = time.time()
    trainer = make_trainer(run.spec, view, source, checkpoint.engine, options, weights)
    outcome = yield from steps(trainer, run.spec, view, checkpoint, after_epoch)
    if run.evaluations and outcome.status == "completed":
        epochs = len(outcome.curves["test_loss"])
        checkpoint.save(trainer.state(), outcome.curves, epochs, steps_done=0)
    past = checkpoint.seconds_before
    return Trained(outcome, trainer, started, past, options, checkpoint.backends)


def record_of(
    run: PlannedRun,
    trained: Trained,
    seconds: float,
    engine: Engine,
    scores: str,
    function_digest: str = "",
) -> RunRecord:
    """The row of a run that was trained.

    `seconds`: in this process; `scores`: the digest of those that were kept, or "";
    `function_digest`: of the source of the function that made the network, or "".
    """
    outcome, several = trained.outcome, trained.backends
    mixed = f"trained by several backends: {', '.join(several)}" if len(several) > 1 else ""
    return RunRecord(
        message="; ".join(
            filter(None, (outcome.remark, mixed, *given_up(trained.options, run.spec)))
        ),
        **_common(run, engine, trained.options.backend, function_digest),
        status=outcome.status,
        error=outcome.error,
        curves={name: np.array(v, dtype=np.float32) for name, v in outcome.curves.items()},
        predictions=outcome.predictions,
        seconds=seconds + trained.seconds_before,
        started=trained.started,
        scores=scores,
    )


def save_scores(path: Path, trainer: Trainer) -> str:
    """Write what the final network says of its test images: (images, classes) float32.

    Returns the SHA-256 of the file.
    """
    trainer.model.eval()
    scores = torch.cat([logits.float().cpu() for logits in trainer.logits("test")])
    with replacing(path) as temporary, temporary.open("wb") as file:
        np.save(file, scores.numpy())
    return sha256_of(path)


def failure_of(
    run: PlannedRun,
    error: Exception,
    seconds: float,
    engine: Engine,
    backend: Backend,
    function_digest: str = "",
) -> RunRecord:
    """The row of a run that raised `error`: a failure is a record too."""
    name = "" if isinstance(error, UserError) or not str(error) else f"{type(error).__name__}: "
    return RunRecord(
        **_common(run, engine, backend, function_digest),
        status="failed",
        failure_kind=classify(error),
        message=f"{name}{first_line(error)}"[:500],
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
    at_once: int,
) -> Turns[EvaluationRecord]:
    """Test a `network` of `run` on a further test set that the sweep calls `name`.

    `at_once`: runs that take turns, which share the time that passes.
    """
    started, clock = time.time(), time.perf_counter()
    preprocess = Preprocessor(run.spec.recipe, view.mean, view.std, device)
    metric = run.spec.recipe.metric
    result = yield from evaluate(network, preprocess, evaluation_set, device, metric=metric)
    return EvaluationRecord(
        run_id=run.run_id,
        evaluation=name,
        evaluation_id=evaluation_set.evaluation_id,
        identity=evaluation_set.canonical(),
        kind=evaluation_set.kind,
        images=result.images,
        loss=result.loss,
        top1=result.top1,
        top5=result.top5,
        error=result.error,
        predictions=result.predictions,
        seconds=(time.perf_counter() - clock) / at_once,
        started=started,
        host=socket.gethostname(),
    )


def _common(
    run: PlannedRun, engine: Engine, backend: Backend, function_digest: str
) -> dict[str, Any]:
    """Return what a row says of every run that this process trained, however it ended."""
    return {
        **run.named(),
        "host": socket.gethostname(),
        "device": processor("cuda") if backend.device_type == "cuda" else "cpu",
        "torch_version": torch.__version__,
        "code_version": code_version(),
        "engine": engine,
        # The plain loop has torch's own layers.
        "backend": "plain" if engine == "reference" else backend.kind,
        "instruction_set": backend.instructions,
        "threads": backend.threads,
        "processor": processor(backend.device_type),
        "libraries": libraries(),
        "function_digest": function_digest,
    }


class WorkerJournals(AbstractContextManager["WorkerJournals"]):
    """A worker's own journals, of runs and of evaluations, begun when there is something to write.

    Each row is told in the worker's log, too.
    """

    def __init__(self, study: StudyFolder, state: WorkerState | None = None) -> None:
        self._study, self.state = study, state or WorkerState()
        self._runs: JournalWriter | None = None
        self._evaluations: EvaluationWriter | None = None

    def append(self, row: RunRecord | EvaluationRecord) -> None:
        """Write a row; it is on disk when this returns."""
        if isinstance(row, EvaluationRecord):
            if self._evaluations is None:
                path = self._study.new_journal(EVALUATIONS_SUFFIX)
                self._evaluations = EvaluationWriter(path)
            self._evaluations.append(row)
            print(f"{row.run_id} on {row.evaluation}: error {row.error:.2f}%", flush=True)
            return
        if self._runs is None:
            self._runs = JournalWriter(self._study.new_journal())
        self._runs.append(row)
        self.state.ends(row.run_id)
        with_error = f" (test error {row.error:.2f}%)" if row.status == "completed" else ""
        why = f": {row.message}" if row.message else ""
        print(
            f"{row.run_id} {row.dataset} {row.architecture} {row.status}{with_error} in "
            f"{row.seconds:.1f} s{why}",
            flush=True,
        )

    def __exit__(self, *_: object) -> None:
        for writer in (self._runs, self._evaluations):
            if writer is not None:
                writer.close()
