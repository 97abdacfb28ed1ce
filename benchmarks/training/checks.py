"""Whether a comparison is fair: the same work was done, and the same results came out."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import combinations

import torch
from scipy import stats

from anynet_study.data import DatasetView
from anynet_study.engine.models import backend_here
from anynet_study.engine.training import Options, RunSpec, train

from .results import Result
from .ways import Measured

#: Relative difference of the first step's loss, before any update: rounding of one forward pass.
STEP_TOLERANCE = {"cpu": 1e-3, "cuda": 2e-2}
#: Ways that shuffle and augment each by itself: to each other what seeds are.
SEEDS = ("loader", "resident", "reference")
#: How sure a comparison must be before it says that engines differ more than seeds do.
CONFIDENCE = 0.99
Rounds = Mapping[str, Sequence[Measured]]


def violations(
    rounds: Rounds, work: Mapping[str, tuple[int, int]], tests: int, device: str
) -> list[str]:
    """What is wrong with a comparison, a line each.

    `work`: steps and images by run id; `tests`: test images.
    """
    found = []
    for name, measured in rounds.items():
        done = [{it.run_id: (it.steps, it.images) for it in one.results} for one in measured]
        if any(one != dict(work) for one in done):
            found.append(f"{name}: not the runs, steps or images that were asked for")
    errors = {name: by_run(measured[0].results) for name, measured in rounds.items()}
    engines, seeds, most = error_differences(errors, tests)
    if not engines <= most:
        found.append(f"engines differ by {engines:.2f} points, seeds by {seeds:.2f}")
    if device == "cpu" and any(by_run(one.results) != errors["fast"] for one in rounds["fast"]):
        found.append("the fast engine does not repeat itself")
    return found


def first_step(spec: RunSpec, view: DatasetView, device: torch.device) -> float:
    """Relative difference of the engines' losses in the first step of a run, before any update.

    Later losses tell less: networks this deep and narrow amplify rounding by a thousand in a step.
    """
    recipe = spec.recipe.model_copy(update={"epochs": None, "steps": 1})
    short = replace(spec, recipe=recipe)
    eager = Options(backend_here(None, "cpu" if device.type == "cpu" else "cuda"), graph=False)
    fast = train(short, view, device, options=eager).curves["train_loss"][0]
    reference = train(short, view, device, engine="reference").curves["train_loss"][0]
    return abs(fast / reference - 1)


def error_differences(
    errors: Mapping[str, Mapping[str, float]], tests: int
) -> tuple[float, float, float]:
    """Root mean square difference of final errors in points: of the engines, and of seeds.

    Last, the largest that the first can be by chance where it is no larger (an F test), but at
    least a standard error of an error of 50% on `tests` images: less is not told by them.
    """
    of_engines = differences(errors["fast"], errors["reference"])
    of_seeds = [
        difference
        for one, other in combinations([errors[name] for name in SEEDS], 2)
        for difference in differences(one, other)
    ]
    ratio = math.sqrt(stats.f.ppf(CONFIDENCE, len(of_engines), len(of_seeds)))
    most = max(ratio * rms(of_seeds), 50 / math.sqrt(tests))
    return rms(of_engines), rms(of_seeds), most


def differences(one: Mapping[str, float], other: Mapping[str, float]) -> list[float]:
    return [one[run] - other[run] for run in one]


def rms(values: Sequence[float]) -> float:
    return math.sqrt(sum(value**2 for value in values) / len(values))


def by_run(results: Sequence[Result]) -> dict[str, float]:
    """Final error by run id."""
    return {result.run_id: result.error for result in results}
