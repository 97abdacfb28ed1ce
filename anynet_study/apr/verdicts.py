"""The one rule by which a conclusion is put in words: "yes", "no" or "undecided".

A question asks whether an effect is there *and* large enough to matter. It is answered

- "yes" where the estimate is at least the smallest effect that matters and chance alone is an
  unlikely explanation: p, corrected by Holm's method for all questions that were asked together, is
  at most 1 - level;
- "no" where an effect of that size is unlikely: the p-value of "the effect is at least the smallest
  that matters", corrected likewise, is at most 1 - level (an effect of the other sign is one, too);
- "undecided" in all other cases, also where there is no estimate.

So a study that is too small is undecided, and a tiny effect that a huge study finds is "no". Noise
of single trainings pulls correlations towards 0; where replicates tell how much, "no" allows for
it. What each function asks, and of which tables: `carries_over` (`match_family`, `shift_agreement`
and whatever correlates two datasets), `is_raised` (differences with an interval), `is_best`
(`best_proxies`), `is_preserved` (`rank_preservation`), `is_robust` (`effective_robustness`).
"""

from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtr, ndtri

from anynet_study.apr.correlations import adjust
from anynet_study.apr.interval_formulas import standard_error
from anynet_study.apr.options import Method, check_level

Verdict = Literal["yes", "no", "undecided"]
Verdicts = NDArray[np.object_]
#: In place of a verdict where none is asked, as of an average.
NOT_ASKED = "–"
#: The smallest correlation of two rankings that matters: a tenth of the variance of the ranks.
SMALLEST_CORRELATION = 0.3
#: The smallest difference of two correlations that matters.
SMALLEST_DIFFERENCE = 0.05
#: The smallest effective robustness that matters, in percentage points of accuracy.
SMALLEST_ROBUSTNESS = 1.0
#: The smallest share of the pairs of architectures that intervals have to tell apart.
SMALLEST_SHARE = 0.5


def carries_over(
    estimate: ArrayLike,
    n: ArrayLike,
    p_corrected: ArrayLike,
    level: float = 0.95,
    method: Method = "spearman",
    ceiling: ArrayLike = 1.0,
    smallest: float = SMALLEST_CORRELATION,
) -> Verdicts:
    """Do rankings carry over: (m,) verdicts on correlations of at least `smallest`?

    `p_corrected` are two-sided p-values of no association, corrected for all that were asked; n the
    architectures. `ceiling` is the correlation that training noise leaves of a perfect one, the
    root of the product of both ICCs (`noise_ceiling`): "no" says that `smallest` times that is
    unlikely; where it is not above 0, or not known (NaN), a low correlation is undecided.

    >>> carries_over([0.62, 0.35, 0.02], n=[60, 60, 500], p_corrected=[0.001, 0.06, 0.65])
    array(['yes', 'undecided', 'no'], dtype=object)
    """
    check_level(level)
    r, count, p = (np.atleast_1d(np.asarray(v, float)) for v in (estimate, n, p_corrected))
    alpha = 1 - level
    wanted = smallest * np.broadcast_to(np.asarray(ceiling, float), r.shape)
    with np.errstate(invalid="ignore", divide="ignore"):
        distance = np.arctanh(r) - np.arctanh(np.where(wanted > 0, wanted, np.nan))
        p_enough = adjust(ndtr(distance / standard_error(wanted, count, method)))
        yes = (r >= smallest) & (p <= alpha)
        no = p_enough <= alpha
    return _words(yes, no)


def is_raised(
    estimate: ArrayLike, low: ArrayLike, high: ArrayLike, smallest: float = SMALLEST_DIFFERENCE
) -> Verdicts:
    """Is a difference at least `smallest`, from its interval? One question at a time.

    >>> is_raised([0.15, 0.12, 0.01], low=[0.08, -0.02, -0.01], high=[0.23, 0.25, 0.03])
    array(['yes', 'undecided', 'no'], dtype=object)
    """
    value, lower, upper = (np.atleast_1d(np.asarray(v, float)) for v in (estimate, low, high))
    return _words((lower > 0) & (value >= smallest), upper < smallest)


def is_best(shares: ArrayLike, level: float = 0.95, asked: int = 1) -> Verdicts:
    """Is a candidate the best, from the shares (k,) of resamples in which each of k is?

    `asked` is how many such questions are asked together (Bonferroni's correction, which is Holm's
    for the first of them). A single candidate is compared with nothing: undecided.

    >>> is_best([0.75, 0.22, 0.03])
    array(['undecided', 'undecided', 'no'], dtype=object)
    """
    check_level(level)
    share = np.atleast_1d(np.asarray(shares, float))
    alpha = (1 - level) / max(asked, 1)
    several = np.isfinite(share).sum() > 1
    return _words(several & (share >= 1 - alpha), several & (share <= alpha))


def is_preserved(
    pairs: ArrayLike, same: ArrayLike, swapped: ArrayLike, smallest: float = SMALLEST_SHARE
) -> Verdicts:
    """Is a ranking preserved, from pairs of architectures whose intervals do not overlap?

    "no" where one pair or more is clearly in reversed order (Salaudeen and Hardt 2024, section
    4.2); "yes" where none is and the share of pairs clearly in the same order is at least
    `smallest`: pairs that are tied say nothing.

    >>> is_preserved(pairs=[45, 45, 45], same=[40, 10, 40], swapped=[0, 0, 2])
    array(['yes', 'undecided', 'no'], dtype=object)
    """
    total, kept, turned = (np.atleast_1d(np.asarray(v, float)) for v in (pairs, same, swapped))
    return _words((turned == 0) & (total > 0) & (kept >= smallest * total), turned > 0)


def is_robust(
    effective: ArrayLike,
    low: ArrayLike,
    high: ArrayLike,
    level: float = 0.95,
    smallest: float = SMALLEST_ROBUSTNESS,
) -> Verdicts:
    """Is each accuracy (m,) at least `smallest` points beyond what was expected of it?

    `low` and `high` are the ends of intervals at `level`, from which both p-values are (normal on
    either side). NaN in an interval, such as one without the sampling error: undecided.

    >>> is_robust([2.5, 2.5, 0.1], low=[1.5, -0.5, -0.3], high=[3.5, 5.5, 0.5])
    array(['yes', 'undecided', 'no'], dtype=object)
    """
    check_level(level)
    value, lower, upper = (np.atleast_1d(np.asarray(v, float)) for v in (effective, low, high))
    alpha, reach = 1 - level, ndtri((1 + level) / 2)
    with np.errstate(invalid="ignore", divide="ignore"):
        p_none = adjust(2 * ndtr(-np.abs(value) * reach / (value - lower)))
        p_enough = adjust(ndtr((value - smallest) * reach / (upper - value)))
    return _words((value >= smallest) & (p_none <= alpha), p_enough <= alpha)


def _words(yes: NDArray[np.bool_], no: NDArray[np.bool_]) -> Verdicts:
    return np.select([yes, no], ["yes", "no"], "undecided").astype(object)
