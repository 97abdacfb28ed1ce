"""A worker that meets a fault on purpose.

    python -m benchmarks.gpu.planted FAULT SWEEP OUT [KEY=VALUE ...]

FAULT is none, assert (on the device, in the third step of one run) or SIGTERM (in that step, to
this process).
"""

import os
import signal
import sys
from pathlib import Path

import torch

from anynet_study.engine.dispatch import open_sweep
from anynet_study.engine.dispatch.recorded import NO_RETRIES
from anynet_study.engine.dispatch.snapshot import take
from anynet_study.engine.dispatch.worker import train_runs
from anynet_study.engine.dispatch.worker_state import WorkerState
from anynet_study.engine.study_folder import StudyFolder
from anynet_study.engine.training.fast import FastTrainer


def plant(fault: str, run_id: str) -> None:
    """Let the run meet the fault in its third step, or its last."""
    step = FastTrainer.step

    def faulty(trainer: FastTrainer) -> None:
        if (trainer.spec.run_id, trainer.done) == (run_id, min(2, trainer.steps - 1)):
            if fault == "SIGTERM":
                os.kill(os.getpid(), signal.SIGTERM)
            else:  # a row that is not there
                far = torch.full((1,), 1 << 20, device=trainer.device)
                torch.zeros(1, device=trainer.device).index_select(0, far)
        step(trainer)

    FastTrainer.step = faulty  # type: ignore[method-assign, assignment]


def main(fault: str, sweep_file: Path, out: Path, *overrides: str) -> None:
    prepared, state = open_sweep(sweep_file, overrides), WorkerState()
    study = StudyFolder(out)
    study.begin(prepared.sweep, prepared.population)
    take(study.code)
    if fault != "none":
        plant(fault, prepared.plan.ids()[-1])
    with state.listening():
        train_runs(study, prepared.sweep, prepared.plan.ids(), NO_RETRIES, state)


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3]), *sys.argv[4:])
