"""The results store against one JSON file a run, as sweeps of pycls keep their results.

    python -m benchmarks.store [RUNS]        (default 7500: 500 architectures x 15 datasets;
                                              about a minute on 2 cores)

Both hold the same runs of 30 epochs: six curves, a specification of about 1 kB and the scalars of
a run; files are in the page cache, times are medians of three. The question to both: the table of
final errors, architecture x dataset, from what the workers left ("first") and once more later
("again": the store is built, and so is the single JSON file that pycls merges all runs into).
"""

import json
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median

import numpy as np
import pandas as pd
import pyarrow as pa

from anynet_study.metrics import CURVES
from anynet_study.store import ResultStore, RunRecord, collect
from anynet_study.store.frames import encode
from anynet_study.store.records import RUN

DATASETS = [f"dataset-{number}" for number in range(15)]
EPOCHS = 30
WORKERS = 8


def record(number: int) -> RunRecord:
    generator = np.random.default_rng(number)
    curves = {name: generator.uniform(0, 100, EPOCHS).astype(np.float32) for name in CURVES}
    return RunRecord(
        run_id=f"{number:016x}",
        spec=json.dumps({"number": number, "recipe": generator.integers(0, 9, 400).tolist()}),
        architecture=f"{number // len(DATASETS):016x}",
        dataset=DATASETS[number % len(DATASETS)],
        recipe="basic",
        replicate=0,
        status="completed",
        metric="top1",
        error=float(curves["test_top1"][-1]),
        curves=curves,
        seconds=100.0,
        started=1.7e9 + number,
        host="node1",
        device="cpu",
        torch_version="2.13",
        code_version="0.1.0",
    )


def write_both(runs: int, folder: Path) -> None:
    """The same runs as journals of WORKERS workers and as a folder of JSON files."""
    for name in ("journals", "json"):
        (folder / name).mkdir()
    files = [(folder / "journals" / f"{worker}.arrow").open("wb") for worker in range(WORKERS)]
    for file in files:
        file.write(RUN.schema.serialize())
    for number in range(runs):
        one = record(number)
        files[number % WORKERS].write(encode(RUN.to_batch(one), RUN.version))
        curves = {name: curve.tolist() for name, curve in one.curves.items()}
        plain = {**vars(one), "curves": curves, "predictions": []}
        (folder / "json" / f"{one.run_id}.json").write_text(json.dumps(plain))
    for file in files:
        file.close()


def collected(folder: Path, architectures: int) -> Path:
    ids = [f"{number:016x}" for number in range(architectures)]
    population = pa.table({"architecture": ids})
    out = folder / "results.h5"
    collect(folder / "journals", out, population, pa.table({"dataset": DATASETS}), None, {})
    return out


def merged(folder: Path) -> Path:
    runs = [json.loads(path.read_text()) for path in sorted((folder / "json").iterdir())]
    out = folder / "sweep.json"
    out.write_text(json.dumps(runs))
    return out


def json_errors(sweep: Path) -> pd.DataFrame:
    rows = [
        (run["architecture"], run["dataset"], run["error"]) for run in json.loads(sweep.read_text())
    ]
    table = pd.DataFrame(rows, columns=["architecture", "dataset", "error"])
    return table.pivot(index="architecture", columns="dataset", values="error")[DATASETS]


def seconds(work: Callable[[], object]) -> float:
    times = []
    for _ in range(3):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return median(times)


def main(runs: int) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_both(runs, folder)
        architectures = -(-runs // len(DATASETS))
        ours = seconds(lambda: collected(folder, architectures))
        theirs = seconds(lambda: merged(folder))
        store, sweep = folder / "results.h5", folder / "sweep.json"
        ours_again = seconds(lambda: ResultStore(store).errors())
        theirs_again = seconds(lambda: json_errors(sweep))
        curve = seconds(lambda: ResultStore(store).curves(run_id=f"{runs // 2:016x}"))
        assert np.array_equal(ResultStore(store).errors(), json_errors(sweep), equal_nan=True)
        print(f"{runs} runs x {EPOCHS} epochs     store      JSON    JSON / store")
        show("errors, first (s)", ours + ours_again, theirs + theirs_again)
        show("errors, again (s)", ours_again, theirs_again)
        show("size (MiB)", *(path.stat().st_size / 2**20 for path in (store, sweep)))
        print(f"one run's curves: {1000 * curve:.1f} ms")


def show(what: str, ours: float, theirs: float) -> None:
    print(f"{what:24} {ours:9.3f} {theirs:9.3f} {theirs / ours:10.1f} x")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 7500)
