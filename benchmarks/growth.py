"""How the cost of each stage grows with the architectures, the datasets and the pixels of a study.

    python -m benchmarks.growth                     (about ten minutes of one core)

Stages of synthetic studies (`benchmarks.report`), each measured by the CPU seconds of this process,
for growing sizes. Beside them stands the exponent of the last step: 1 is linear, 2 quadratic; what
a stage costs however small the study is makes it less.
Tables of all pairs of datasets are quadratic in these by what they are.
"""

import math
import os
import tempfile
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
import torch

from anynet_study.analysis.analyses import TABLES, load
from anynet_study.analysis.report import write_report
from anynet_study.design_space import Architecture, DesignSpace
from anynet_study.engine.dispatch import open_sweep
from anynet_study.engine.models import accelerate, backend_here, build
from benchmarks.dispatch_million import SWEEP
from benchmarks.report import collected, write_journal
from benchmarks.rewrites import step

ARCHITECTURES = (125, 250, 500, 1000)
TARGETS = (6, 12, 27)
RESOLUTIONS = (32, 64, 128)


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


def show(title: str, sizes: Sequence[int], costs: Sequence[dict[str, float]]) -> None:
    """Print a row for each stage, and its exponent: against the factor between the last sizes."""
    table = pd.DataFrame(costs, index=list(map(str, sizes))).T
    factor = math.log(sizes[-1] / sizes[-2])
    table["exponent"] = np.log(table.iloc[:, -1] / table.iloc[:, -2]) / factor
    print(f"\nCPU seconds by {title}\n{table.to_string(float_format='{:.2f}'.format)}")


def main() -> None:
    torch.set_num_threads(1)
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
