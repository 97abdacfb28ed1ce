"""The results store against the same runs as JSON files and in SQLite.

    python -m benchmarks.store [RUNS]        (default 7500: 500 architectures x 15 datasets, half a
                                              minute on 2 cores; 1000000 takes 10 GB of disk)

Runs of 30 epochs in the journals of 16 workers are collected by a process of its own, whose peak
memory is read (goals: 100,000 in 15 s; a million in 180 s and 2 GB). The peers, up to 30,000 runs:
one JSON file a run, as sweeps of pycls keep their results, and SQLite, a table of runs and an
indexed one of epochs. The questions to each, both from opening on: all errors as a table,
architecture x dataset, and the six curves of one run. Files are in the page cache, times are
medians of five.
"""

import json
import os
import resource
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from statistics import median

import numpy as np
import pandas as pd
import pyarrow as pa

from anynet_study.core.metrics import CURVES
from anynet_study.store import JournalWriter, ResultStore, RunRecord, collect

DATASETS = [f"dataset-{number:02d}" for number in range(15)]
EPOCHS = 30
WORKERS = 16
MOST_OF_PEERS = 30_000
#: A specification is about as long as one of a real run.
SPEC = {f"setting_{number}": number / 8 for number in range(45)}


def record(number: int) -> RunRecord:
    curves = np.random.default_rng(number).uniform(0, 100, (len(CURVES), EPOCHS))
    by_name = dict(zip(CURVES, curves.astype(np.float32), strict=True))
    return RunRecord(
        run_id=f"{number:016x}",
        spec=json.dumps({"number": number, "recipe": SPEC}),
        architecture=f"{number // len(DATASETS):016x}",
        dataset=DATASETS[number % len(DATASETS)],
        recipe="basic",
        replicate=0,
        status="completed",
        metric="top1",
        error=float(by_name["test_top1"][-1]),
        curves=by_name,
        seconds=100.0,
        started=1.7e9 + number,
        host="node1",
        device="cpu",
        torch_version="2.13",
        code_version="0.1.0",
    )


def write_journals(folder: Path, runs: int) -> None:
    synced, os.fsync = os.fsync, lambda fd: None  # a journal syncs each record: hours for a million
    writers = [JournalWriter(folder / f"worker-{worker:02d}.arrow") for worker in range(WORKERS)]
    for number in range(runs):
        writers[number % WORKERS].append(record(number))
    for writer in writers:
        writer.close()
    os.fsync = synced


def collect_here(folder: Path, runs: int) -> None:
    start = time.perf_counter()
    ids = [f"{number:016x}" for number in range(-(-runs // len(DATASETS)))]
    population, datasets = pa.table({"architecture": ids}), pa.table({"dataset": DATASETS})
    collect(folder / "journals", folder / "results.h5", population, datasets, None, {})
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(time.perf_counter() - start, peak)


class Json:
    def __init__(self, folder: Path, runs: int) -> None:
        self.folder = folder / "json"
        self.folder.mkdir()
        for number in range(runs):
            one = record(number)
            curves = {name: curve.tolist() for name, curve in one.curves.items()}
            plain = {**vars(one), "curves": curves, "predictions": []}
            (self.folder / f"{one.run_id}.json").write_text(json.dumps(plain))

    def errors(self) -> pd.DataFrame:
        runs = (json.loads(path.read_text()) for path in self.folder.iterdir())
        return pivoted([(run["architecture"], run["dataset"], run["error"]) for run in runs])

    def curves(self, run_id: str) -> pd.DataFrame:
        return pd.DataFrame(json.loads((self.folder / f"{run_id}.json").read_text())["curves"])


class Sqlite:
    def __init__(self, folder: Path, runs: int) -> None:
        self.path = folder / "runs.sqlite"
        self.ask("create table runs (run_id text primary key, architecture, dataset, error)")
        self.ask(f"create table epochs (run_id text, epoch, {', '.join(CURVES)})")
        of_run, marks = [], ", ".join("?" * (2 + len(CURVES)))
        with sqlite3.connect(self.path) as base:
            for number in range(runs):
                one = record(number)
                of_run.append((one.run_id, one.architecture, one.dataset, one.error))
                columns = zip(*(one.curves[name].tolist() for name in CURVES), strict=True)
                rows = [(one.run_id, epoch, *values) for epoch, values in enumerate(columns)]
                base.executemany(f"insert into epochs values ({marks})", rows)
            base.executemany("insert into runs values (?, ?, ?, ?)", of_run)
            base.execute("create index of_run on epochs (run_id)")
        base.close()

    def ask(self, query: str) -> list[tuple[str, str, float]]:
        with sqlite3.connect(self.path) as base:
            rows = base.execute(query).fetchall()
        base.close()
        return rows

    def errors(self) -> pd.DataFrame:
        return pivoted(self.ask("select architecture, dataset, error from runs"))

    def curves(self, run_id: str) -> pd.DataFrame:
        query = f"select {', '.join(CURVES)} from epochs where run_id = '{run_id}' order by epoch"
        return pd.DataFrame(self.ask(query), columns=list(CURVES))


def pivoted(rows: list[tuple[str, str, float]]) -> pd.DataFrame:
    table = pd.DataFrame(rows, columns=["architecture", "dataset", "error"])
    return table.pivot(index="architecture", columns="dataset", values="error")[DATASETS]


def seconds(work: Callable[[], object]) -> float:
    times = []
    for _ in range(5):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return median(times)


def main(runs: int) -> None:
    run_id = f"{runs // 2:016x}"
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_journals(folder / "journals", runs)
        command = [sys.executable, "-m", "benchmarks.store", "--collect", name, str(runs)]
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
        taken, peak = map(float, done.stdout.split())
        store = folder / "results.h5"
        size = store.stat().st_size / 2**20
        print(f"{runs:,} runs collected in {taken:.1f} s and {peak:.2f} GiB: {size:,.1f} MiB")
        table = ResultStore(store).errors()
        curves = ResultStore(store).curves(run_id=run_id)[list(CURVES)]
        ask: dict[str, tuple[Callable[[], object], Callable[[], object]]] = {
            "store": (
                lambda: ResultStore(store).errors(),
                lambda: ResultStore(store).curves(run_id=run_id),
            )
        }
        for kind in (Json, Sqlite) if runs <= MOST_OF_PEERS else ():
            peer = kind(folder, runs)
            np.testing.assert_array_equal(peer.errors(), table)
            np.testing.assert_array_equal(peer.curves(run_id).astype(np.float32), curves)
            ask[kind.__name__] = peer.errors, partial(peer.curves, run_id)
        print("milliseconds      all errors  one run's curves")
        for name, questions in ask.items():
            errors, one = (1000 * seconds(question) for question in questions)
            print(f"{name:12} {errors:15.1f} {one:17.2f}")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--collect"]:
        collect_here(Path(sys.argv[2]), int(sys.argv[3]))
    else:
        main(int(sys.argv[1]) if len(sys.argv) > 1 else 7500)
