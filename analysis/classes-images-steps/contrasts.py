"""The questions of PLAN.md, asked of a study's errors.

A member's *worth* for a target is Spearman's correlation of the errors of architectures, freed of
the member's noise by its second seeds. What is published is computed here, without files.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from anynet_study.analysis.apr.bootstrap import (
    PairSet,
    Resampled,
    resample,
    resample_correlations,
    stacked,
)
from anynet_study.analysis.apr.drivers import partial_correlations
from anynet_study.analysis.apr.noise import first_runs, freed, reliabilities
from anynet_study.analysis.apr.options import Floats, Multiplicities
from anynet_study.analysis.apr.over_targets import random_average
from anynet_study.analysis.apr.simultaneous import can_be_largest

CENTRE = "cifar10-tenth"
#: Shown, and in no average: its networks hardly learn it.
LEFT_OUT = "ants-bees"
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

    @property
    def label(self) -> str:
        """As "2 classes in place of 10"."""
        return f"{self.name} in place of {OF_CENTRE[self.factor]:,}"


FACTORS = ("classes", "images", "steps")
#: What each member has of them.
DESIGN = {
    "cifar10": (10, 50_000, 4_686),
    CENTRE: (10, 5_000, 936),
    "classes-2": (2, 5_000, 936),
    "classes-2b": (2, 5_000, 936),
    "classes-5": (5, 5_000, 936),
    "images-500": (10, 500, 936),
    "images-2000": (10, 2_000, 936),
    "images-50000": (10, 50_000, 936),
    "steps-312": (10, 5_000, 312),
    "steps-4680": (10, 5_000, 4_680),
}
MEMBERS = tuple(DESIGN)
OF_CENTRE = dict(zip(FACTORS, DESIGN[CENTRE], strict=True))
PRIMARY = (
    Contrast("classes", "2 classes", ("classes-2", "classes-2b")),
    Contrast("classes", "5 classes", ("classes-5",)),
    Contrast("images", "500 images", ("images-500",)),
    Contrast("images", "2,000 images", ("images-2000",)),
    Contrast("images", "50,000 images", ("images-50000",)),
    Contrast("steps", "312 steps", ("steps-312",)),
    Contrast("steps", "4,680 steps", ("steps-4680",)),
)
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
    errors = first_runs(replicates)[[*MEMBERS, *TARGETS, LEFT_OUT]]
    errors = errors.dropna(subset=[*MEMBERS, *TARGETS])
    kept = replicates[replicates["architecture"].isin(errors.index)]
    return Data(errors, kept, depth.loc[errors.index])


def measured(data: Data, targets: Sequence[str] = TARGETS, given: Sequence[str] = ()) -> Worths:
    """Correlations with the targets, not freed of noise; given "depth", partial ones."""
    table = data.errors.assign(depth=data.depth)
    pairs = [(member, target) for member in MEMBERS for target in targets]
    return _by_member(partial_correlations(table, pairs, given, resamples=RESAMPLES))


def worths(data: Data, targets: Sequence[str] = TARGETS) -> Worths:
    """Correlations with the targets, freed of the members' noise."""
    noise = member_reliabilities(data)
    found = measured(data, targets)
    return {member: freed(found[member], noise[member]) for member in MEMBERS}


def member_reliabilities(data: Data) -> Worths:
    """The correlation of a single run's ranks with those of another run, of each member."""
    return reliabilities(data.replicates, data.errors.index, resamples=RESAMPLES, seed=0)


def _by_member(found: Resampled) -> Worths:
    count = len(found.estimate) // len(MEMBERS)
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
                "contrast": contrast.label,
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
    return _row(found[places[0]].average() - found[places[1]].average(), LEVEL, "difference")


def images_and_steps(worths: Worths) -> pd.DataFrame:
    """The two-by-two design: ten times the images, five times the steps, and both.

    The last row is exploratory: the plan has the others.
    """
    names = ("cifar10", "images-50000", "steps-4680", CENTRE)
    both, images, steps, neither = (worths[name].average() for name in names)

    def effect(function: Callable[..., np.ndarray]) -> dict[str, float]:
        return _row(both.combined(function, images, steps, neither), LEVEL)

    effects = {
        "50,000 images in place of 5,000": effect(lambda b, i, s, n: (b + i - s - n) / 2),
        "4,680 steps in place of 936": effect(lambda b, i, s, n: (b + s - i - n) / 2),
        "more of steps with more images": effect(lambda b, i, s, n: b - i - s + n),
        "4,680 steps in place of 936, with 50,000 images": effect(lambda b, i, s, n: b - i),
    }
    return pd.DataFrame([{"effect": name, **row} for name, row in effects.items()])


def side_by_side(data: Data, worths: Worths) -> pd.DataFrame:
    """The seven contrasts as they are, not freed of noise, and at equal depth."""
    ways = {
        "freed": worths,
        "measured": measured(data),
        "at_equal_depth": measured(data, given=["depth"]),
    }
    rows = []
    for contrast in PRIMARY:
        row: dict[str, object] = {"contrast": contrast.label}
        for name, found in ways.items():
            row |= _row(difference(contrast, found).average(), LEVEL, name)
        rows.append(row)
    return pd.DataFrame(rows)


def by_member(data: Data, worths: Worths) -> pd.DataFrame:
    """Each member's worth, on average over the targets, and the reliability of its ranks."""
    noise, plain = member_reliabilities(data), measured(data)
    rows = [
        {
            "member": member,
            **dict(zip(FACTORS, DESIGN[member], strict=True)),
            **_row(worths[member].average(), LEVEL, "worth"),
            **_row(plain[member].average(), LEVEL, "measured"),
            **_row(noise[member], LEVEL, "reliability"),
        }
        for member in MEMBERS
    ]
    return pd.DataFrame(rows).assign(n=len(data.errors))


def by_target(data: Data) -> pd.DataFrame:
    """Each member's worth for each target, and for the one that is left out."""
    targets = [*TARGETS, LEFT_OUT]
    rows = [
        pd.DataFrame({"target": targets, "member": member, **found.columns(LEVEL, "worth")})
        for member, found in worths(data, targets).items()
    ]
    return pd.concat(rows, ignore_index=True)


def best_members(worths: Worths) -> dict[str, list[str]]:
    """By target, and on average over them: the members that can be the best, the best first.

    A confidence set: it holds the truly best with a probability of `LEVEL`.
    """
    found = {}
    for place, target in enumerate((*TARGETS, "average")):
        one = slice(place, place + 1)
        each = stacked([it.average() if target == "average" else it[one] for it in worths.values()])
        held = can_be_largest(each, LEVEL)
        order = np.argsort(-each.estimate, kind="stable")
        found[target] = [MEMBERS[index] for index in order if held[index]]
    return found


def best_quarter(data: Data) -> pd.DataFrame:
    """Of the quarter of architectures that err least on a target, on average over the targets.

    DataFrame[member, correlation, shared, architectures], with intervals: the correlation of the
    errors on member and target among them, not freed of noise, and the share of them that is in the
    member's best quarter; a quarter by chance. Intervals are for these architectures as the best:
    who is among them is not resampled.
    """
    errors = data.errors.drop(columns=LEFT_OUT)
    values, place = errors.to_numpy(), {name: index for index, name in enumerate(errors)}
    quarter = math.ceil(len(values) / 4)
    best = np.zeros(values.T.shape, dtype=bool)  # (datasets, architectures)
    order = np.argsort(values, axis=0, kind="stable")[:quarter].T
    np.put_along_axis(best, order, values=True, axis=1)
    pairs = np.array([(place[m], place[t]) for m in MEMBERS for t in TARGETS])
    of_target, in_both = best[pairs[:, 1]], best[pairs].all(axis=1)

    def shares(counts: Multiplicities) -> Floats:
        return np.asarray((counts @ in_both.T) / np.maximum(counts @ of_target.T, 1), float)

    ranks = resample_correlations(values, PairSet(pairs, of_target), "spearman", RESAMPLES, 0)
    overlap = resample(shares, len(values), RESAMPLES, 0)
    rows = [
        {
            "member": member,
            **_row(correlation.average(), LEVEL, "correlation"),
            **_row(share.average(), LEVEL, "shared"),
        }
        for (member, correlation), share in zip(
            _by_member(ranks).items(), _by_member(overlap).values(), strict=True
        )
    ]
    return pd.DataFrame(rows).assign(architectures=quarter)


def _row(one: Resampled, level: float, name: str = "estimate") -> dict[str, float]:
    return {column: float(ends[0]) for column, ends in one.columns(level, name).items()}
