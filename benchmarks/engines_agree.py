"""Do engines and numeric backends differ more than seeds do? Each way x two seeds on a population.

    python -m benchmarks.engines_agree [ARCHITECTURES]      (default 20; about ten minutes on two
                                                             cores)

The same runs are trained in each way of `WAYS`, as studies are (a process a core, one thread each):
small networks over a range of sizes, on handwritten digits and on gratings, two replicates each.
Each way is compared with the last: Kendall's tau of final errors between the ways at the same seed,
against tau between the seeds of the same way; and the mean absolute difference of final errors,
likewise. Intervals are of a bootstrap over architectures. Ends with 1 if a way differs more.
"""

import os
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from unittest.mock import patch

import numpy as np
import yaml
from numpy.typing import NDArray
from scipy import stats

from anynet_study.engine.dispatch import open_sweep, train_all
from anynet_study.engine.study_folder import StudyFolder
from anynet_study.store import read_journal

#: Overrides of the sweep, and the widest instructions of torch's own kernels ("": all there are).
WAYS: dict[str, tuple[list[str], str]] = {
    "reference engine": (["launch.engine=reference"], ""),
    "plain": (["launch.backend=plain"], ""),
    "rewritten, without AVX": (["launch.backend=rewritten"], "default"),
    "rewritten": (["launch.backend=rewritten"], ""),
}
Floats = NDArray[np.float64]
RESAMPLES = 1000
LEVEL = 0.95
DATASETS = ("digits", "gratings")
SWEEP = """
name: engines-agree
population:
  space: {base: anynetx, depths: [1, 4], widths: [8, 64], group_widths: [1, 2, 4, 8, 16],
          stem: cifar, stem_width: 8}
  flops: [0.1e6, 0.8e6]
  resolution: 8
  classes: 10
source: digits
datasets: {digits: {per_class: 60}, gratings: {per_class: 150}}
recipes:
  basic: {epochs: 5, batch_size: 32, lr: 0.03, warmup_epochs: 1, flip: false, padding: 1}
replicates: {count: 2}
"""


def final_errors(sweep_file: Path, architectures: int, folder: Path) -> Floats:
    """(ways, seeds, architectures x datasets): errors in percent, trained in `folder`."""
    of_ways = []
    for name, (overrides, instructions) in WAYS.items():
        prepared = open_sweep(sweep_file, [*overrides, f"population.count={architectures}"])
        study = StudyFolder(folder / name)
        replace(prepared, folder=study).begin()
        limit = {"ATEN_CPU_CAPABILITY": instructions} if instructions else {}
        with patch.dict(os.environ, limit):
            train_all(study, prepared.sweep, prepared.plan)
        journals = [read_journal(path).records for path in study.journals.glob("*.arrow")]
        errors = {record.run_id: record.error for records in journals for record in records}
        of_ways.append(
            [
                [errors[run.run_id] for run in prepared.plan if run.replicate == seed]
                for seed in range(prepared.sweep.replicates.count)
            ]
        )
    # Planned are an architecture's datasets, then the next architecture's.
    return np.array(of_ways)


@dataclass(frozen=True)
class Agreement:
    """A measure between two ways and between seeds, and the ways' minus the seeds'."""

    ways: float
    seeds: float
    #: With its interval.
    difference: tuple[float, float, float]


def tau(one: Floats, other: Floats) -> float:
    """Kendall's tau-b of two rows of errors."""
    return float(stats.kendalltau(one, other).statistic)


def apart(one: Floats, other: Floats) -> float:
    """Mean absolute difference of two rows of errors."""
    return float(np.mean(abs(one - other)))


def compare(errors: Floats, measure: Callable[[Floats, Floats], float]) -> Agreement:
    """`errors` (2 ways, 2 seeds, architectures); each pair is compared both ways it can be."""

    def both(errors: Floats) -> tuple[float, float]:
        ways = [measure(errors[0, seed], errors[1, seed]) for seed in (0, 1)]
        seeds = [measure(errors[way, 0], errors[way, 1]) for way in (0, 1)]
        return float(np.mean(ways)), float(np.mean(seeds))

    generator = np.random.default_rng(0)
    count = errors.shape[2]
    resampled = []
    for _ in range(RESAMPLES):
        ways, seeds = both(errors[:, :, generator.integers(0, count, count)])
        resampled.append(ways - seeds)
    low, high = np.nanquantile(resampled, [(1 - LEVEL) / 2, (1 + LEVEL) / 2]).tolist()
    ways, seeds = both(errors)
    return Agreement(ways, seeds, (ways - seeds, low, high))


def shift(errors: Floats) -> tuple[float, float, float]:
    """Mean of the second way's errors minus the first's, with a t interval over networks."""
    differences = (errors[1] - errors[0]).mean(axis=0)
    half = stats.t.ppf((1 + LEVEL) / 2, len(differences) - 1) * stats.sem(differences)
    middle = float(differences.mean())
    return middle, middle - float(half), middle + float(half)


def show(errors: Floats, name: str) -> bool:
    """Print what was found of two ways; whether they differ no more than seeds."""
    ranks, points, mean = compare(errors, tau), compare(errors, apart), shift(errors)
    same = float(np.mean(errors[0] == errors[1]))
    print(f"{name}: {errors.shape[2]} networks, errors {errors.min():.1f} to {errors.max():.1f}%")
    print(f"  {'':22}{'ways':>9}{'seeds':>9}   difference (95% interval)")
    for title, it in (("Kendall's tau", ranks), ("points apart", points)):
        middle, low, high = it.difference
        print(
            f"  {title:22}{it.ways:9.3f}{it.seeds:9.3f}{middle:+9.3f} ({low:+.3f} to {high:+.3f})"
        )
    print(f"  second minus first: {mean[0]:+.2f} points ({mean[1]:+.2f} to {mean[2]:+.2f})")
    print(f"  the same error: {same:.0%} of runs")
    return ranks.difference[2] >= 0 and points.difference[1] <= 0


def main(architectures: int) -> int:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        os.environ["ANYNET_DATA"] = str(folder / "data")
        sweep_file = folder / "sweep.yaml"
        sweep_file.write_text(yaml.safe_dump(yaml.safe_load(SWEEP)))
        errors = final_errors(sweep_file, architectures, folder)
    *others, last = WAYS
    same = [
        show(errors[[way, -1], :, place :: len(DATASETS)], f"{name} against {last} on {dataset}")
        for way, name in enumerate(others)
        for place, dataset in enumerate(DATASETS)
    ]
    print("ways differ no more than seeds" if all(same) else "ways differ MORE than seeds")
    return 0 if all(same) else 1


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else 20))
