"""Tuning: one space of settings, and one budget of trials, for every architecture and dataset.

The settings that are tried are a pure function of the sweep file. No result of a training changes
them: they are the same for all architectures and datasets.
"""

import json
import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import count, product
from typing import Annotated, Any, Literal, Self, get_args

from pydantic import Field, field_validator, model_validator

from anynet_study.data import seeded_uniform
from anynet_study.engine.sweep.text import Strict, legal_keys
from anynet_study.engine.training import Recipe

#: Name of the evaluation whose errors decide between trials.
VALIDATION = "validation"
#: Keys for the length of a run: halving sets it itself.
LENGTHS = ("epochs", "steps")
#: Keys in epochs that are shortened in proportion to the run.
WITHIN = ("warmup_epochs", "restart_epochs")
#: Significant digits of a drawn number: the last bits of a logarithm depend on the machine.
DIGITS = 4
#: A space is taken to have no more settings after this many draws in a row that repeat earlier ones
#: (parts of a space may have settings in common).
MOST_REPEATED = 10_000
#: The most settings that are tried.
MOST_TRIALS = 10_000
RANGE = re.compile(r"(uniform|loguniform)\(\s*([^\s,()]+)\s*,\s*([^\s,()]+)\s*\)")

Part = dict[str, str | list[Any]]
Settings = dict[str, Any]


@dataclass(frozen=True)
class Range:
    """An interval from which a number is drawn, evenly or evenly in logarithms."""

    low: float
    high: float
    logarithmic: bool

    @classmethod
    def of(cls, text: str) -> Self:
        """Read `uniform(LOW, HIGH)` or `loguniform(LOW, HIGH)`. ValueError says what is wrong."""
        found = RANGE.fullmatch(text.strip())
        try:
            ends = [float(end) for end in found.groups()[1:]] if found else []
        except ValueError:
            ends = []
        if found is None or not all(map(math.isfinite, ends)) or not ends:
            raise ValueError(
                f"{text!r}: legal: a list of values, uniform(LOW, HIGH), loguniform(LOW, HIGH)"
            )
        low, high = ends
        logarithmic = found[1] == "loguniform"
        if low >= high:
            raise ValueError(f"{text!r} is empty: the lower end comes first")
        if logarithmic and low <= 0:
            raise ValueError(f"{text!r}: logarithms need ends above 0")
        return cls(low, high, logarithmic)

    def at(self, share: float) -> float:
        """The quantile at `share` (0 to 1) of the draws, rounded to DIGITS significant digits."""
        if self.logarithmic:
            drawn = self.low * (self.high / self.low) ** share
        else:
            drawn = self.low + (self.high - self.low) * share
        return min(max(float(f"{drawn:.{DIGITS}g}"), self.low), self.high)

    def within(self, other: "Range") -> bool:
        """Tell whether `other` contains this interval and draws by the same law."""
        alike = self.logarithmic == other.logarithmic
        return alike and other.low <= self.low and self.high <= other.high


class Tuning(Strict):
    """The settings that are tried, and how one is chosen for each architecture and dataset."""

    #: The values that are tried for each key of the recipe: a list of values, `uniform(LOW, HIGH)`
    #: or `loguniform(LOW, HIGH)`. A list of such mappings makes a space of several parts: a grid
    #: has the settings of all parts, and draws are made from each part in turn.
    space: Part | Annotated[list[Part], Field(min_length=1)]
    #: How many settings are tried for each architecture on each dataset. A grid tries all.
    trials: int | None = Field(None, ge=1, le=MOST_TRIALS)
    #: `random` draws settings. `grid` tries all combinations. `halving` draws settings and trains
    #: them in rungs, first for a short time: one of every `reduction` trials, the best ones,
    #: continues to the next rung, where runs are `reduction` times longer, up to the full length
    #: (synchronous successive halving; `asha` means the same).
    scheduler: Literal["random", "grid", "halving", "asha"] = "random"
    #: With `halving`: each rung has this many times fewer trials than the rung before, and runs
    #: that are this many times longer.
    reduction: int = Field(4, ge=2)
    #: Seed of the draws. More trials with the same seed begin with the same settings.
    seed: int = Field(0, ge=0)
    #: The images on which trials are compared: validation images, which are held out of training,
    #: and never test images.
    on: Literal["validation"] = "validation"

    @field_validator("scheduler")
    @classmethod
    def _in_step(cls, name: str) -> str:
        return "halving" if name == "asha" else name

    @property
    def parts(self) -> list[Part]:
        """The parts of the space."""
        return self.space if isinstance(self.space, list) else [self.space]

    @property
    def size(self) -> float:
        """Return how many settings there are; infinite where numbers are drawn from a range."""
        return sum(
            math.prod(len(it) if isinstance(it, list) else math.inf for it in part.values())
            for part in self.parts
        )

    @model_validator(mode="after")
    def _legal(self) -> Self:
        for part in self.parts:
            if not part:
                raise ValueError("space: it has no key; legal: keys of the recipe, such as lr")
            for key, values in part.items():
                self._check_key(key, values)
        if self.scheduler == "grid":
            if self.size > MOST_TRIALS:
                raise ValueError(f"space: a grid of {self.size:g} settings; legal: {MOST_TRIALS:,}")
            if self.trials not in (None, self.size):
                raise ValueError(
                    f"trials: {self.trials}, but the grid has {self.size:g}: leave it out"
                )
        elif self.trials is None:
            raise ValueError("trials: how many settings are tried must be said")
        elif self.trials > self.size:
            raise ValueError(f"trials: {self.trials}, but the space has {self.size:g} settings")
        if self.scheduler == "halving" and len(self.counts) == 1:
            raise ValueError(
                f"trials: {self.trials} are too few to keep one of {self.reduction} of them"
            )
        _ = self.settings
        return self

    def _check_key(self, key: str, values: str | list[Any]) -> None:
        where = f"space.{key}"
        legal = [name for name in Recipe.model_fields if name != "metric"]
        if key == "metric":
            raise ValueError(f"{where}: errors on several metrics cannot be compared")
        if key not in legal:
            raise ValueError(f"unknown key `{where}`{legal_keys(key, legal)}")
        if self.scheduler == "halving" and key in LENGTHS:
            raise ValueError(f"{where}: with halving, rungs have their own lengths")
        if isinstance(values, list):
            if not values:
                raise ValueError(f"{where} is empty: it needs at least one value")
            if len({as_text(value) for value in values}) < len(values):
                raise ValueError(f"{where}: the same value twice")
            return
        try:
            Range.of(values)
        except ValueError as error:
            raise ValueError(f"{where} = {error}") from None
        if self.scheduler == "grid":
            raise ValueError(f"{where} = {values!r}: a grid needs lists of values")
        if not _kinds(key) & {int, float}:
            raise ValueError(
                f"{where} = {values!r}: {key} is not a number; legal: a list of values"
            )

    @cached_property
    def settings(self) -> list[Settings]:
        """The values of the tuned keys, for each trial.

        Raises ValueError if the space has fewer settings than `trials`.
        """
        if self.scheduler == "grid":
            return [
                dict(zip(part, values, strict=True))
                for part in self.parts
                for values in product(*part.values())
            ]
        found: dict[str, Settings] = {}
        repeated = 0
        for number in count():
            if len(found) == self.trials:
                break
            drawn = self._draw(number)
            repeated = repeated + 1 if as_text(drawn) in found else 0
            if repeated > MOST_REPEATED:
                raise ValueError(f"trials: {self.trials}, but the space has {len(found)} settings")
            found.setdefault(as_text(drawn), drawn)
        return list(found.values())

    def _draw(self, number: int) -> Settings:
        """Draw number `number`; every key is drawn independently of the others."""
        part = self.parts[number % len(self.parts)]
        drawn: Settings = {}
        for key, values in part.items():
            share = float(seeded_uniform((1,), "tuning", self.seed, number, key)[0])
            if isinstance(values, list):
                drawn[key] = values[int(share * len(values))]
            else:
                value = Range.of(values).at(share)
                drawn[key] = value if float in _kinds(key) else round(value)
        return drawn

    @cached_property
    def counts(self) -> list[int]:
        """Trials of each rung, from the shortest runs on. Only halving has several rungs."""
        counts = [self.trials or len(self.settings)]
        while self.scheduler == "halving" and (fewer := counts[0] // self.reduction ** len(counts)):
            counts.append(fewer)
        return counts

    def share(self, rung: int) -> Fraction:
        """Length of a rung's runs as a share of the full length."""
        return Fraction(1, self.reduction ** (len(self.counts) - 1 - rung))

    def widens(self, other: "Tuning") -> bool:
        """Tell whether this space contains the other's, and trials are chosen in the same way."""
        same = ("scheduler", "reduction", "seed", "on")
        return (
            all(getattr(self, name) == getattr(other, name) for name in same)
            and self.counts[0] >= other.counts[0]
            and all(any(_within(part, wider) for wider in self.parts) for part in other.parts)
        )


def name_of(recipe: str, tuning: Tuning, number: int, rung: int) -> str:
    """Name of a trial in records: `tuned/07`, or `tuned/07.1` if there are several rungs."""
    trial = f"{number:0{len(str(tuning.counts[0] - 1))}}"
    return f"{recipe}/{trial}.{rung}" if len(tuning.counts) > 1 else f"{recipe}/{trial}"


def stated(name: str) -> str:
    """Name in the sweep of a recipe, or of the tuned recipe of which this is a trial."""
    return name.partition("/")[0]


def shortened(keys: Mapping[str, Any], share: Fraction) -> dict[str, Any]:
    """Multiply a recipe's lengths by `share`; round up to whole epochs or steps."""
    lengths = {name: math.ceil(keys[name] * share) for name in LENGTHS if keys.get(name)}
    return {
        **keys,
        **lengths,
        **{name: float(keys[name] * share) for name in WITHIN if keys.get(name)},
    }


def check_rungs(tuning: Tuning, keys: Mapping[str, Any]) -> None:
    """Raise ValueError if two rungs of a recipe would have the same length."""
    for name in LENGTHS:
        rungs = range(len(tuning.counts))
        found = [shortened(keys, tuning.share(rung)).get(name) for rung in rungs]
        if found[-1] and len(set(found)) < len(found):
            listed = ", ".join(map(str, found))
            raise ValueError(f"{name}: {found[-1]} are too few: the rungs would have {listed}")


def as_text(value: Any) -> str:
    """Return a text that is equal for equal settings."""
    return json.dumps(value, sort_keys=True, default=str)


def _within(part: Part, wider: Part) -> bool:
    """Tell whether `wider` contains every setting of this part of a space."""
    if part.keys() != wider.keys():
        return False
    pairs: Iterator[tuple[Any, Any]] = ((part[key], wider[key]) for key in part)
    return all(
        {as_text(value) for value in mine} <= {as_text(value) for value in theirs}
        if isinstance(mine, list) and isinstance(theirs, list)
        else isinstance(mine, str)
        and isinstance(theirs, str)
        and Range.of(mine).within(Range.of(theirs))
        for mine, theirs in pairs
    )


def _kinds(key: str) -> set[Any]:
    """The types of a recipe's key."""
    annotation = Recipe.model_fields[key].annotation
    return {annotation, *get_args(annotation)}
