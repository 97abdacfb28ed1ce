"""How well the seconds and the memory of runs are predicted, on finished studies.

    python -m benchmarks.cost studies/quickstart studies/cifar10-mini --memory

For each study the median relative error of predicted seconds: by the built-in prices; times the
factor of the first runs of the plan, tested on the others; times the factor of all datasets but
one, tested on that. Then the prices that fit all the studies best, ready to be pasted into
`engine/planning/prices.py`. With --memory some runs are trained for an epoch, each in a process of
its own, and their peaks compared.
"""

import argparse
import resource
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from multiprocessing import get_context

import numpy as np
from scipy.optimize import nnls

from anynet_study.design_space import groups_of
from anynet_study.engine.dispatch import JournalReader, OpenStudy, open_study
from anynet_study.engine.dispatch.calibration import latest_runs
from anynet_study.engine.planning import PlannedRun, built_in_cost
from anynet_study.engine.planning.features import Features, FloatArray, Workload, run_features
from anynet_study.engine.planning.memory import CPU_MEMORY, MIB, run_bytes, shared_bytes

FIRST = (1, 3, 5, 10, 20)
ALL = 1_000_000


@dataclass(frozen=True)
class Finished:
    """The completed runs of a study on one device, in the plan's order."""

    features: FloatArray
    seconds: FloatArray
    #: Dataset of each run.
    datasets: np.ndarray
    device: str

    def part(self, which: np.ndarray) -> "Finished":
        """The runs where `which` (n,) is true."""
        features, seconds = self.features[which], self.seconds[which]
        return Finished(features, seconds, self.datasets[which], self.device)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("studies", nargs="+", metavar="STUDY")
    parser.add_argument("--memory", action="store_true", help="also train and measure memory")
    arguments = parser.parse_args()
    finished = []
    for name in arguments.studies:
        study = open_study(name)
        finished.append(_finished(study))
        _print_errors(name, finished[-1])
    _print_prices(finished)
    if arguments.memory:
        for name in arguments.studies:
            _print_memory(name, open_study(name))


def _finished(study: OpenStudy) -> Finished:
    reader = JournalReader(study.folder.journals)
    reader.read()
    timed = {run.run_id: run for run in latest_runs(study.plan, reader.timings(), ALL)}
    if not timed:
        raise SystemExit(f"{study.sweep.name}: no planned run has been completed")
    trained = [run for run in study.plan if run.run_id in timed]
    runs = [timed[run.run_id] for run in trained]
    works = {(it.dataset, it.recipe): it.work for it in study.plan.settings}
    features = np.empty((len(runs), len(Features._fields)))
    for number, run in enumerate(trained):
        network = groups_of([run.spec.architecture])
        features[number] = run_features(network, works[run.dataset, run.recipe])[0]
    datasets = np.array([run.dataset for run in trained])
    seconds = np.array([run.seconds for run in runs])
    return Finished(features, seconds, datasets, runs[-1].device)


def _error(runs: Finished, factor: float = 1.0) -> float:
    """Median relative error of the built-in prices times `factor`, in percent."""
    predicted = factor * built_in_cost(runs.device).seconds(runs.features)
    return 100 * float(np.median(np.abs(predicted / runs.seconds - 1)))


def _factor(runs: Finished) -> float:
    """The median of measured over predicted seconds, as `dispatch.calibration` has it."""
    return float(np.median(runs.seconds / built_in_cost(runs.device).seconds(runs.features)))


def _print_errors(name: str, runs: Finished) -> None:
    count = len(runs.seconds)
    print(f"{name}: {count} runs of {runs.seconds.sum():.0f} s on {runs.device}; median error")
    print(f"  built-in prices             {_error(runs):4.0f}%")
    for first in (first for first in FIRST if first < count):
        begun = np.arange(count) < first
        error = _error(runs.part(~begun), _factor(runs.part(begun)))
        print(f"  after the first {first:3} runs      {error:4.0f}%")
    for dataset in dict.fromkeys(runs.datasets.tolist()):
        this = runs.datasets == dataset
        if not this.all():
            error = _error(runs.part(this), _factor(runs.part(~this)))
            print(f"  without {dataset:19} {error:4.0f}%")


def _print_prices(studies: Sequence[Finished]) -> None:
    """All runs of the first study's device: non-negative least squares of relative errors."""
    same = [runs for runs in studies if runs.device == studies[0].device]
    features = np.concatenate([runs.features for runs in same])
    seconds = np.concatenate([runs.seconds for runs in same])
    prior = np.asarray(built_in_cost(same[0].device).prices, dtype=float)
    factors, _ = nnls(features * prior / seconds[:, None], np.ones(len(seconds)))
    off = 100 * np.median(np.abs(features @ (prior * factors) / seconds - 1))
    print(f"best prices for these {len(seconds)} runs ({off:.0f}% off):")
    for feature, price in zip(Features._fields, prior * factors, strict=True):
        print(f"        {feature}={price:.2g},")


def _print_memory(name: str, prepared: OpenStudy) -> None:
    runs = prepared.plan
    predicted = np.array([_predicted_peak(prepared, run) for run in runs])
    chosen = predicted.argsort(kind="stable")[[0, len(runs) // 2, -1]]
    print(f"{name}: peak memory in MiB, predicted and measured (resident set)")
    for place in dict.fromkeys(chosen.tolist()):
        with ProcessPoolExecutor(1, get_context("spawn")) as alone:
            measured = alone.submit(_measured_peak, name, runs[place].run_id).result()
        ratio = predicted[place] / measured
        print(
            f"  {runs[place].dataset:16} {runs[place].spec.architecture.id}  "
            f"{predicted[place] / MIB:6.0f} {measured / MIB:6.0f}  ({ratio:.2f} x)"
        )


def _predicted_peak(prepared: OpenStudy, run: PlannedRun) -> int:
    view = prepared.views[run.dataset]
    train, test = len(view.train_index), len(view.test_index)
    work = Workload.of(run.spec.recipe, train, test, view.size, len(view.classes))
    alone = run_bytes(groups_of([run.spec.architecture]), work, CPU_MEMORY)
    return shared_bytes(0, CPU_MEMORY) + int(alone[0])


def _measured_peak(name: str, run_id: str) -> int:
    """Train an epoch as a worker does; the most bytes that this process has had resident."""
    import torch

    from anynet_study.engine.dispatch import keep_freed_memory
    from anynet_study.engine.training import train

    keep_freed_memory()
    torch.set_num_threads(1)
    prepared = open_study(name)
    run = next(run for run in prepared.plan if run.run_id == run_id)
    recipe = run.spec.recipe.model_copy(update={"epochs": 1, "warmup_epochs": 0.0, "steps": None})
    spec = replace(run.spec, recipe=recipe, pretrained=None)
    train(spec, prepared.views[run.dataset], torch.device("cpu"))
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


if __name__ == "__main__":
    main()
