"""A synthetic study of any size, as plain tables and as a results store."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from anynet_study.design_space import DesignSpace
from anynet_study.store import (
    EvaluationRecord,
    EvaluationWriter,
    JournalWriter,
    ResultStore,
    RunRecord,
    collect,
)

EPOCHS = 5


@dataclass(frozen=True)
class SmallStudy:
    """The tables that plots and reports start from."""

    errors: pd.DataFrame
    population: pa.Table
    sampling: dict[str, object]
    datasets: pd.DataFrame
    replicates: pd.DataFrame
    curves: pd.DataFrame

    @property
    def parameters(self) -> pd.DataFrame:
        return self.population.to_pandas()

    @property
    def metrics(self) -> dict[str, str]:
        return dict(zip(self.datasets["dataset"], self.datasets["metric"], strict=True))


def small_study(architectures: int = 16, targets: int = 1, replicates: int = 2) -> SmallStudy:
    """A source `base`, its subsets `base-5` and `base-2`, and targets `target-0`, ...

    Errors mix a common quality with depth, differently for every dataset; the second replicate of
    a quarter of the architectures differs by noise.
    """
    sampled = DesignSpace.anynetx().sample(architectures, flops=(360e6, 400e6), seed=0)
    names = ["base", "base-5", "base-2", *(f"target-{i}" for i in range(targets))]
    generator = np.random.default_rng(7)
    quality = generator.normal(size=architectures)
    depths = sampled.table.select(["d1", "d2", "d3", "d4"]).to_pandas().sum(axis=1).to_numpy()
    depth = (depths - depths.mean()) / depths.std()
    rows, curves = [], []
    for number, name in enumerate(names):
        angle = 0.4 * number
        mean = 20 + 2 * (np.cos(angle) * quality + np.sin(angle) * depth)
        for replicate in range(replicates):
            error = np.round(mean + generator.normal(0, 0.3, architectures), 2)
            chosen = range(architectures) if replicate == 0 else range(0, architectures, 4)
            rows += [(sampled.ids[i], name, replicate, float(error[i])) for i in chosen]
        decay = np.exp(-np.arange(EPOCHS))[None] * 50 + mean[:, None]
        for i, identity in enumerate(sampled.ids):
            epochs = np.arange(1, EPOCHS + 1)
            curves.append(
                pd.DataFrame(
                    {"dataset": name, "architecture": identity, "epoch": epochs, "error": decay[i]}
                )
            )
    long = pd.DataFrame(rows, columns=["architecture", "dataset", "replicate", "error"])
    wide = long.pivot_table(index="architecture", columns="dataset", values="error", sort=False)
    errors = wide.reindex(index=list(sampled.ids), columns=names).rename_axis(columns=None)
    return SmallStudy(
        errors,
        sampled.table,
        sampled.sampling,
        _datasets(names),
        long,
        pd.concat(curves, ignore_index=True),
    )


def _datasets(names: list[str]) -> pd.DataFrame:
    classes = {"base": 10, "base-5": 5, "base-2": 2}
    roles = {"base": "source", "base-5": "family", "base-2": "family"}
    return pd.DataFrame(
        {
            "dataset": names,
            "base": [name.split("-")[0] for name in names],
            "role": [roles.get(name, "target") for name in names],
            "classes": [classes.get(name, 4) for name in names],
            "train_images": 1000,
            "test_images": 200,
            "metric": "top1",
            "chance": 80.0,
            "epochs": EPOCHS,
            "content_hash": "ab" * 8,
            "variant": "{}",
        }
    )


def run_records(study: SmallStudy, failed: set[int] = frozenset()) -> list[RunRecord]:
    """One record for each row of the replicates; those numbered in `failed` failed."""
    curves = {key: rows["error"] for key, rows in study.curves.groupby(["dataset", "architecture"])}
    records = []
    for number, row in enumerate(study.replicates.itertuples()):
        curve = curves[row.dataset, row.architecture].to_numpy(np.float32)
        bad = number in failed
        records.append(
            RunRecord(
                run_id=f"{number:016x}",
                spec="{}",
                architecture=row.architecture,
                dataset=row.dataset,
                recipe="basic",
                replicate=row.replicate,
                status="failed" if bad else "completed",
                failure_kind="oom" if bad else "",
                message="<img src=x onerror=alert(1)> out of memory" if bad else "",
                metric="top1",
                error=float("nan") if bad else row.error,
                curves={} if bad else {"test_top1": curve, "test_top5": curve / 2},
                seconds=30.0,
                started=1e9 + number,
                host="node",
                device="cpu",
                torch_version="2.0",
                code_version="0.1.0",
            )
        )
    return records


def evaluation_of(
    run_id: str, evaluation: str, identity: Mapping[str, Any], error: float, **more: Any
) -> EvaluationRecord:
    """An evaluation of a run whose top-1 error is `error`, in percent."""
    said = json.dumps(identity)
    return EvaluationRecord(
        run_id=run_id,
        evaluation=evaluation,
        evaluation_id=sha256(said.encode()).hexdigest()[:16],
        identity=said,
        loss=1.0,
        top1=error,
        top5=error / 2,
        seconds=1.0,
        started=1e9,
        host="",
        **more,
    )


def write_store(
    folder: Path,
    study: SmallStudy,
    records: list[RunRecord],
    planned: int | None = None,
    evaluations: Iterable[EvaluationRecord] = (),
    truths: Mapping[str, Any] | None = None,
) -> ResultStore:
    """Collect a results store of `records`; `planned` runs were asked for (default: these)."""
    (folder / "journals").mkdir(parents=True)
    with (
        JournalWriter(folder / "journals" / "a.arrow") as runs,
        EvaluationWriter(folder / "journals" / "a.evaluations.arrow") as journal,
    ):
        for record in records:
            runs.append(record)
        for evaluation in evaluations:
            journal.append(evaluation)
    asked = {record.run_id for record in records}
    collect(
        folder / "journals",
        folder / "results.h5",
        study.population,
        pa.Table.from_pandas(study.datasets, preserve_index=False),
        {f"{number:016x}" for number in range(planned)} if planned else asked,
        {
            "sweep": "name: tiny\nquestion: ignored\n",
            "question": "Does <b>base</b> predict the targets?",
            "sampling": json.dumps(study.sampling),
            "code_version": "0.1.0 test",
        },
        truths=truths,
    )
    return ResultStore(folder / "results.h5")
