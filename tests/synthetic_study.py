"""A synthetic study with known correlations, proxies, drivers and training noise."""

from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa

from anynet_study.analysis.apr import Roles
from anynet_study.store import JournalWriter, RunRecord, collect

ROLES = Roles("big", {"big": 1000, "big-2": 2}, {"pets": 9, "lines": 2})
STAGE_COLUMNS = [f"{prefix}{stage}" for prefix in "dwbg" for stage in (1, 2, 3, 4)]

#: Weights of (cumulative depth, cumulative width, the rest) in the errors of a dataset.
WEIGHTS = {
    "big": (0.0, -0.8, 0.6),
    "big-2": (0.6, 0.0, 0.8),
    "pets": (0.0, -0.8, 0.6),
    "lines": (0.6, 0.0, 0.8),
}
#: Which random factor is the rest of it.
FACTOR = {"big": 0, "pets": 0, "big-2": 1, "lines": 1}
NOISE = 0.3


def population(count: int, seed: int = 0) -> pd.DataFrame:
    """Random stage parameters with the columns of a population table."""
    generator = np.random.default_rng(seed)
    table = pd.DataFrame(generator.integers(1, 17, (count, 16)), columns=STAGE_COLUMNS)
    table[["w1", "w2", "w3", "w4"]] *= 8
    table.insert(0, "architecture", [f"{number:016x}" for number in range(count)])
    return table


def staged_population(count: int, fewest: int, most: int, seed: int = 0) -> pd.DataFrame:
    """Architectures of `fewest` to `most` stages, as `Population.to_pandas()` gives them."""
    generator = np.random.default_rng(seed)
    stages = generator.integers(fewest, most + 1, count)
    stages[0], stages[-1] = fewest, most
    table = pd.DataFrame({"architecture": [f"{number:016x}" for number in range(count)]})
    for prefix in "dwbg":
        for stage in range(1, most + 1):
            cells = pd.Series(generator.integers(1, 17, count))
            table[f"{prefix}{stage}"] = cells.where(stages >= stage)
    return table


def true_errors(architectures: pd.DataFrame, seed: int = 0) -> pd.DataFrame:
    """Errors without training noise: standard deviation 5 around 40, but for rounding."""
    generator = np.random.default_rng(seed)
    depth = architectures[["d1", "d2", "d3", "d4"]].sum(axis=1)
    width = architectures[["w1", "w2", "w3", "w4"]].sum(axis=1)
    causes = [(each - each.mean()) / each.std() for each in (depth, width)]
    rest = generator.normal(size=(len(architectures), 2))
    columns = {
        name: 40 + 5 * (a * causes[0] + b * causes[1] + c * rest[:, FACTOR[name]])
        for name, (a, b, c) in WEIGHTS.items()
    }
    return pd.DataFrame(columns).set_index(pd.Index(architectures["architecture"]))


def true_correlation(x: str, y: str) -> float:
    """Pearson's correlation of two datasets' errors with training noise."""
    shared = sum(a * b for a, b in zip(WEIGHTS[x][:2], WEIGHTS[y][:2], strict=True))
    rest = WEIGHTS[x][2] * WEIGHTS[y][2] * (FACTOR[x] == FACTOR[y])
    return (shared + rest) / (1 + NOISE**2)


def noisy(errors: pd.DataFrame, seed: int) -> pd.DataFrame:
    """The errors of one training each."""
    generator = np.random.default_rng(seed)
    return errors + 5 * NOISE * generator.normal(size=errors.shape)


def long_table(runs: Iterable[pd.DataFrame]) -> pd.DataFrame:
    """A row of each run, from a table (architectures x datasets) of each replicate."""
    parts = [
        run.rename_axis("architecture").reset_index().melt("architecture", None, "dataset", "error")
        for run in runs
    ]
    numbered = [part.assign(replicate=number) for number, part in enumerate(parts)]
    return pd.concat(numbered, ignore_index=True)


def write_study(folder: Path, count: int = 16, replicated: int = 4) -> Path:
    """A results store in `folder` with two runs of the first architectures and a failed run."""
    architectures = population(count)
    errors = true_errors(architectures)
    writer = JournalWriter(folder / "journals" / "worker.arrow")
    for replicate in range(2):
        table = noisy(errors, replicate).iloc[: count if replicate == 0 else replicated]
        for number, (architecture, row) in enumerate(table.iterrows()):
            for dataset, error in row.items():
                failed = number == count - 1 and dataset == "lines"
                writer.append(_record(str(architecture), str(dataset), replicate, error, failed))
    writer.close()
    roles = ["source", "family", "target", "target"]
    datasets = pa.table(
        {
            "dataset": list(WEIGHTS),
            "base": ["base"] * 4,
            "role": roles,
            "classes": pa.array([1000, 2, 9, 2], pa.int32()),
            **{name: pa.array([9] * 4, pa.int32()) for name in ("train_images", "test_images")},
            "metric": ["top1"] * 4,
            "chance": [99.9, 50.0, 88.9, 50.0],
            "epochs": pa.array([1] * 4, pa.int32()),
            "content_hash": ["0" * 16] * 4,
            "variant": ["{}"] * 4,
        }
    )
    out = folder / "results.h5"
    collect(folder / "journals", out, pa.Table.from_pandas(architectures), datasets, None, {})
    return out


def _record(
    architecture: str, dataset: str, replicate: int, error: float, failed: bool
) -> RunRecord:
    return RunRecord(
        run_id=f"{architecture[-4:]}{list(WEIGHTS).index(dataset):x}{replicate:x}",
        spec="{}",
        architecture=architecture,
        dataset=dataset,
        recipe="basic",
        replicate=replicate,
        status="failed" if failed else "completed",
        failure_kind="oom" if failed else "",
        message="out of memory" if failed else "",
        metric="top1",
        error=float("nan") if failed else error,
        curves={},
        predictions=np.empty(0, np.uint16),
        seconds=1.0,
        started=0.0,
        host="",
        device="cpu",
        torch_version="",
        code_version="",
    )
