"""Runs whose every part is true to the others, as training makes them."""

import hashlib
import json
from collections.abc import Collection, Iterable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from store_factory import DATASETS, IMAGES, datasets, record, write_journal

from anynet_study.design_space import DesignSpace, Population
from anynet_study.store import CollectReport, RunRecord, collect

CLASSES = dict(zip(DATASETS, (10, 2, 8), strict=True))


@cache
def population() -> Population:
    return DesignSpace.anynetx(stem="cifar").sample(3, resolution=8, classes=10, seed=0)


def honest(number: int, **changes: Any) -> RunRecord:
    """A run with the id of its specification, which has its architecture."""
    dataset = changes.get("dataset", DATASETS[number % 3])
    network = population()[number // 3 % 3]
    fields = {"architecture": network.to_dict(), "data": {"content_hash": "0" * 16}, "seed": number}
    spec = json.dumps(fields, sort_keys=True, separators=(",", ":"))
    classes = np.random.default_rng(number).integers(0, CLASSES[dataset], IMAGES[dataset])
    own = {
        "run_id": hashlib.sha256(spec.encode()).hexdigest()[:16],
        "spec": spec,
        "architecture": network.id,
        "predictions": classes.astype(np.uint16),
    }
    return record(number, **(own | changes))


def collect_honest(
    folder: Path, planned: Collection[str] | None = None, anew: bool = False
) -> CollectReport:
    table = population().table
    out = folder / "results.h5"
    return collect(folder / "journals", out, table, datasets(), planned, {"sweep": "x"}, anew=anew)


def honest_study(folder: Path, *journals: Iterable[RunRecord]) -> Path:
    """A study's folder: journals of these runs, and the store collected from them."""
    for number, records in enumerate(journals):
        write_journal(folder / "journals" / f"worker-{number}.arrow", records)
    (folder / "sweep.yaml").touch()
    collect_honest(folder)
    return folder / "results.h5"
