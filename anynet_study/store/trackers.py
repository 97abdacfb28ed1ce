"""Finished runs for TensorBoard and for Weights & Biases, from a study's journals.

Training knows nothing of either: it costs nothing where they are not installed, and a study that
was trained without them can be shown later.
"""

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

from anynet_study.core.errors import UserError
from anynet_study.store.journal import run_batches
from anynet_study.store.records import RUN, RunRecord

#: Hands one finished run over.
Send = Callable[[RunRecord], None]
#: Of each journal, up to which byte it was read.
Seen = dict[Path, int]


def finished_runs(journals: Path, seen: Seen) -> Iterator[RunRecord]:
    """The runs in a folder of journals that were not `seen` before; `seen` then has them."""
    for path in RUN.paths(journals):
        for batch, end in run_batches(path, seen.get(path, 0)):
            yield from (RUN.from_batch(batch.slice(row, 1)) for row in range(len(batch)))
            seen[path] = end


def to_tensorboard(folder: Path) -> Send:
    """Write event files, `folder`/DATASET/RECIPE/ARCHITECTURE-REPLICATE; those there stay.

    Raises UserError where tensorboard is not installed.
    """
    try:
        from torch.utils.tensorboard import SummaryWriter
    except ImportError:
        raise _missing("tensorboard") from None

    def send(record: RunRecord) -> None:
        name = f"{record.architecture}-{record.replicate}"
        place = folder / record.dataset / record.recipe / name
        if place.exists():
            return
        begun = place.with_name(f".{name}.{record.run_id}")  # whole, or not there
        with SummaryWriter(str(begun)) as writer:
            writer.add_text("specification", f"`{record.spec}`")
            for epoch, values in _epochs(record):
                for curve, value in values.items():
                    writer.add_scalar(curve, value, epoch, walltime=record.started)
        begun.rename(place)

    return send


def to_wandb(project: str) -> Send:
    """Log to a project of Weights & Biases, under the run's own id: once more changes nothing.

    Raises UserError where wandb is not installed.
    """
    try:
        import wandb
    except ImportError:
        raise _missing("wandb") from None

    def send(record: RunRecord) -> None:
        with wandb.init(
            project=project,
            id=record.run_id,
            name=f"{record.architecture} on {record.dataset}",
            group=record.dataset,
            job_type=record.recipe,
            config={**json.loads(record.spec), "replicate": record.replicate},
            resume="allow",
            settings=wandb.Settings(silent=True),
        ) as run:
            for epoch, values in _epochs(record):
                run.log(values, step=epoch)
            run.summary.update({"error": record.error, "status": record.status})

    return send


def _epochs(record: RunRecord) -> Iterator[tuple[int, dict[str, float]]]:
    """Each epoch, counted from 1, with what is known of it."""
    for epoch in range(record.epochs):
        known = {name: float(curve[epoch]) for name, curve in record.curves.items()}
        yield epoch + 1, {name: value for name, value in known.items() if np.isfinite(value)}


def _missing(name: str) -> UserError:
    return UserError(f"{name} is not installed; it comes with: pip install 'anynet-study[{name}]'")
