"""How the cost of each stage grows with the architectures, the datasets and the pixels of a study.

    python -m benchmarks.growth                     (about fifteen minutes of one core)
    python -m benchmarks.growth commands [RUNS ...] (the last part alone)

Stages of synthetic studies (`benchmarks.report`), each measured by the CPU seconds of this process,
for growing sizes. Beside them stands the exponent of the last step: 1 is linear, 2 quadratic; what
a stage costs however small the study is makes it less.
Tables of all pairs of datasets are quadratic in these by what they are.

Last, commands that look at a study which was collected, by the CPU seconds of the command and of
what it starts, with their goals: none of them may decode again what the store has. What reading all
journals would take is seen from `collect`, which does.
"""

import contextlib
import math
import os
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import torch

from anynet_study.analysis.analyses import TABLES, load
from anynet_study.analysis.report import write_report
from anynet_study.core.metrics import CURVES, error_of
from anynet_study.design_space import Architecture, DesignSpace
from anynet_study.engine.dispatch import OpenStudy, open_sweep
from anynet_study.engine.models import accelerate, backend_here, build
from anynet_study.engine.planning import PlannedRun
from anynet_study.store.frames import encode
from anynet_study.store.records import RUN
from benchmarks.commands import COMMAND, cpu_seconds
from benchmarks.dispatch_million import SWEEP
from benchmarks.report import collected, write_journal
from benchmarks.rewrites import step

ARCHITECTURES = (125, 250, 500, 1000)
TARGETS = (6, 12, 27)
RESOLUTIONS = (32, 64, 128)
#: Of a study of so many runs, seconds that a command may take: goals of `commands`.
GOALS = {
    "status": {8_000: 0.3, 100_000: 1.5},
    "list": {8_000: 0.3, 100_000: 1.5},
    "run --dry-run": {8_000: 0.3, 100_000: 1.5},
    "launch --dry-run": {8_000: 0.3, 100_000: 1.5},
    "verify": {8_000: 2.0, 100_000: 15.0},
}
#: Datasets that are digits of their own, workers, and epochs of the curves of a recorded study.
VIEWS, WORKERS, EPOCHS = 13, 20, 10


def seconds(work: Callable[[], object]) -> float:
    began = time.process_time()
    work()
    return time.process_time() - began


def stages(folder: Path, architectures: int, targets: int) -> dict[str, float]:
    """CPU seconds of each stage of a study of a source, two subsets and the targets."""
    views = (f"digits-{n}: {{base: digits, per_class: {n + 10}}}" for n in range(targets + 1))
    sweep = folder / "sweep.yaml"
    sweep.write_text(SWEEP.format(count=architectures, views=", ".join(views)))
    tables = write_journal(folder, architectures, targets)
    collect = partial(collected, folder, *tables)
    costs = {
        "plan of a launch": seconds(lambda: open_sweep(sweep, []).plan.ids()),
        "collect": seconds(collect),
    }
    study = load(collect())
    costs["analyze"] = seconds(lambda: study.make(TABLES))
    costs["page of the report"] = seconds(lambda: write_report(study, folder / "report"))
    return costs


def training(resolution: int) -> dict[str, float]:
    """CPU seconds of one step of a network of the paper's band."""
    (network,) = DesignSpace.anynetx().sample(1, flops=(360e6, 400e6), seed=0)
    assert isinstance(network, Architecture)
    module = build(network, 10)
    accelerate(module, resolution, backend_here())
    images = torch.randn(16, 3, resolution, resolution).to(memory_format=torch.channels_last)
    labels = torch.arange(16) % 10
    return {"a training step": min(seconds(lambda: step(module, images, labels)) for _ in range(5))}


def record_study(folder: Path, count: int) -> None:
    """Write the sweep of a study of at least so many runs into a folder, and journals of all."""
    views = (
        f"d{i}: {{base: digits, classes: {2 + i % 9}, per_class: {10 + i}}}" for i in range(VIEWS)
    )
    sweep = folder / "sweep.yaml"
    sweep.write_text(SWEEP.format(count=-(-count // (VIEWS + 2)), views=", ".join(views)))
    study = open_sweep(sweep)
    study.begin()
    study.folder.journals.mkdir()
    for worker in range(WORKERS):
        with study.folder.new_journal().open("xb") as journal:
            journal.write(RUN.schema.serialize())
            runs = study.plan[worker::WORKERS]
            for first in range(0, len(runs), 1000):
                batch = records_of(study, runs[first : first + 1000])
                for row in range(len(batch)):
                    journal.write(encode(batch.slice(row, 1), RUN.version))


def records_of(study: OpenStudy, runs: Sequence[PlannedRun]) -> pa.RecordBatch:
    """Records of these runs, with random predictions and the errors that these give."""
    draws, named = np.random.default_rng(len(runs)), [run.named() for run in runs]
    views = [study.views[run.dataset] for run in runs]
    guesses = [draws.integers(len(it.classes), size=len(it.test_index)) for it in views]
    told = zip(guesses, views, strict=True)
    errors = [error_of(float((guess == it.test_labels).mean())) for guess, it in told]
    rows = {
        **{name: [it[name] for it in named] for name in named[0]},
        **{name: [np.linspace(90, end, EPOCHS) for end in errors] for name in CURVES},
        "error": errors,
        "error_std": [math.nan] * len(runs),
        "predictions": guesses,
        "status": ["completed"] * len(runs),
        "seconds": [3.0] * len(runs),
        "started": 1.7e9 + np.arange(len(runs)),
    }
    nothing = {True: [""] * len(runs), False: [1] * len(runs)}
    columns = [rows.get(it.name, nothing[pa.types.is_string(it.type)]) for it in RUN.schema]
    cells = [pa.array(it, one.type) for it, one in zip(columns, RUN.schema, strict=True)]
    return pa.record_batch(cells, schema=RUN.schema)


def commands(sizes: Sequence[int]) -> None:
    """Print a row per command: CPU seconds for each size of a study, and the goals."""
    typed = {
        "collect": ["collect", "million"],
        "status": ["status", "million"],
        "list": ["list"],
        "run --dry-run": ["run", "sweep.yaml", "--dry-run"],
        "launch --dry-run": ["launch", "sweep.yaml", "--dry-run"],
        "verify": ["verify", "million"],
    }
    print(f"\nCPU seconds of commands by runs{'':8}{''.join(f'{size:>20,}' for size in sizes)}")
    costs: dict[str, list[str]] = {name: [] for name in typed}
    for size in sizes:
        with tempfile.TemporaryDirectory() as name, contextlib.chdir(name):
            record_study(Path(), size)
            for what, command in typed.items():
                seconds, _ = cpu_seconds([*COMMAND, *command])
                goal = GOALS.get(what, {}).get(size)
                told = f"{seconds:.2f}" + (f" (goal {goal:g})" if goal else "")
                costs[what].append(f"{told:>20}")
    for what, row in costs.items():
        print(f"{what:40}{''.join(row)}")


def show(title: str, sizes: Sequence[int], costs: Sequence[dict[str, float]]) -> None:
    """Print a row for each stage, and its exponent: against the factor between the last sizes."""
    table = pd.DataFrame(costs, index=list(map(str, sizes))).T
    factor = math.log(sizes[-1] / sizes[-2])
    table["exponent"] = np.log(table.iloc[:, -1] / table.iloc[:, -2]) / factor
    print(f"\nCPU seconds by {title}\n{table.to_string(float_format='{:.2f}'.format)}")


def main() -> None:
    torch.set_num_threads(1)
    alone = sys.argv[1:2] == ["commands"]
    sizes = [*map(int, sys.argv[2:])] or [*GOALS["status"]]
    if not alone:
        stages_and_training()
    os.environ["ANYNET_DATA"] = "data"  # in each study's folder
    commands(sizes)


def stages_and_training() -> None:
    with tempfile.TemporaryDirectory() as name:
        os.environ["ANYNET_DATA"] = f"{name}/data"

        def measured(architectures: int, targets: int) -> dict[str, float]:
            folder = Path(name) / f"{architectures}-{targets}"
            folder.mkdir()
            return stages(folder, architectures, targets)

        measured(50, TARGETS[0])  # imports
        by_architectures = [measured(count, TARGETS[1]) for count in ARCHITECTURES]
        show("architectures, of 15 datasets", ARCHITECTURES, by_architectures)
        by_datasets = [measured(ARCHITECTURES[0] - 1, count) for count in TARGETS]
        show("datasets, of 124 architectures", [3 + count for count in TARGETS], by_datasets)
    show("pixels of a side, squared", [r**2 for r in RESOLUTIONS], [*map(training, RESOLUTIONS)])


if __name__ == "__main__":
    main()
