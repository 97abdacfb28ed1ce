"""What a way of training leaves on disk of each run, whoever trained it."""

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path

from anynet_study.core.files import write_text
from anynet_study.engine.planning import PlannedRun
from anynet_study.engine.training import epoch_lengths, steps_per_epoch
from anynet_study.store import RunRecord, read_journal


@dataclass(frozen=True)
class Result:
    """One run."""

    run_id: str
    #: Steps that were taken, and images that were trained on in them.
    steps: int
    images: int
    #: Mean training loss of the first epoch.
    first_loss: float
    #: After the last epoch, percent.
    error: float
    #: Unix time.
    started: float
    #: Which of the way's processes trained it.
    process: str

    def write(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        write_text(folder / f"{self.run_id}.json", json.dumps(asdict(self)))


def read_results(folder: Path, planned: Iterable[PlannedRun], images: int) -> list[Result]:
    """The results in `folder`: files of the plain loops, or a study on `images` images."""
    plain = [Result(**json.loads(path.read_text())) for path in folder.glob("*.json")]
    runs = {run.run_id: run for run in planned}
    return plain + [
        _of_record(record, runs[record.run_id], images, path.stem)
        for path in _journals(folder)
        for record in read_journal(path).records
    ]


def last_written(folder: Path) -> dict[str, float]:
    """Of each process the unix time at which its last result was on disk."""
    written = [(path.stem, path) for path in _journals(folder)]
    written += [(json.loads(path.read_text())["process"], path) for path in folder.glob("*.json")]
    found: dict[str, float] = {}
    for process, path in written:
        found[process] = max(found.get(process, 0.0), path.stat().st_mtime)
    return found


def _journals(folder: Path) -> list[Path]:
    return list((folder / "journals").glob("*.arrow"))


def _of_record(record: RunRecord, run: PlannedRun, images: int, process: str) -> Result:
    """What the curves of a record say was done."""
    recipe = run.spec.recipe
    lengths = epoch_lengths(recipe, steps_per_epoch(images, recipe.batch_size))
    steps = sum(lengths[: record.epochs])
    return Result(
        record.run_id,
        steps,
        steps * min(images, recipe.batch_size),
        float(record.curves["train_loss"][0]) if record.epochs else float("nan"),
        record.error,
        record.started,
        process,
    )
