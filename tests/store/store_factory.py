"""Small journals and stores for the tests of the store."""

import os
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from anynet_study.core.metrics import CURVES
from anynet_study.store import (
    CollectReport,
    JournalWriter,
    Results,
    RunRecord,
    collect,
    select,
    to_pandas,
)

ARCHITECTURES = ("b0b0b0b0b0b0b0b0", "a1a1a1a1a1a1a1a1", "c2c2c2c2c2c2c2c2")
DATASETS = ("digits", "digits-2", "gratings")
IMAGES = {"digits": 11, "digits-2": 4, "gratings": 6}


def record(number: int = 0, **changes: Any) -> RunRecord:
    """A run whose every value follows from `number` and its dataset."""
    generator = np.random.default_rng(number)
    dataset = changes.get("dataset", DATASETS[number % 3])
    epochs = 3 + number % 2
    # Without the curves of later versions: stores of older ones hold the same.
    curves = {name: generator.uniform(0, 100, epochs).astype(np.float32) for name in CURVES[:6]}
    values: dict[str, Any] = {
        "run_id": f"{number:016x}",
        "spec": f'{{"number":{number},"text":"ÄÖ→"}}',
        "architecture": ARCHITECTURES[number // 3 % 3],
        "dataset": dataset,
        "recipe": "basic",
        "replicate": number // 9,
        "status": "completed",
        "metric": "top1",
        "error": float(curves["test_top1"][-1]),
        "curves": curves,
        "predictions": generator.integers(0, 10, IMAGES.get(dataset, 5)).astype(np.uint16),
        "seconds": 1.5,
        "started": 1.7e9 + number,
        "host": "node1",
        "device": "cpu",
        "torch_version": "2.13",
        "code_version": "0.1.0",
    }
    return RunRecord(**(values | changes))


def failed(number: int, kind: str = "oom", **changes: Any) -> RunRecord:
    """The same run, failed."""
    gone = {
        "status": "failed",
        "failure_kind": kind,
        "message": "out of memory",
        "error": float("nan"),
        "curves": {},
        "predictions": np.empty(0, np.uint16),
    }
    return record(number, **(gone | changes))


def write_journal(path: Path, records: Iterable[RunRecord]) -> Path:
    """A closed journal of these records."""
    with JournalWriter(path) as journal:
        for one in records:
            journal.append(one)
    return path


def population(ids: Collection[str] = ARCHITECTURES) -> pa.Table:
    """A population table with the columns that the tests look at."""
    count = len(ids)
    return pa.table(
        {
            "architecture": pa.array(ids, pa.string()),
            "d1": pa.array(range(1, count + 1), pa.int32()),
            "stem": pa.array(["cifar"] * count, pa.string()),
            "flops": pa.array([380_000_000 + i for i in range(count)], pa.int64()),
        },
        metadata={"anynet_study.sampling": '{"seed": 0}'},
    )


def datasets(labels: Collection[str] = DATASETS) -> pa.Table:
    """A datasets table as the sweep gives it."""
    count = len(labels)
    return pa.table(
        {
            "dataset": pa.array(labels, pa.string()),
            "base": pa.array([label.split("-")[0] for label in labels], pa.string()),
            "role": pa.array(["source", "family", "target"][:count], pa.string()),
            "classes": pa.array([10, 2, 8][:count], pa.int32()),
            "train_images": pa.array([40, 8, 30][:count], pa.int32()),
            "test_images": pa.array([IMAGES[label] for label in labels], pa.int32()),
            "metric": pa.array(["top1"] * count, pa.string()),
            "chance": pa.array([90.0, 50.0, 87.5][:count]),
            "epochs": pa.array([3] * count, pa.int32()),
            "content_hash": pa.array(["0" * 16] * count, pa.string()),
            "variant": pa.array(["{}"] * count, pa.string()),
        }
    )


def make_store(
    folder: Path,
    *journals: Iterable[RunRecord],
    planned: Collection[str] | None = None,
    recipes: tuple[str, ...] = (),
) -> tuple[Path, CollectReport]:
    """Journals of these records in `folder`, collected into its results.h5."""
    for number, records in enumerate(journals):
        write_journal(folder / "journals" / f"worker-{number}.arrow", records)
    out = folder / "results.h5"
    report = collect(
        folder / "journals", out, population(), datasets(), planned, {"sweep": "x: 1"}, recipes
    )
    return out, report


def gather(folder: Path, out: str = "results.h5", **options: Any) -> CollectReport:
    """Collect the journals in `folder` once more; `options`: of `collect`."""
    planned = options.pop("planned", None)
    place = folder / out
    return collect(folder / "journals", place, population(), datasets(), planned, {}, **options)


@contextmanager
def as_ordinary_user() -> Iterator[None]:
    """Root may do everything: give up that right for a while (paths: relative to the folder)."""
    me = os.geteuid()
    if me == 0:
        os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(me)


def selected(results: Results, *arguments: Any, **options: Any) -> pd.DataFrame:
    """The rows of `select`."""
    return to_pandas(select(results, *arguments, **options))
