"""How long the whole report of a study of 500 architectures x 15 datasets takes, and which part.

    python -m benchmarks.report [ARCHITECTURES [TARGETS]]           (about 3 minutes on 2 cores)

The study is synthetic: a source, two of its class subsets and the targets; every eighth
architecture trained twice; curves of 10 epochs. First the report is written as `anynet-study
report` does, from a cold start of its parts; then each part is made again by itself.
"""

import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from hashlib import sha256
from pathlib import Path

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from anynet_study.analysis.analyses import FIGURES, TABLES, load
from anynet_study.analysis.report import draw_figures, write_report
from anynet_study.analysis.report.explore import explore_data
from anynet_study.design_space import DesignSpace, Population
from anynet_study.store import JournalWriter, ResultStore, RunRecord, collect

EPOCHS = 10
FAMILY = {"source": 1000, "source-10": 10, "source-2": 2}
LIMIT = 60.0


def write_journal(folder: Path, architectures: int, targets: int) -> tuple[pa.Table, pa.Table]:
    """Write a journal of synthetic runs; return the tables of architectures and of datasets."""
    population = DesignSpace.anynetx().sample(architectures, flops=(360e6, 400e6), seed=0)
    classes = FAMILY | {f"target-{i}": 10 + i for i in range(targets)}
    writer = JournalWriter(folder / "journals" / "a.arrow")
    for record in runs(population, list(classes)):
        writer.append(record)
    writer.close()
    datasets = {
        "dataset": list(classes),
        "base": [name.split("-")[0] for name in classes],
        "role": ["source", "family", "family", *(["target"] * targets)],
        "classes": list(classes.values()),
        "metric": ["top1"] * len(classes),
        "chance": [100 - 100 / count for count in classes.values()],
        "content_hash": ["0" * 16] * len(classes),
        "variant": ["{}"] * len(classes),
    }
    counts = {"train_images": 50_000, "test_images": 10_000, "epochs": EPOCHS}
    counted = {name: [count] * len(classes) for name, count in counts.items()}
    return population.table, pa.table(datasets | counted)


def collected(folder: Path, architectures: pa.Table, datasets: pa.Table) -> ResultStore:
    """The store of the runs of a journal in `folder`."""
    out = folder / "results.h5"
    collect(folder / "journals", out, architectures, datasets, None, {"sweep": "name: synthetic"})
    return ResultStore(out)


def runs(population: Population, datasets: list[str]) -> list[RunRecord]:
    """Errors of a common quality and of depth, more of which counts on later datasets."""
    generator = np.random.default_rng(0)
    table = population.to_pandas()
    depth = table[["d1", "d2", "d3", "d4"]].sum(axis=1).to_numpy()
    depth = (depth - depth.mean()) / depth.std()
    quality = generator.normal(size=len(table))
    records = []
    for number, dataset in enumerate(datasets):
        angle = 2.0 * number / len(datasets)
        mean = 30 + 3 * (np.cos(angle) * quality + np.sin(angle) * depth)
        for replicate in (0, 1):
            chosen = range(0, len(table), 8 if replicate else 1)
            noise = generator.normal(0, 0.5, (len(table), EPOCHS)).cumsum(axis=1)[:, ::-1]
            records += [
                _record(table["architecture"][i], dataset, replicate, mean[i], noise[i])
                for i in chosen
            ]
    return records


def _record(
    architecture: str, dataset: str, replicate: int, mean: float, noise: NDArray[np.float64]
) -> RunRecord:
    errors: NDArray[np.float32] = (mean + noise + np.linspace(20, 0, EPOCHS)).astype(np.float32)
    half, third = (np.asarray(errors / part, np.float32) for part in (2, 3))
    return RunRecord(
        run_id=sha256(f"{architecture} {dataset} {replicate}".encode()).hexdigest()[:16],
        spec="{}",
        architecture=architecture,
        dataset=dataset,
        recipe="basic",
        replicate=replicate,
        status="completed",
        failure_kind="",
        message="",
        metric="top1",
        error=float(errors[-1]),
        curves={"test_top1": errors, "test_top5": half, "train_top1": third},
        predictions=np.empty(0, np.uint16),
        seconds=100.0 + 10 * len(dataset),
        started=1e9,
        host="",
        device="cpu",
        torch_version="",
        code_version="",
    )


def timed(name: str, make: Callable[[], object]) -> float:
    """Print how long something takes if it takes long."""
    began = time.perf_counter()
    make()
    seconds = time.perf_counter() - began
    if seconds > 0.1:
        print(f"    {name:24}{seconds:6.1f} s")
    return seconds


def parts(store: ResultStore, folder: Path) -> None:
    """The time of every part, one after the other."""
    timed("reading", lambda: load(store).read_all())
    study = load(store)
    study.read_all()
    print("  analyses")
    total = sum(timed(name, partial(study.make, [name])) for name in TABLES)
    print(f"  analyses together         {total:6.1f} s\n  figures")
    total = sum(timed(name, partial(draw_figures, study, folder, [name])) for name in FIGURES)
    print(f"  figures together          {total:6.1f} s")
    timed("data of the drawings", lambda: explore_data(study))


if __name__ == "__main__":
    counts = [*map(int, sys.argv[1:])]
    architectures, targets = [*counts, *(500, 12)[len(counts) :]]
    with tempfile.TemporaryDirectory() as folder:
        tables = write_journal(Path(folder), architectures, targets)
        store = collected(Path(folder), *tables)
        began = time.perf_counter()
        page = write_report(load(store), Path(folder) / "report")
        seconds = time.perf_counter() - began
        print(f"report of {architectures} x {targets + 3}: {seconds:.1f} s (at most {LIMIT:g} s)")
        print(f"  page {page.stat().st_size / 1e6:.1f} MB")
        parts(store, Path(folder) / "figures")
