"""Evaluations of the runs of `store_factory`, and a study with some."""

from collections.abc import Iterable
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
from store_factory import IMAGES, gather, record, write_journal

from anynet_study.store import EvaluationRecord, EvaluationWriter


def evaluation(number: int = 0, name: str = "blur", **changes: Any) -> EvaluationRecord:
    """An evaluation of run `number`, every value of which follows from it and `name`."""
    generator = np.random.default_rng([number, len(name)])
    run = record(number)
    identity = f'{{"base":"{run.dataset}","transform":"{name} ÄÖ→"}}'
    images = IMAGES[run.dataset]
    values: dict[str, Any] = {
        "run_id": run.run_id,
        "evaluation": name,
        "evaluation_id": sha256(identity.encode()).hexdigest()[:16],
        "identity": identity,
        "images": images,
        "loss": float(generator.uniform(0, 5)),
        "top1": float(generator.uniform(50, 100)),
        "top5": float(generator.uniform(0, 50)),
        "error": changes.pop("error", float("nan")),
        "predictions": generator.integers(0, 10, images).astype(np.uint16),
        "seconds": 0.5,
        "started": 1.8e9 + 10 * number + len(name),
        "host": "node1",
    }
    return EvaluationRecord(**(values | changes))


def write_evaluations(path: Path, records: Iterable[EvaluationRecord]) -> Path:
    """A closed journal of these evaluations."""
    with EvaluationWriter(path) as journal:
        for one in records:
            journal.append(one)
    return path


#: Every architecture twice on digits, but the last; once on the others.
RUNS = [record(n) for n in (0, 3, 6, 9, 12, 1, 2)]
NONE = np.empty(0, np.uint16)
#: Both of the runs on digits, but one; of another dataset one, without predictions.
EVALUATIONS = [
    *(evaluation(n, "shifted", error=50.0 + n) for n in (0, 3, 6, 9)),
    *(evaluation(n, "blur") for n in (0, 3, 6, 9, 12)),
    evaluation(1, "blur", predictions=NONE),
]
COLUMNS = [
    *("run_id", "architecture", "dataset", "recipe", "replicate", "evaluation", "evaluation_id"),
    *("kind", "images", "loss", "top1", "top5", "error", "seconds"),
]


def make_evaluated(folder: Path) -> Path:
    """Journals of these runs and evaluations in `folder`, collected to its `results.h5`."""
    write_journal(folder / "journals" / "a.arrow", RUNS)
    for number in range(2):
        write_evaluations(
            folder / "journals" / f"{number}.evaluations.arrow", EVALUATIONS[number::2]
        )
    gather(folder)
    return folder
