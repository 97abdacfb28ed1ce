"""Evaluations of the runs of `store_factory`."""

from collections.abc import Iterable
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
from store_factory import IMAGES, record

from anynet_study.store import EvaluationRecord, EvaluationWriter

EVALUATIONS = ("blur", "shifted")


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
