"""How well the seconds and the memory of runs are predicted, on finished studies.

    python -m benchmarks.cost studies/quickstart studies/cifar10-mini --memory

For each study the median relative error of predicted seconds: by the built-in prices; fitted to
the first runs of the plan, tested on the others; fitted without a dataset, tested on it; and of
further evaluations by the prices of training and fitted to the first of them. Then the prices that
fit all the studies best, ready to be pasted into `dispatch.cost`. With --memory some runs are
trained for an epoch, each in a process of its own, and their peaks compared.
"""

import argparse
import resource
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from multiprocessing import get_context

import numpy as np

from anynet_study.cli.prepared import Prepared, reopen
from anynet_study.design_space.populations.cells import groups_of
from anynet_study.dispatch.calibration import features_of, measured_evaluations
from anynet_study.dispatch.cost.features import Features, FloatArray, Workload
from anynet_study.dispatch.cost.fit import fit_cost
from anynet_study.dispatch.cost.memory import CPU_MEMORY, MIB, run_bytes, shared_bytes
from anynet_study.dispatch.cost.prices import CostModel, built_in_cost
from anynet_study.dispatch.plan import PlannedRun
from anynet_study.dispatch.recorded import measured_runs, measured_tests

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
        prepared = reopen(name)
        finished.append(_finished(prepared))
        _print_errors(name, finished[-1])
        _print_evaluations(prepared, finished[-1])
    _print_prices(finished)
    if arguments.memory:
        for name in arguments.studies:
            _print_memory(name, reopen(name))


def _finished(prepared: Prepared) -> Finished:
    measured = {run.run_id: run for run in measured_runs(prepared.study.journals, ALL)}
    done = [run for run in prepared.planned if run.run_id in measured]
    if not done:
        raise SystemExit(f"{prepared.sweep.name}: no planned run has been completed")
    device = measured[done[-1].run_id].device
    done = [run for run in done if measured[run.run_id].device == device]
    features = features_of(done, prepared.views)
    features[:, Features._fields.index("starts")] = [measured[r.run_id].first for r in done]
    seconds = np.array([measured[run.run_id].seconds for run in done])
    return Finished(features, seconds, np.array([run.dataset for run in done]), device)


def _error(cost: CostModel, runs: Finished) -> float:
    """Median relative error in percent."""
    return 100 * float(np.median(np.abs(cost.seconds(runs.features) / runs.seconds - 1)))


def _fitted(runs: Finished) -> CostModel:
    return fit_cost(runs.features, runs.seconds, built_in_cost(runs.device))


def _print_errors(name: str, runs: Finished) -> None:
    count = len(runs.seconds)
    print(f"{name}: {count} runs of {runs.seconds.sum():.0f} s on {runs.device}; median error")
    print(f"  built-in prices             {_error(built_in_cost(runs.device), runs):4.0f}%")
    for first in (first for first in FIRST if first < count):
        begun = np.arange(count) < first
        error = _error(_fitted(runs.part(begun)), runs.part(~begun))
        print(f"  after the first {first:3} runs      {error:4.0f}%")
    for dataset in dict.fromkeys(runs.datasets.tolist()):
        this = runs.datasets == dataset
        if not this.all():
            error = _error(_fitted(runs.part(~this)), runs.part(this))
            print(f"  without {dataset:19} {error:4.0f}%")


def _print_evaluations(prepared: Prepared, runs: Finished) -> None:
    """Of the study's further evaluations, if it has any, with prices of its runs before them."""
    planned, journals = prepared.planned, prepared.study.journals
    by_id = {run.run_id: run for run in planned}
    features, seconds = measured_evaluations(by_id, planned, measured_tests(journals, ALL))
    if not len(seconds):
        return
    spent = 100 * seconds.sum() / (runs.seconds.sum() + seconds.sum())
    print(
        f"  {len(seconds)} further evaluations of {seconds.sum():.0f} s, {spent:.0f}% of the time"
    )
    cost = _fitted(runs)
    off = 100 * np.median(np.abs(cost.seconds(features) / seconds - 1))
    print(f"    prices of its runs        {off:4.0f}%")
    for first in (first for first in FIRST if first < len(seconds)):
        fitted = fit_cost(features[:first], seconds[:first], cost)
        off = 100 * np.median(np.abs(fitted.seconds(features[first:]) / seconds[first:] - 1))
        print(f"    after the first {first:3}       {off:4.0f}%")


def _print_prices(studies: Sequence[Finished]) -> None:
    """All runs of the first study's device, each study counting the same however long it is."""
    same = [runs for runs in studies if runs.device == studies[0].device]
    together = Finished(
        np.concatenate([runs.features for runs in same]),
        np.concatenate([runs.seconds for runs in same]),
        np.concatenate([runs.datasets for runs in same]),
        same[0].device,
    )
    fitted = _fitted(together)
    print(f"best prices for these {fitted.runs} runs ({_error(fitted, together):.0f}% off):")
    for feature, price in zip(Features._fields, fitted.prices, strict=True):
        print(f"        {feature}={price:.2g},")


def _print_memory(name: str, prepared: Prepared) -> None:
    runs = prepared.planned
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


def _predicted_peak(prepared: Prepared, run: PlannedRun) -> int:
    view = prepared.views[run.dataset]
    train, test = len(view.train_index), len(view.test_index)
    work = Workload.of(run.spec.recipe, train, test, view.size, len(view.classes))
    alone = run_bytes(groups_of([run.spec.architecture]), work, CPU_MEMORY)
    return shared_bytes(0, CPU_MEMORY) + int(alone[0])


def _measured_peak(name: str, run_id: str) -> int:
    """Train an epoch as a worker does; the most bytes that this process has had resident."""
    import torch

    from anynet_study.dispatch.process import keep_freed_memory
    from anynet_study.training.engine import train

    keep_freed_memory()
    torch.set_num_threads(1)
    prepared = reopen(name)
    run = next(run for run in prepared.planned if run.run_id == run_id)
    recipe = run.spec.recipe.model_copy(update={"epochs": 1, "warmup_epochs": 0.0, "steps": None})
    spec = replace(run.spec, recipe=recipe, pretrained=None)
    train(spec, prepared.views[run.dataset], torch.device("cpu"))
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


if __name__ == "__main__":
    main()
