"""Whether a comparison is fair: the same work was done, and the same results came out."""

import math
from collections.abc import Mapping, Sequence
from itertools import combinations

from scipy import stats

from .results import Result
from .ways import Measured

#: Relative difference of the first epoch's mean loss that rounding, amplified by training, makes.
LOSS_TOLERANCE = {"cpu": 0.02, "cuda": 0.05}
#: Ways that shuffle and augment each by itself: to each other what seeds are.
SEEDS = ("loader", "resident", "reference")
#: How sure a comparison must be before it says that engines differ more than seeds do.
CONFIDENCE = 0.99
Rounds = Mapping[str, Sequence[Measured]]


def violations(rounds: Rounds, work: Mapping[str, tuple[int, int]], device: str) -> list[str]:
    """What is wrong with a comparison, a line each; `work`: steps and images by run id."""
    found = []
    for name, measured in rounds.items():
        done = [{it.run_id: (it.steps, it.images) for it in one.results} for one in measured]
        if any(one != dict(work) for one in done):
            found.append(f"{name}: not the runs, steps or images that were asked for")
    errors = {name: by_run(measured[0].results) for name, measured in rounds.items()}
    off = loss_difference(rounds)
    if not off <= LOSS_TOLERANCE[device]:
        found.append(f"first losses of the engines differ by {100 * off:.2g}%")
    engines, seeds, most = error_differences(errors)
    if not engines <= most:
        found.append(f"engines differ by {engines:.2f} points, seeds by {seeds:.2f}")
    if device == "cpu" and any(by_run(one.results) != errors["fast"] for one in rounds["fast"]):
        found.append("the fast engine does not repeat itself")
    return found


def loss_difference(rounds: Rounds) -> float:
    """Largest relative difference between the engines in the first epoch's loss of a run."""
    fast, reference = (
        {it.run_id: it.first_loss for it in rounds[name][0].results}
        for name in ("fast", "reference")
    )
    return max(abs(fast[run] / loss - 1) for run, loss in reference.items())


def error_differences(errors: Mapping[str, Mapping[str, float]]) -> tuple[float, float, float]:
    """Root mean square difference of final errors in points: of the engines, and of seeds.

    Last, the largest that the first can be by chance where it is no larger (an F test).
    """
    of_engines = differences(errors["fast"], errors["reference"])
    of_seeds = [
        difference
        for one, other in combinations([errors[name] for name in SEEDS], 2)
        for difference in differences(one, other)
    ]
    ratio = math.sqrt(stats.f.ppf(CONFIDENCE, len(of_engines), len(of_seeds)))
    return rms(of_engines), rms(of_seeds), ratio * rms(of_seeds)


def differences(one: Mapping[str, float], other: Mapping[str, float]) -> list[float]:
    return [one[run] - other[run] for run in one]


def rms(values: Sequence[float]) -> float:
    return math.sqrt(sum(value**2 for value in values) / len(values))


def by_run(results: Sequence[Result]) -> dict[str, float]:
    """Final error by run id."""
    return {result.run_id: result.error for result in results}
