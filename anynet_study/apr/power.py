"""How often a planned study would find what is there: the power of its verdicts, by simulation.

Fisher's z tells how wide an interval will be, but not what a study of 14 architectures would
conclude: the intervals behind verdicts are bootstrap intervals that hold together for a family. So
studies are simulated, and judged exactly as real ones are.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy.special import stdtrit

from anynet_study.apr.bootstrap import Resampled, pairwise, resample_correlations
from anynet_study.apr.error_tables import FEWEST
from anynet_study.apr.options import Floats, Method, check_choice, check_level, with_attrs
from anynet_study.apr.rank_preservation import ordered_pairs, share_of_pairs
from anynet_study.apr.simultaneous import bonferroni, can_be_largest, simultaneous
from anynet_study.apr.verdicts import (
    SMALLEST_CORRELATION,
    Verdicts,
    is_best,
    is_preserved,
    verdict,
)
from anynet_study.errors import UserError

COLUMNS = ["question", "rho", "others", "icc", "n", "yes", "no", "undecided", "se", "studies"]
CARRIES_OVER, IS_BEST, ORDER_HOLDS = "carries over", "is the best", "order holds"
#: Resamples of a simulated study. Fewer than a real one has, which moves no end by much.
RESAMPLES = 1_000
#: Architectures times datasets times studies of a row, and the fewest and most studies.
CELLS, FEWEST_STUDIES, MOST_STUDIES = 50_000, 25, 200


@dataclass(frozen=True)
class Plan:
    """What the power of a study depends on, beside what is true."""

    #: Architectures; targets, and members of the source's family, the source included.
    n: int
    targets: int = 1
    proxies: int = 1
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
        for name in ("targets", "proxies", "runs"):
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
    verdict is that of `best_proxies` on the best. "order holds", where the plan has replicates: of
    the targets, as `rank_preservation` has it with pooled noise.

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
    asked = {CARRIES_OVER: True, IS_BEST: plan.proxies > 1, ORDER_HOLDS: plan.replicates > 0}
    for question in (question for question, answered in asked.items() if answered):
        compared = plan.proxies if question == IS_BEST else plan.targets
        count = studies or int(
            np.clip(CELLS / (plan.n * (1 + compared)), FEWEST_STUDIES, MOST_STUDIES)
        )
        for icc in iccs:
            for rho in rhos:
                others = rho - ahead if question == IS_BEST else np.nan
                if others < 0:
                    continue
                errors, noise = _errors(plan, [rho, others], compared, icc, count, seed)
                if question == ORDER_HOLDS:
                    said = _orders(plan, errors, noise, seed)
                else:
                    studies_of = _correlations(plan, errors, seed)
                    said = [_said(plan, question, study, icc) for study in studies_of]
                rows.append((question, rho, others, icc, plan.n, *_shares(said), count))
    return with_attrs(pd.DataFrame(rows, columns=COLUMNS), plan.level, plan.method)


def _said(plan: Plan, question: str, found: Resampled, icc: float) -> Verdicts:
    """What one study concludes: of each target; or of the first proxy, which is the best."""
    if question == IS_BEST:
        return is_best(can_be_largest(found, bonferroni(plan.level, plan.targets)))[:1]
    # Both datasets of a correlation have the noise.
    ceiling = icc if plan.replicates else 1.0
    return verdict(*simultaneous(found, plan.level), SMALLEST_CORRELATION, ceiling)


def _orders(plan: Plan, errors: Floats, noise: float, seed: int) -> list[Verdicts]:
    """Whether each study's targets keep the order of the source, where noise is `noise` all over.

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


def _errors(
    plan: Plan, rhos: Sequence[float], compared: int, icc: float, studies: int, seed: int
) -> tuple[Floats, float]:
    """Errors (studies, 1 + compared, n) of one dataset and those compared, the first by rho.

    With the standard deviation of their noise.
    """
    first, others = rhos
    true = np.full(compared, first)
    true[1:] = first if np.isnan(others) else others
    r, reliability = _of_errors(true, plan.method), _of_errors(np.array(icc), plan.method)
    draw = np.random.default_rng([seed, plan.n, compared])
    quality = draw.normal(size=(studies, 1, plan.n))
    own = draw.normal(size=(studies, compared, plan.n))
    errors = np.hstack([quality, r[:, None] * quality + np.sqrt(1 - r**2)[:, None] * own])
    noise = float(np.sqrt((1 / reliability - 1) / plan.runs))
    return errors + noise * draw.normal(size=errors.shape), noise


def _correlations(plan: Plan, errors: Floats, seed: int) -> list[Resampled]:
    """Each study's correlations (compared,) of its first dataset with the others.

    All studies have the same resamples, as real ones of one seed have, and are computed at once.
    """
    studies, compared = len(errors), errors.shape[1] - 1
    pairs = [
        (study * (1 + compared), study * (1 + compared) + 1 + other)
        for study in range(studies)
        for other in range(compared)
    ]
    values = errors.reshape(-1, plan.n).T
    found = resample_correlations(values, pairwise(values, pairs), plan.method, RESAMPLES, seed)
    return [found[start : start + compared] for start in range(0, len(pairs), compared)]


def _of_errors(rho: Floats, method: Method) -> Floats:
    """Pearson's correlation of normal errors of which `rho` is what the method measures."""
    return rho if method == "pearson" else 2 * np.sin(np.pi / 6 * rho)


def _shares(said: Sequence[Verdicts]) -> tuple[float, float, float, float]:
    """Shares of "yes", "no" and "undecided"; and the largest standard error, over the studies."""
    each = np.array([[(one == word).mean() for word in ("yes", "no", "undecided")] for one in said])
    yes, no, undecided = each.mean(axis=0)
    return yes, no, undecided, float(each.std(axis=0, ddof=1).max() / np.sqrt(len(each)))
