"""Worlds: generators of studies of which it is known what is true, to measure sentences by.

An analysis registers beside each kind of claim that it says the worlds in which that is measured
(`Analysis.says`): at least one in which the claim is false, and one that lies at its threshold.
A world draws the inputs of a study, which is then analysed, and says what it says, as any other
(`said_of`). It varies along shared axes (`Setting`). `python -m benchmarks.sentences` walks all.

Errors come from a normal quality of each architecture, by a change of scale that keeps their order
where the shape is "skewed"; other shapes change what is true, which is then found from a very
large population.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, partial
from typing import Any, Literal, get_args

import numpy as np
import pandas as pd
from scipy import optimize, stats

from anynet_study.analysis.analysis import Analysis, Options
from anynet_study.analysis.apr import Roles
from anynet_study.analysis.apr.options import Floats
from anynet_study.analysis.claims import Claim, Interval, Kind, Said
from anynet_study.analysis.study import Inputs, Study

Draw = np.random.Generator
Shape = Literal["normal", "skewed", "fanning", "guessing", "diverged"]
#: What a world is to a claim: it is false there, true but by a hair, or plainly true, so that the
#: share of right answers is measured.
Role = Literal["false", "threshold", "true"]
#: Resamples of a simulated study: fewer than a real one has, which moves no end by much; of more
#: questions than `FEW_ASKED` together ends lie so far out that they take as many as the second.
RESAMPLES, OF_MANY, FEW_ASKED = 400, 2_000, 8
#: Architectures of which the truth of a shape is computed.
MANY = 200_000
SOURCE = "source"
#: The mean error, and the standard deviation of errors, of normal shape, in percent.
MIDDLE, SPREAD = 40.0, 4.0
#: Of architectures that err like none of the others: their share, and standard deviations above.
RARE: dict[Shape, tuple[float, float]] = {"guessing": (0.02, 8.0), "diverged": (0.03, 12.0)}


@dataclass(frozen=True)
class Setting:
    """A place on the axes along which worlds vary."""

    #: Architectures, and targets (or what else is asked together).
    n: int = 100
    targets: int = 7
    shape: Shape = "normal"
    #: Reliability of a single run, of normal errors; 1: no noise of training.
    icc: float = 1.0
    #: How many architectures are trained twice on every dataset.
    twice: int = 0
    #: Test images; 0: their number is not known.
    images: int = 0
    #: Whether strata were drawn with unequal probability.
    weights: bool = False

    def __str__(self) -> str:
        told = [f"n {self.n}", f"{self.targets} asked", self.shape]
        told += [f"ICC {self.icc:g}, {self.twice} twice"] * (self.icc < 1)
        told += [f"{self.images:,} images"] * bool(self.images) + ["weights"] * self.weights
        return ", ".join(told)


@dataclass(frozen=True)
class World:
    """Studies with a known truth, for one kind of claim."""

    #: What is true in them.
    name: str
    role: Role
    #: The inputs of a study.
    draw: Callable[[Draw, Setting], Inputs] = field(repr=False)
    #: Whether a claim is true of the inputs that were drawn; of an undecided one nobody asks.
    true: Callable[[Claim, Inputs], bool] = field(repr=False)
    over: tuple[Setting, ...] = (Setting(),)
    #: Who says it, where that is not the analysis, or needs no more than a part of its table.
    say: Callable[[Study], Said] | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        assert self.role in get_args(Role), self.role


@dataclass(frozen=True)
class Told:
    """Numbers of claims, decided ones and wrong ones of a kind in one simulated study."""

    claims: int
    decided: int
    wrong: int


def said_of(
    analyses: Mapping[str, Analysis[Any]],
    name: str,
    kind: Kind,
    world: World,
    setting: Setting,
    seed: int,
) -> Told:
    """Draw a study, have an analysis say its claims, and judge those of the kind."""
    inputs = world.draw(np.random.default_rng([seed, 53]), setting)
    resamples = RESAMPLES if setting.targets <= FEW_ASKED else OF_MANY
    options = Options(resamples=resamples, seed=seed)
    said = claims_of(analyses, name, inputs, options, world.say)
    claims = [it for it in said if it.kind.name == kind.name]
    decided = [it for it in claims if it.answer not in ("undecided", "unknown")]
    wrong = sum(not world.true(claim, inputs) for claim in decided)
    return Told(len(claims), len(decided), wrong)


def claims_of(
    analyses: Mapping[str, Analysis[Any]],
    name: str,
    inputs: Inputs,
    options: Options,
    say: Callable[[Study], Said] | None = None,
) -> list[Claim]:
    """All claims of an analysis, or of who says them, on one study; none without its table."""
    study = Study("simulated", inputs, options, analyses)
    said: Said = []
    if say is not None:
        said = say(study)
    elif (saying := analyses[name].say) and (table := study.get(name)) is not None:
        said = saying(study, table)
    return [it for it in said if isinstance(it, Claim)]


def settings(**axes: Sequence[Any]) -> tuple[Setting, ...]:
    """The default setting, and those that differ from it along one axis each.

    >>> [str(it) for it in settings(n=(100, 30), shape=("normal", "skewed"))]
    ['n 100, 7 asked, normal', 'n 30, 7 asked, normal', 'n 100, 7 asked, skewed']
    """
    base = Setting(**{name: values[0] for name, values in axes.items()})
    one_off = [replace(base, **{k: v}) for k, values in axes.items() for v in values[1:]]
    return (base, *one_off)


#: The axes of what rests on errors alone.
SIZES, TARGETS = (100, 12, 30, 300), (7, 1, 2, 20)
SHAPES: tuple[Shape, ...] = ("normal", "skewed", "fanning", "guessing", "diverged")
OF_ERRORS = settings(n=SIZES, targets=TARGETS, shape=SHAPES, weights=(False, True))


def answers(*right: str) -> Callable[[Claim, Inputs], bool]:
    """Claims with one of these answers are true."""
    return lambda claim, _: claim.answer in right


def holds(value: float) -> Callable[[Claim, Inputs], bool]:
    """The interval of a claim holds a value."""
    return lambda claim, _: (
        isinstance(claim.evidence, Interval) and claim.evidence.low <= value <= claim.evidence.high
    )


def shaped(quality: Floats, own: Floats, r: float, shape: Shape, draw: Draw) -> Floats:
    """(n, t) errors on t datasets that correlate by about r with `quality` (n, 1), in percent."""
    n = len(quality)
    if shape == "fanning":
        # The worse an architecture, the less its error elsewhere follows from it.
        spread = np.exp(0.6 * quality)
        values = r * quality + np.sqrt(1 - r**2) * own * spread
    else:
        values = r * quality + np.sqrt(1 - r**2) * own
    if shape == "skewed":
        values = np.exp(0.8 * values) * 3
    if shape in RARE:
        share, up = RARE[shape]
        values = np.where(draw.random((n, own.shape[1])) < share, up + values / 10, values)
    errors: Floats = MIDDLE + SPREAD * values
    return errors


def median_of(shape: Shape) -> float:
    """The median of `shaped` errors, in percent."""
    share, _ = RARE.get(shape, (0.0, 0.0))
    value = float(stats.norm.ppf(0.5 / (1 - share)))
    return MIDDLE + SPREAD * (3 * np.exp(0.8 * value) if shape == "skewed" else value)


@cache
def r_for(rho: float, shape: Shape) -> float:
    """The r with which `shaped` errors have Spearman's rho in the population."""
    if shape in ("normal", "skewed"):
        return float(2 * np.sin(np.pi * rho / 6))
    off = partial(_off, shape=shape, rho=rho)
    return float(optimize.brentq(lambda r: off(r, 0.0), -0.999, 0.999, xtol=1e-4))


@cache
def noise_for(rho: float, lower: float, shape: Shape) -> float:
    """The noise which, added to a normal quality, lowers Spearman's rho to `lower` from `rho`."""
    if shape in ("normal", "skewed"):
        return float(np.sqrt((r_for(rho, shape) / r_for(lower, shape)) ** 2 - 1))
    off = partial(_off, r_for(rho, shape), shape=shape, rho=lower)
    return float(optimize.brentq(off, 0.0, 10.0, xtol=1e-4))


def _off(r: float, noise: float, shape: Shape, rho: float) -> float:
    """By how much Spearman's rho of a noisy quality and `shaped` errors is above `rho`."""
    draw = np.random.default_rng(0)
    quality, own, added = draw.normal(size=(3, MANY, 1))
    values = shaped(quality, own, r, shape, draw)
    return float(stats.spearmanr((quality + noise * added)[:, 0], values[:, 0]).statistic) - rho


def correlated(rhos: Sequence[float], setting: Setting, draw: Draw, alike: float = 0.5) -> Inputs:
    """A source and targets whose errors without noise have Spearman's rho with it.

    Targets share the part `alike` of what the source does not explain. Single runs are noisy by
    the setting's ICC, and its first architectures have a second run on every dataset.
    """
    n, count = setting.n, len(rhos)
    quality, common = draw.normal(size=(2, n, 1))
    weights = None
    if setting.weights:
        quality, weights = of_strata(n, draw)
    own = np.sqrt(alike) * common + np.sqrt(1 - alike) * draw.normal(size=(n, count))
    columns = [
        shaped(quality, own[:, [at]], r_for(rho, setting.shape), setting.shape, draw)[:, 0]
        for at, rho in enumerate(rhos)
    ]
    true = np.column_stack([shaped(quality, 0 * quality, 1.0, "normal", draw)[:, 0], *columns])
    names = [SOURCE, *(f"t{at}" for at in range(count))]
    return with_runs(pd.DataFrame(true, columns=names), setting, draw, weights)


def of_strata(n: int, draw: Draw) -> tuple[Floats, Floats]:
    """A normal quality (n, 1) and weights (n,), good ones being drawn eight times as often."""
    keep = draw.random(20 * n) < np.where((many := draw.normal(size=20 * n)) < -0.5, 0.8, 0.1)
    quality = many[keep][:n, None]
    return quality, np.where(quality[:, 0] < -0.5, 1.0, 8.0)


def known_weights(weights: Floats | None) -> pd.DataFrame | None:
    """Return what is known of architectures that have weights; None where they have none."""
    if weights is None:
        return None
    return pd.DataFrame({"architecture": range(len(weights)), "weight": weights})


def with_runs(
    true: pd.DataFrame, setting: Setting, draw: Draw, weights: Any = None, **more: Any
) -> Inputs:
    """Inputs of a study: runs about true errors, the first column being the source."""
    n, icc = len(true), setting.icc
    noise = true.to_numpy().std(axis=0) * np.sqrt(1 / icc - 1)
    if setting.shape in ("skewed", "guessing", "diverged") and icc < 1:
        middle = np.diff(np.quantile(true.to_numpy(), [0.16, 0.84], axis=0), axis=0) / 2
        noise = middle[0] * np.sqrt(1 / icc - 1)
    runs = true.to_numpy() + noise * draw.normal(size=(2, n, true.shape[1]))
    if setting.images:
        share = np.clip(runs / 100, 0, 1)
        runs = 100 * draw.binomial(setting.images, share) / setting.images
    errors = pd.DataFrame(runs[0], true.index, true.columns)
    parts = [errors, pd.DataFrame(runs[1], true.index, true.columns).iloc[: setting.twice]]
    long = None
    if setting.twice:
        long = pd.concat([_long(part, number) for number, part in enumerate(parts)])
    roles = Roles.among(str(true.columns[0]), [str(name) for name in true], {})
    return Inputs(
        errors=errors,
        roles=more.pop("roles", roles),
        replicates=long,
        architectures=known_weights(weights),
        **more,
    )


def _long(runs: pd.DataFrame, replicate: int) -> pd.DataFrame:
    names, architectures = list(runs.columns), list(runs.index)
    columns = {"architecture": architectures * len(names), "replicate": replicate}
    columns["dataset"] = np.repeat(names, len(runs))
    return pd.DataFrame(columns | {"error": runs.to_numpy().T.ravel()})
