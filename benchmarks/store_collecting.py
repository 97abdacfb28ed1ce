"""Collecting a study's runs: the results store against files a run, SQLite and a tracking folder.

    python -m benchmarks.store_collecting [RUNS]    (default 100000; 1000000 takes 5 GB of disk)

First, the store alone: RUNS runs of 30 epochs in the journals of 16 workers, as a sweep asks for
them; files are in the page cache. Goals: 100,000 in 15 s; a million in 180 s and 2 GB of memory
(in a process of its own, whose peak is read). Once more with EACH evaluations of every run; and the
time that a worker needs to know which of them are there.

Then, at SMALL runs and as seconds a million runs, interleaved, the median of three:

- json: one JSON file a run, as sweeps of pycls keep their results, merged into one JSON file;
- sqlite: the same files into one SQLite database, a table of runs and a table of epochs;
- folder: one folder per run with one file per metric (a line per epoch) and per parameter, as
  MLflow's file store lays them out, merged into one Parquet file.
"""

import json
import resource
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median

import pyarrow as pa
import pyarrow.parquet as pq

from anynet_study.metrics import CURVES
from anynet_study.store import ResultStore, collect, finished_evaluations
from benchmarks.collecting_data import (
    DATASETS,
    EPOCHS,
    fields,
    planned_runs,
    population,
    write_evaluations,
    write_journals,
)

SMALL = 3000
EACH = 10
GOALS = {100_000: (15, 2.0), 1_000_000: (180, 2.0)}


def collected(folder: Path, runs: int) -> None:
    collect(
        folder / "journals",
        folder / "results.h5",
        population(runs),
        pa.table({"dataset": DATASETS}),
        planned_runs(runs),
        {},
        recipes=["basic"],
    )


def alone(folder: Path, runs: int) -> tuple[float, float]:
    """Seconds and peak GB of a process that only collects."""
    command = [
        sys.executable,
        "-m",
        "benchmarks.store_collecting",
        "--collect",
        str(folder),
        str(runs),
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    seconds, gigabytes = map(float, done.stdout.split())
    return seconds, gigabytes


def collect_here(folder: Path, runs: int) -> None:
    start = time.perf_counter()
    collected(folder, runs)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(time.perf_counter() - start, peak)


def show_store(runs: int) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_journals(folder / "journals", runs)
        size = sum(path.stat().st_size for path in (folder / "journals").iterdir()) / 2**30
        print(f"{runs:,} runs of {EPOCHS} epochs, {size:.2f} GiB of journals")
        seconds, gigabytes = alone(folder, runs)
        goal = f"   goals: {GOALS[runs][0]} s, {GOALS[runs][1]} GB" if runs in GOALS else ""
        print(f"  collect: {seconds:7.1f} s, {gigabytes:.2f} GB at most{goal}")
        store = ResultStore(folder / "results.h5")
        assert store.errors().notna().sum().sum() == runs
        print(f"  results.h5: {store.path.stat().st_size / 2**30:.2f} GiB")
        show_evaluations(folder, runs)


def show_evaluations(folder: Path, runs: int) -> None:
    write_evaluations(folder / "journals", runs, EACH)
    print(f"and {runs * EACH:,} evaluations of them")
    start = time.perf_counter()
    assert len(finished_evaluations(folder / "journals")) == runs * EACH
    print(f"  finished_evaluations: {time.perf_counter() - start:7.1f} s")
    seconds, gigabytes = alone(folder, runs)
    print(f"  collect: {seconds:7.1f} s, {gigabytes:.2f} GB at most")
    store = ResultStore(folder / "results.h5")
    start = time.perf_counter()
    assert store.evaluation_errors(DATASETS[0]).shape[1] == EACH + 1
    print(f"  evaluation_errors of one dataset: {time.perf_counter() - start:7.2f} s")
    print(f"  results.h5: {store.path.stat().st_size / 2**30:.2f} GiB")


def write_json(folder: Path, runs: int) -> None:
    folder.mkdir()
    for number in range(runs):
        (folder / f"{number:07d}.json").write_text(json.dumps(fields(number)))


def write_folders(folder: Path, runs: int) -> None:
    """Metrics: a line `time value step` an epoch; parameters: a file each."""
    for number in range(runs):
        run = fields(number)
        place = folder / run["run_id"]
        for kind in ("metrics", "params"):
            (place / kind).mkdir(parents=True)
        for name in CURVES:
            lines = [f"{step} {value!r} {step}\n" for step, value in enumerate(run[name])]
            (place / "metrics" / name).write_text("".join(lines))
        for name in ("architecture", "dataset", "recipe", "replicate", "status", "error", "spec"):
            (place / "params" / name).write_text(str(run[name]))


def merge_json(folder: Path) -> None:
    runs = [json.loads(path.read_text()) for path in sorted((folder / "json").iterdir())]
    (folder / "sweep.json").write_text(json.dumps(runs))


def to_sqlite(folder: Path) -> None:
    path = folder / "runs.sqlite"
    path.unlink(missing_ok=True)
    with sqlite3.connect(path) as base:
        names = [name for name in fields(0) if name not in CURVES]
        base.execute(f"create table runs ({', '.join(names)})")
        base.execute(f"create table curves (run_id, epoch, {', '.join(CURVES)})")
        for file in sorted((folder / "json").iterdir()):
            run = json.loads(file.read_text())
            marks = ", ".join("?" * len(names))
            base.execute(f"insert into runs values ({marks})", [run[name] for name in names])
            epochs = zip(*(run[name] for name in CURVES), strict=True)
            rows = [(run["run_id"], epoch, *values) for epoch, values in enumerate(epochs)]
            marks = ", ".join("?" * (2 + len(CURVES)))
            base.executemany(f"insert into curves values ({marks})", rows)
        base.execute("create index of_run on curves (run_id)")
    base.close()


def merge_folders(folder: Path) -> None:
    rows = []
    for place in sorted((folder / "folder").iterdir()):
        run: dict[str, object] = {"run_id": place.name}
        for file in sorted((place / "params").iterdir()):
            run[file.name] = file.read_text()
        for file in sorted((place / "metrics").iterdir()):
            lines = file.read_text().splitlines()
            run[file.name] = [float(line.split(" ")[1]) for line in lines]
        rows.append(run)
    pq.write_table(pa.Table.from_pylist(rows), folder / "runs.parquet")


def show_ratios(runs: int) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_journals(folder / "journals", runs)
        write_json(folder / "json", runs)
        write_folders(folder / "folder", runs)

        def ours() -> None:
            (folder / "results.h5").unlink(missing_ok=True)
            collected(folder, runs)

        work: dict[str, Callable[[], None]] = {
            "store": ours,
            "json": lambda: merge_json(folder),
            "sqlite": lambda: to_sqlite(folder),
            "folder": lambda: merge_folders(folder),
        }
        times: dict[str, list[float]] = {each: [] for each in work}
        for _ in range(3):
            for each, do in work.items():
                start = time.perf_counter()
                do()
                times[each].append(time.perf_counter() - start)
        base = median(times["store"])
        print(f"{runs:,} runs, seconds a million runs, and over the store's:")
        for each, all_ in times.items():
            print(f"  {each:8} {median(all_) * 1e6 / runs:8.0f} {median(all_) / base:8.1f} x")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--collect"]:
        collect_here(Path(sys.argv[2]), int(sys.argv[3]))
    else:
        show_store(int(sys.argv[1]) if len(sys.argv) > 1 else 100_000)
        show_ratios(SMALL)
