"""Reading a results store, against the same runs in SQLite, as JSON files and as MLflow keeps them.

    python -m benchmarks.store_reading [ARCHITECTURES]    (default 1000, on 15 datasets each: two
                                                           minutes on 2 cores; 10000: six)

All hold the same runs of 30 epochs (`store.record`). SQLite: a table of the runs, a table of their
epochs and an index of either. JSON: one file per run. MLflow: its file store's layout, a folder per
run with a file for each parameter and metric; these two up to 2000 architectures. The questions:
all errors as a table, architecture x dataset, and the six curves of one run, both from opening on;
and for the store, whose peers have no place for them, how many of 10,000 images each of 7,500 runs
predicts right, and the memory that takes. Files are in the page cache, times are medians of five.
"""

import json
import sqlite3
import sys
import tempfile
import time
import tracemalloc
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import median

import numpy as np
import pandas as pd
import pyarrow as pa

from anynet_study.metrics import CURVES
from anynet_study.store import JournalWriter, ResultStore, RunRecord, collect
from anynet_study.store.frames import encode
from anynet_study.store.records import RUN
from benchmarks.store import DATASETS, EPOCHS, record

MOST_FILES = 2000 * len(DATASETS)
PREDICTIONS = (7500, 10_000)
KEYS = ("run_id", "architecture", "dataset")


def write_store(folder: Path, runs: int) -> None:
    (folder / "journals").mkdir()
    with (folder / "journals" / "0.arrow").open("wb") as file:
        file.write(RUN.schema.serialize())
        for number in range(runs):
            file.write(encode(RUN.to_batch(record(number)), RUN.version))
    ids = [f"{number:016x}" for number in range(runs // len(DATASETS))]
    population, datasets = pa.table({"architecture": ids}), pa.table({"dataset": DATASETS})
    collect(folder / "journals", folder / "results.h5", population, datasets, None, {})


def write_sqlite(folder: Path, runs: int) -> None:
    with sqlite3.connect(folder / "runs.sqlite") as base:
        base.execute("create table runs (run_id text primary key, architecture, dataset, error)")
        base.execute(f"create table epochs (run_id text, epoch integer, {', '.join(CURVES)})")
        for number in range(runs):
            one = record(number)
            values = (*(getattr(one, key) for key in KEYS), one.error)
            base.execute("insert into runs values (?, ?, ?, ?)", values)
            marks = ", ".join("?" * (2 + len(CURVES)))
            base.executemany(f"insert into epochs values ({marks})", epochs(one))
        base.execute("create index of_run on epochs (run_id)")
    base.close()


def epochs(run: RunRecord) -> Iterator[tuple[object, ...]]:
    curves = [run.curves[name].tolist() for name in CURVES]
    return ((run.run_id, epoch, *row) for epoch, row in enumerate(zip(*curves, strict=True)))


def write_json(folder: Path, runs: int) -> None:
    (folder / "json").mkdir()
    for number in range(runs):
        one = record(number)
        curves = {name: curve.tolist() for name, curve in one.curves.items()}
        plain = {**vars(one), "curves": curves, "predictions": []}
        (folder / "json" / f"{one.run_id}.json").write_text(json.dumps(plain))


def write_mlflow(folder: Path, runs: int) -> None:
    for number in range(runs):
        one = record(number)
        of_run = folder / "mlruns" / "0" / one.run_id
        for kind in ("params", "metrics"):
            (of_run / kind).mkdir(parents=True)
        for key in KEYS[1:]:
            (of_run / "params" / key).write_text(getattr(one, key))
        for name, curve in one.curves.items():
            lines = (f"1700000000000 {value} {step}\n" for step, value in enumerate(curve.tolist()))
            (of_run / "metrics" / name).write_text("".join(lines))


def pivoted(rows: list[tuple[str, str, float]]) -> pd.DataFrame:
    table = pd.DataFrame(rows, columns=["architecture", "dataset", "error"])
    return table.pivot(index="architecture", columns="dataset", values="error")[DATASETS]


def sqlite_errors(folder: Path) -> pd.DataFrame:
    with sqlite3.connect(folder / "runs.sqlite") as base:
        rows = base.execute("select architecture, dataset, error from runs").fetchall()
    base.close()
    return pivoted(rows)


def json_errors(folder: Path) -> pd.DataFrame:
    runs = (json.loads(path.read_text()) for path in (folder / "json").iterdir())
    return pivoted([(run["architecture"], run["dataset"], run["error"]) for run in runs])


def mlflow_errors(folder: Path) -> pd.DataFrame:
    rows = []
    for of_run in (folder / "mlruns" / "0").iterdir():
        keys = [(of_run / "params" / key).read_text() for key in KEYS[1:]]
        last = (of_run / "metrics" / "test_top1").read_text().splitlines()[-1]
        rows.append((keys[0], keys[1], float(last.split()[1])))
    return pivoted(rows)


def sqlite_curves(folder: Path, run_id: str) -> pd.DataFrame:
    with sqlite3.connect(folder / "runs.sqlite") as base:
        query = f"select {', '.join(CURVES)} from epochs where run_id = ? order by epoch"
        rows = base.execute(query, [run_id]).fetchall()
    base.close()
    return pd.DataFrame(rows, columns=list(CURVES))


def json_curves(folder: Path, run_id: str) -> pd.DataFrame:
    return pd.DataFrame(json.loads((folder / "json" / f"{run_id}.json").read_text())["curves"])


def mlflow_curves(folder: Path, run_id: str) -> pd.DataFrame:
    metrics = folder / "mlruns" / "0" / run_id / "metrics"
    lines = {name: (metrics / name).read_text().splitlines() for name in CURVES}
    return pd.DataFrame(
        {name: [float(line.split()[1]) for line in each] for name, each in lines.items()}
    )


def seconds(work: Callable[[], object], times: int = 5) -> float:
    found = []
    for _ in range(times):
        start = time.perf_counter()
        work()
        found.append(time.perf_counter() - start)
    return median(found)


def compare(folder: Path, runs: int) -> None:
    run_id = f"{runs // 2:016x}"
    peers = {"SQLite": (write_sqlite, sqlite_errors, sqlite_curves)}
    if runs <= MOST_FILES:
        peers["JSON"] = (write_json, json_errors, json_curves)
        peers["MLflow"] = (write_mlflow, mlflow_errors, mlflow_curves)
    write_store(folder, runs)
    path = folder / "results.h5"
    errors = ResultStore(path).errors()
    curves = ResultStore(path).curves(run_id=run_id)[list(CURVES)]
    ours_errors = seconds(lambda: ResultStore(path).errors())
    ours_curves = seconds(lambda: ResultStore(path).curves(run_id=run_id), 50)
    store = ResultStore(path)
    with store:
        held = seconds(lambda: store.curves(run_id=run_id), 50)
    print(f"{runs} runs x {EPOCHS} epochs          errors (s)         one run's curves (ms)")
    print(f"store                     {ours_errors:10.3f} {1000 * ours_curves:19.2f}")
    print(f"store, held open          {'':10} {1000 * held:19.2f}")
    for name, (write, ask_errors, ask_curves) in peers.items():
        write(folder, runs)
        np.testing.assert_array_equal(ask_errors(folder), errors)
        np.testing.assert_array_equal(ask_curves(folder, run_id).astype(np.float32), curves)
        theirs = seconds(lambda ask=ask_errors: ask(folder), 3)  # type: ignore[misc]
        their_curves = seconds(lambda ask=ask_curves: ask(folder, run_id), 20)  # type: ignore[misc]
        ratios = (f"({theirs / ours_errors:.1f} x)", f"({their_curves / ours_curves:.1f} x)")
        print(f"{name:25} {theirs:10.3f} {ratios[0]:>10}", end="")
        print(f"{1000 * their_curves:9.2f} {ratios[1]:>10}")


def count_right(folder: Path) -> None:
    runs, images = PREDICTIONS
    generator = np.random.default_rng(0)
    with JournalWriter(folder / "journals" / "0.arrow") as journal:
        plain = vars(record(0)) | {"dataset": "cifar10"}
        for number in range(runs):
            changes = {"run_id": f"{number:016x}", "replicate": number}
            classes = generator.integers(0, 10, images).astype(np.uint16)
            journal.append(RunRecord(**(plain | changes | {"predictions": classes})))
    population = pa.table({"architecture": [plain["architecture"]]})
    datasets = pa.table({"dataset": ["cifar10"]})
    collect(folder / "journals", folder / "results.h5", population, datasets, None, {})
    labels = generator.integers(0, 10, images)
    tracemalloc.start()
    start = time.perf_counter()
    _, array = ResultStore(folder / "results.h5").predictions("cifar10")
    right = [np.sum(array[row : row + 250] == labels, axis=1) for row in range(0, runs, 250)]
    taken = time.perf_counter() - start
    peak = tracemalloc.get_traced_memory()[1] / 2**20
    tracemalloc.stop()
    size = runs * images * 2 / 2**20
    assert np.concatenate(right).shape == (runs,)
    print(f"predictions {runs} x {images} ({size:.0f} MiB): {taken:.2f} s, {peak:.0f} MiB held")


def main(architectures: int) -> None:
    for work in (count_right, lambda folder: compare(folder, architectures * len(DATASETS))):
        with tempfile.TemporaryDirectory() as name:
            work(Path(name))


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 1000)
