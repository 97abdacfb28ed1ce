"""Tuning as runs: which trials go on to the next rung, and which one is chosen.

Each architecture has a bracket of its own on each dataset. A rung is decided when all its runs have
ended, by their validation errors alone: what is planned is a function of the sweep and of what the
journals hold, whatever the order in which runs ended.
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from anynet_study.engine.planning.planned_run import PlannedRun
from anynet_study.engine.planning.settings import Setting
from anynet_study.engine.sweep import Tuning

#: Gives the validation error (%) of a run in the evaluation of this id. It is infinite if the run
#: diverged, and None before the run has ended.
Judge = Callable[[PlannedRun, str], float | None]


def not_known(run: PlannedRun, evaluation_id: str) -> float | None:
    """A judge that knows of no run that was trained."""
    return None


@dataclass
class Bracket:
    """The trials of one architecture on one dataset."""

    tuning: Tuning
    #: Of each rung: validation errors by trial, and the runs.
    errors: list[dict[int, float | None]] = field(init=False)
    runs: list[dict[int, str]] = field(init=False)
    #: Ids of the planned runs that repeat the chosen setting with further seeds.
    replicates: set[str] = field(default_factory=set)
    #: The further seeds with which the chosen setting is to be trained.
    seeds: set[int] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.errors = [{} for _ in self.tuning.counts]
        self.runs = [{} for _ in self.tuning.counts]

    def best(self, rung: int, count: int) -> list[int]:
        """The trials with the lowest errors (of equal ones the first); [] before all have ended."""
        known = [(error, trial) for trial, error in self.errors[rung].items() if error is not None]
        if len(known) < self.tuning.counts[rung]:
            return []
        return [trial for _, trial in sorted(known)[:count]]

    def chosen(self) -> int | None:
        """The trial with the lowest validation error of those that had the whole length."""
        return next(iter(self.best(len(self.errors) - 1, 1)), None)

    def asks_for(self, trial: int, rung: int, seed: int) -> bool:
        """Tell whether a run is wanted by now. Only the chosen setting is repeated with other
        seeds.
        """
        if seed:
            return rung == len(self.errors) - 1 and trial == self.chosen()
        return rung == 0 or trial in self.best(rung - 1, self.tuning.counts[rung])


class Brackets:
    """The brackets of a study while its plan is made, shorter rungs before longer ones."""

    def __init__(self, judge: Judge) -> None:
        self._judge = judge
        self._brackets: dict[tuple[str, str, int], Bracket] = {}

    def asks_for(self, it: Setting, place: int, seed: int) -> bool:
        """Tell whether the plan has a run, as far as is known; of recipes that are not tuned,
        all.
        """
        if (trial := it.trial) is None:
            return True
        key = trial.recipe, it.dataset, place
        bracket = self._brackets.setdefault(key, Bracket(trial.tuning))
        if seed:
            bracket.seeds.add(seed)
        return bracket.asks_for(trial.number, trial.rung, seed)

    def note(self, run: PlannedRun, judged_by: str) -> None:
        """Take note of a run that the plan has, and of its validation error where it has one."""
        if (trial := run.trial) is None:
            return
        bracket = self._brackets[trial.recipe, run.dataset, run.place]
        if run.replicate:
            bracket.replicates.add(run.run_id)
            return
        error = self._judge(run, judged_by)
        unknown = error is not None and math.isnan(error)
        bracket.runs[trial.rung][trial.number] = run.run_id
        bracket.errors[trial.rung][trial.number] = math.inf if unknown else error

    def chosen(self) -> Iterator[str]:
        """The ids of the runs whose errors count as the errors of tuned recipes."""
        for bracket in self._brackets.values():
            if (trial := bracket.chosen()) is not None:
                yield bracket.runs[-1][trial]
                yield from bracket.replicates

    def awaited(self) -> int:
        """Return how many runs follow when others have ended."""
        return sum(
            sum(bracket.tuning.counts)
            - sum(map(len, bracket.runs))
            + len(bracket.seeds)
            - len(bracket.replicates)
            for bracket in self._brackets.values()
        )
