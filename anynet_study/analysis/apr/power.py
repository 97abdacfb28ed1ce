"""Simulate how often a planned study would find what is there: the power of its verdicts.

Fisher's z tells how wide an interval will be, but not what a study of 14 architectures would
conclude: the intervals behind verdicts are bootstrap intervals that hold together for a family. So
studies are simulated, and judged exactly as real ones are.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np
import pandas as pd
from scipy.special import expit, stdtrit

from anynet_study.analysis.apr.bootstrap import Resampled, pairwise, resample_correlations
from anynet_study.analysis.apr.error_tables import FEWEST
from anynet_study.analysis.apr.noise import free_of_noise
from anynet_study.analysis.apr.options import Floats, Method, check_choice, with_attrs
from anynet_study.analysis.apr.rank_preservation import ordered_pairs, share_of_pairs
from anynet_study.analysis.apr.robustness import effective_robustness
from anynet_study.analysis.apr.simultaneous import bonferroni, can_be_largest, simultaneous
from anynet_study.analysis.apr.verdicts import (
    SMALLEST_CORRELATION,
    SMALLEST_DIFFERENCE,
    Verdicts,
    is_best,
    is_preserved,
    verdict,
)
from anynet_study.core.errors import DoesNotApplyError, UserError
from anynet_study.core.metrics import check_level

COLUMNS = ["question", "rho", "others", "icc", "n", "yes", "no", "undecided", "se", "studies"]
CARRIES_OVER, IS_BEST, IS_RAISED = "carries over", "is the best", "is raised"
ORDER_HOLDS, IS_ROBUST = "order holds", "is robust"
#: Resamples of a simulated study. Fewer than a real one has, which moves no end by much.
RESAMPLES = 1_000
#: Architectures times datasets times studies of a row, and the fewest and most studies.
CELLS, FEWEST_STUDIES, MOST_STUDIES = 50_000, 25, 200
#: On the logit scale: mean and standard deviation of simulated models' accuracies on their own test
#: images (half are between 66% and 79%), and how much lower those on further ones are.
OWN_MEAN, OWN_STD, LOWER = 1.0, 0.5, 1.0


@dataclass(frozen=True)
class Plan:
    """The plan of a study: all that its power depends on, beside what is true."""

    #: Architectures; targets, and members of the source's family, the source included.
    n: int
    targets: int = 1
    proxies: int = 1
    #: Further test sets of shifted images.
    shifts: int = 1
    #: Runs of each architecture on each dataset, whose mean is its error.
    runs: int = 1
    #: Runs on each dataset beyond the first of their architecture. They tell the noise, so that
    #: "no" allows for it, and how far the interval of a single error reaches.
    replicates: int = 0
    method: Method = "spearman"
    level: float = 0.95

    def __post_init__(self) -> None:
        check_level(self.level)
        check_choice("method", self.method, Method)
        if self.method == "kendall":
            raise UserError("method: kendall has no power here; legal: spearman, pearson")
        for name in ("targets", "proxies", "shifts", "runs"):
            if getattr(self, name) < 1:
                raise UserError(f"{name}: {getattr(self, name)}; legal: 1, 2, ...")
        if self.n < FEWEST:
            raise UserError(f"n: {self.n} architectures; {FEWEST} are needed")
        if self.replicates < 0:
            raise UserError(f"replicates: {self.replicates}; legal: 0, 1, ...")


def power(
    plan: Plan,
    rhos: Sequence[float] = (0.0, 0.5, 0.7, 0.9),
    iccs: Sequence[float] = (1.0,),
    ahead: float = 0.1,
    studies: int | None = None,
    seed: int = 0,
) -> pd.DataFrame:
    """Shares of simulated studies that conclude "yes", "no" and "undecided", by what is true.

    Returns DataFrame[question, rho, others, icc, n, yes, no, undecided, se, studies]; shares are 0
    to 1, and `se` is the largest of their standard errors. "carries over": all targets correlate by
    `rho` with the source; the share is that of the targets, whose verdicts hold together as those
    of `match_family` do. "is the best", where the plan has several proxies: the best correlates by
    `rho` with a target and each of the `others` by `ahead` less (where that is 0 or more); the
    verdict is that of `best_proxies` on the best. "is raised", there too: a family member
    correlates by `rho` with each target, and the source, a noisier copy of it, by `ahead` less; the
    verdict is on the average difference of `match_family`, at least `SMALLEST_DIFFERENCE`. "order
    holds", where the plan has replicates: of the targets, as `rank_preservation` has it with pooled
    noise.

    rho is the correlation without the noise of training, and `icc` what `noise_ceiling` calls the
    ICC of a single run, the same on every dataset (1: no noise). Errors are normal, or normal after
    a monotone change of scale with "spearman". Targets have nothing in common but the source, and
    proxies nothing but the target: were they more alike, a study would find more. By default as
    many `studies` as take seconds. Raises UserError for a rho outside -1 to 1, an ICC that is not
    above 0 and at most 1, and studies below 2.

    >>> table = power(Plan(n=30, targets=7), rhos=(0.0, 0.9), studies=50)
    >>> table[["question", "rho", "icc", "n", "yes", "no"]].round(1)
           question  rho  icc   n  yes   no
    0  carries over  0.0  1.0  30  0.0  0.1
    1  carries over  0.9  1.0  30  1.0  0.0
    """
    for name, values, lowest in (("rho", rhos, -1), ("icc", iccs, 0)):
        for value in values:
            if not (lowest <= value <= 1) or (name == "icc" and value == 0):
                legal = "-1 to 1" if name == "rho" else "above 0, at most 1"
                raise UserError(f"{name}: {value:g}; legal: {legal}")
    if not 0 < ahead <= 1 or (studies is not None and studies < 2) or seed < 0:
        raise UserError("ahead: above 0, at most 1; studies: at least 2; seed: 0, 1, 2, ...")
    rows = []
    family = plan.proxies > 1
    asked = {CARRIES_OVER: True, IS_BEST: family, IS_RAISED: family, ORDER_HOLDS: plan.replicates}
    for question in (question for question, answered in asked.items() if answered):
        for icc, rho in product(iccs, rhos):
            others = rho - ahead if question in (IS_BEST, IS_RAISED) else np.nan
            if others < 0:
                continue
            r = _true(plan, question, rho, others)
            count = studies or _studies(plan, len(r))
            said = _said(plan, question, r, icc, count, seed)
            rows.append((question, rho, others, icc, plan.n, *_shares(said), count))
    return with_attrs(pd.DataFrame(rows, columns=COLUMNS), plan.level, plan.method)


def robust_power(
    plan: Plan,
    images: tuple[int, int],
    effects: Sequence[float] = (2.0, 5.0),
    scatter: float = 1.0,
    studies: int | None = None,
    seed: int = 0,
) -> pd.DataFrame:
    """Simulate "robust", by a model's true effective robustness (`effects`, points of accuracy).

    `images` are the numbers of test images, of the own test set and of each of the plan's `shifts`.
    Returns DataFrame[question, effect, scatter, n, yes, no, undecided, se, studies]: the shares are
    those of the shifts in verdicts of `effective_robustness` on one model in the middle of n, all
    of which make up the line. The others lie off it by normal errors of `scatter` points, and their
    own accuracies are normal on the logit scale (`OWN_MEAN`, `OWN_STD`), on which the line has a
    slope of 1 and lies `LOWER`. Raises UserError for numbers of images below 1, a scatter below 0,
    effects beyond -40 to 40 points, and studies below 2.
    """
    within = all(abs(effect) <= 40 for effect in effects)
    if min(images) < 1 or not scatter >= 0 or not within or (studies or 2) < 2:
        legal = "images: at least 1; scatter: at least 0; effects: -40 to 40; studies: at least 2"
        raise UserError(legal)
    count, rows = studies or _studies(plan, plan.shifts), []
    sizes = dict.fromkeys((f"shift {number}" for number in range(plan.shifts)), images[1])
    for effect in effects:
        draw, said = np.random.default_rng([seed, plan.n, plan.shifts]), []
        for _ in range(count):
            own = OWN_MEAN + OWN_STD * draw.normal(size=(plan.n, 1))
            off = scatter * draw.normal(size=(plan.n, plan.shifts))
            own[0], off[0] = OWN_MEAN, effect
            there = np.clip(expit(own - LOWER) + off / 100, 0, 1)
            right = draw.binomial([images[0], *sizes.values()], np.hstack([expit(own), there]))
            table = pd.DataFrame(right, columns=["own", *sizes]) * 100
            table /= [images[0], *sizes.values()]
            known = {"own": images[0], **sizes}
            try:
                found = effective_robustness(table, "own", images=known, level=plan.level)
                said.append(found.loc[found["architecture"] == 0, "robust"].to_numpy())
            except DoesNotApplyError:  # of a few images there may be no line, and then no answer
                said.append(np.full(plan.shifts, "undecided", dtype=object))
        rows.append((IS_ROBUST, effect, scatter, plan.n, *_shares(said), count))
    columns = ["question", "effect", "scatter", *COLUMNS[COLUMNS.index("n") :]]
    return with_attrs(pd.DataFrame(rows, columns=columns), plan.level)


def _studies(plan: Plan, compared: int) -> int:
    """Choose how many studies to simulate, so that they take seconds."""
    return int(np.clip(CELLS / (plan.n * (1 + compared)), FEWEST_STUDIES, MOST_STUDIES))


def _true(plan: Plan, question: str, rho: float, others: float) -> Floats:
    """(compared,) correlations of the errors on a first dataset with those on others, no noise.

    The first is the source, or the target, or the family member, whose noisier copy comes last.
    """
    true = np.full(plan.proxies if question == IS_BEST else plan.targets, rho)
    if question == IS_BEST:
        true[1:] = others
    r = _of_errors(true, plan.method)
    if question == IS_RAISED:
        r = np.append(r, _of_errors(np.array(others), plan.method) / r[0])
    return r


def _said(
    plan: Plan, question: str, r: Floats, icc: float, studies: int, seed: int
) -> list[Verdicts]:
    """Return what each study concludes: of all targets; of the first proxy, the best; of an
    average.
    """
    errors, noise = _errors(plan, r, icc, studies, seed)
    if question == ORDER_HOLDS:
        return _orders(plan, errors, noise, seed)
    level = bonferroni(plan.level, plan.targets)
    pairs, said = [(0, other) for other in range(1, 1 + len(r))], []
    if question == IS_RAISED:
        pairs = [(first, target) for first in (0, len(r)) for target in range(1, len(r))]
    told = _measured_iccs(plan, icc, studies, seed)
    for found, iccs in zip(_correlations(plan, errors, pairs, seed), told, strict=True):
        if question == IS_BEST:
            said.append(is_best(can_be_largest(found, level))[:1])
        elif question == IS_RAISED:
            member, source = found[: plan.targets].average(), found[plan.targets :].average()
            said.append(verdict(*(member - source).interval(plan.level), SMALLEST_DIFFERENCE))
        else:
            ends = free_of_noise(found.estimate, simultaneous(found, plan.level), *iccs)
            said.append(verdict(*ends, SMALLEST_CORRELATION))
    return said


def _measured_iccs(plan: Plan, icc: float, studies: int, seed: int) -> list[tuple[Floats, Floats]]:
    """Draw, for each study, the ICCs (targets, 2) that its replicates show, and their lower ends.

    As `noise_ceiling` has them of normal errors: on Fisher's scale, of so many pairs of runs. NaN
    without replicates; where there is no noise, they show hardly any.
    """
    shape, pairs = (studies, 1 + plan.targets), min(plan.replicates, plan.n)
    if pairs < 2:
        found = low = np.full(shape, np.nan)
    else:
        draw, error = np.random.default_rng([seed, 1, pairs]), 1 / np.sqrt(pairs - 1.5)
        most = 1 - 6 / (pairs * (pairs**2 - 1))
        z = np.arctanh(min(icc, most)) + error * draw.normal(size=shape)
        reach = stdtrit(pairs - 1, (1 + bonferroni(plan.level, shape[1])) / 2) * error
        found, low = np.tanh(z), np.tanh(z - reach)
    sides = [np.stack([np.repeat(it[:, :1], plan.targets, 1), it[:, 1:]], 2) for it in (found, low)]
    return [*zip(*sides, strict=True)]


def _orders(plan: Plan, errors: Floats, noise: float, seed: int) -> list[Verdicts]:
    """Tell whether each study's targets keep the order of the source, where noise is `noise` all
    over.

    Its variance is known from the replicates, on each dataset by itself.
    """
    draw = np.random.default_rng([seed, plan.replicates])
    found = draw.chisquare(plan.replicates, (*errors.shape[:2], 1)) / plan.replicates
    reach = stdtrit(plan.replicates, (1 + plan.level) / 2) * noise * np.sqrt(found)
    ends, pairs = (errors - reach, errors + reach), plan.n * (plan.n - 1) / 2
    level, said = bonferroni(plan.level, plan.targets), []
    for low, high in zip(*ends, strict=True):
        targets = zip(low[1:], high[1:], strict=True)
        counts = np.array([ordered_pairs((low[0], high[0]), target) for target in targets])
        same, turned = (share_of_pairs(it, plan.n, level) for it in counts.T / pairs)
        said.append(is_preserved(same[0], *turned))
    return said


def _errors(plan: Plan, r: Floats, icc: float, studies: int, seed: int) -> tuple[Floats, float]:
    """Errors (studies, 1 + compared, n) of one dataset and those that correlate with it by r.

    r is (compared,), without noise. With the standard deviation of their noise.
    """
    draw = np.random.default_rng([seed, plan.n, len(r)])
    quality = draw.normal(size=(studies, 1, plan.n))
    own = draw.normal(size=(studies, len(r), plan.n))
    errors = np.hstack([quality, r[:, None] * quality + np.sqrt(1 - r**2)[:, None] * own])
    noise = float(np.sqrt((1 / _of_errors(np.array(icc), plan.method) - 1) / plan.runs))
    return errors + noise * draw.normal(size=errors.shape), noise


def _correlations(
    plan: Plan, errors: Floats, pairs: Sequence[tuple[int, int]], seed: int
) -> list[Resampled]:
    """Each study's correlations of these pairs of its datasets.

    All studies have the same resamples, as real ones of one seed have, and are computed at once.
    """
    studies, datasets, _ = errors.shape
    every = [(at + x, at + y) for at in range(0, studies * datasets, datasets) for x, y in pairs]
    values = errors.reshape(-1, plan.n).T
    found = resample_correlations(values, pairwise(values, every), plan.method, RESAMPLES, seed)
    return [found[start : start + len(pairs)] for start in range(0, len(every), len(pairs))]


def _of_errors(rho: Floats, method: Method) -> Floats:
    """Pearson's correlation of normal errors of which `rho` is what the method measures."""
    return rho if method == "pearson" else 2 * np.sin(np.pi / 6 * rho)


def _shares(said: Sequence[Verdicts]) -> tuple[float, float, float, float]:
    """Shares of "yes", "no" and "undecided"; and the largest standard error, over the studies."""
    each = np.array([[(one == word).mean() for word in ("yes", "no", "undecided")] for one in said])
    yes, no, undecided = each.mean(axis=0)
    return yes, no, undecided, float(each.std(axis=0, ddof=1).max() / np.sqrt(len(each)))
