"""The questions of PLAN.md, asked of a study's errors.

A member's *worth* for a target is Spearman's correlation of the errors of architectures, freed of
the member's noise by its second seeds. What is published is computed here, without files.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from anynet_study.apr.bootstrap import Resampled
from anynet_study.apr.drivers import partial_correlations
from anynet_study.apr.noise import first_runs, freed, reliabilities
from anynet_study.apr.over_targets import random_average

CENTRE = "cifar10-tenth"
#: Ants-bees is left out: its networks hardly learn it.
TARGETS = ("mnist", "smiles", "face-masks", "blood-cells", "omniglot", "sign-digits")
OF_TWO_CLASSES = ("smiles", "face-masks")
#: The smallest difference of worth that matters.
SMALLEST = 0.1
RESAMPLES = 10_000
LEVEL = 0.95


@dataclass(frozen=True)
class Contrast:
    """A primary question: members whose mean worth is compared with the centre's."""

    factor: str
    name: str
    members: tuple[str, ...]


PRIMARY = (
    Contrast("classes", "2 classes", ("classes-2", "classes-2b")),
    Contrast("classes", "5 classes", ("classes-5",)),
    Contrast("images", "500 images", ("images-500",)),
    Contrast("images", "2,000 images", ("images-2000",)),
    Contrast("images", "50,000 images", ("images-50000",)),
    Contrast("steps", "312 steps", ("steps-312",)),
    Contrast("steps", "4,680 steps", ("steps-4680",)),
)
MEMBERS = ("cifar10", CENTRE, *(name for it in PRIMARY for name in it.members))
PAIRS = [(member, target) for member in MEMBERS for target in TARGETS]
#: By Bonferroni's correction: all seven intervals hold together at `LEVEL`.
FAMILY_LEVEL = 1 - (1 - LEVEL) / len(PRIMARY)
#: By member, a statistic for each target.
Worths = dict[str, Resampled]


@dataclass(frozen=True)
class Data:
    """The errors of the architectures (rows) that have one on every member and target."""

    #: First runs: (architectures, members and targets).
    errors: pd.DataFrame
    #: All runs: architecture, dataset, replicate, error.
    replicates: pd.DataFrame
    #: Of each architecture.
    depth: pd.Series


def data_of(replicates: pd.DataFrame, depth: pd.Series) -> Data:
    """What the questions are asked of. An architecture without some error is in none of them."""
    errors = first_runs(replicates)[[*MEMBERS, *TARGETS]].dropna()
    kept = replicates[replicates["architecture"].isin(errors.index)]
    return Data(errors, kept, depth.loc[errors.index])


def measured(data: Data) -> Worths:
    """Correlations with the targets, not freed of noise."""
    return _by_member(partial_correlations(data.errors, PAIRS, [], resamples=RESAMPLES))


def worths(data: Data) -> Worths:
    """Correlations with the targets, freed of the members' noise."""
    noise = member_reliabilities(data)
    return {member: freed(found, noise[member]) for member, found in measured(data).items()}


def member_reliabilities(data: Data) -> Worths:
    """The correlation of a single run's ranks with those of another run, of each member."""
    return reliabilities(data.replicates, data.errors.index, resamples=RESAMPLES, seed=0)


def at_equal_depth(data: Data) -> Worths:
    """Partial correlations with the targets given the number of blocks, not freed of noise."""
    table = data.errors.assign(depth=data.depth)
    return _by_member(partial_correlations(table, PAIRS, ["depth"], resamples=RESAMPLES))


def _by_member(found: Resampled) -> Worths:
    count = len(TARGETS)
    return {name: found[i * count : (i + 1) * count] for i, name in enumerate(MEMBERS)}


def mean_of(worths: Worths, members: Sequence[str]) -> Resampled:
    """The mean over members, for each target."""
    parts = [worths[name] for name in members]
    return parts[0].combined(lambda *values: np.mean(values, axis=0), *parts[1:])


def difference(contrast: Contrast, worths: Worths) -> Resampled:
    """What members are worth more than the centre, for each target."""
    return mean_of(worths, contrast.members) - worths[CENTRE]


def matters(low: float, high: float) -> str:
    """Whether a difference matters, by its interval."""
    if low > SMALLEST or high < -SMALLEST:
        return "yes"
    return "no" if low > -SMALLEST and high < SMALLEST else "undecided"


def primary(data: Data, worths: Worths) -> pd.DataFrame:
    """The seven contrasts: intervals that hold together, verdicts, and what a new target gives."""
    rows = []
    for contrast in PRIMARY:
        found = difference(contrast, worths)
        row = _row(found.average(), FAMILY_LEVEL)
        random = random_average(found, LEVEL)
        rows.append(
            {
                "factor": contrast.factor,
                "contrast": f"{contrast.name} − centre",
                **row,
                "matters": matters(row["low"], row["high"]),
                **{name: random[name] for name in ("random_low", "random_high")},
                "n": len(data.errors),
            }
        )
    return pd.DataFrame(rows)


def answers(table: pd.DataFrame) -> dict[str, str]:
    """By factor: yes if one of its contrasts says so, no if all do, undecided otherwise."""
    found = {}
    for factor, rows in table.groupby("factor", sort=False):
        said = set(rows["matters"])
        found[str(factor)] = "yes" if "yes" in said else "no" if said == {"no"} else "undecided"
    return found


def interaction(worths: Worths) -> dict[str, float]:
    """Of two classes with targets of two: what paper 1 predicts to be above 0."""
    found = difference(PRIMARY[0], worths)
    two = np.array([target in OF_TWO_CLASSES for target in TARGETS])
    places = np.flatnonzero(two), np.flatnonzero(~two)
    return _row(found[places[0]].average() - found[places[1]].average(), LEVEL)


def images_and_steps(worths: Worths) -> pd.DataFrame:
    """The two-by-two design: ten times the images, five times the steps, and both."""
    names = ("cifar10", "images-50000", "steps-4680", CENTRE)
    both, images, steps, neither = (worths[name].average() for name in names)

    def effect(function: Callable[..., np.ndarray]) -> dict[str, float]:
        return _row(both.combined(function, images, steps, neither), LEVEL)

    effects = {
        "50,000 images in place of 5,000": effect(lambda b, i, s, n: (b + i - s - n) / 2),
        "4,680 steps in place of 936": effect(lambda b, i, s, n: (b + s - i - n) / 2),
        "more of steps with more images": effect(lambda b, i, s, n: b - i - s + n),
    }
    return pd.DataFrame([{"effect": name, **row} for name, row in effects.items()])


def side_by_side(data: Data, worths: Worths) -> pd.DataFrame:
    """The seven contrasts as they are, not freed of noise, and at equal depth."""
    ways = {"freed": worths, "measured": measured(data), "at_equal_depth": at_equal_depth(data)}
    rows = []
    for contrast in PRIMARY:
        row: dict[str, object] = {"contrast": f"{contrast.name} − centre"}
        for name, found in ways.items():
            row |= _row(difference(contrast, found).average(), LEVEL, name)
        rows.append(row)
    return pd.DataFrame(rows)


def by_member(data: Data, worths: Worths) -> pd.DataFrame:
    """Each member's worth, on average over the targets, and the reliability of its ranks."""
    noise = member_reliabilities(data)
    rows = [
        {
            "member": member,
            **_row(worths[member].average(), LEVEL, "worth"),
            **_row(noise[member], LEVEL, "reliability"),
        }
        for member in MEMBERS
    ]
    return pd.DataFrame(rows).assign(n=len(data.errors))


def _row(one: Resampled, level: float, name: str = "estimate") -> dict[str, float]:
    return {column: float(ends[0]) for column, ends in one.columns(level, name).items()}
