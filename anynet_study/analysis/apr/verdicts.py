"""The one rule by which a conclusion is put in words: "yes", "no" or "undecided".

A question asks whether an effect is at least as large as the smallest one that matters. It is
answered from an interval of the effect:

- "yes" where the whole interval is: its lower end is at least the smallest effect that matters;
- "no" where the whole interval is below it (an effect of the other sign is, too);
- "undecided" in all other cases, also where there is no interval.

Questions that are asked together, such as that of every target, are a family: the intervals behind
their verdicts are wide enough to hold all together at the level (`simultaneous`), so that one wrong
verdict or more among them has a probability of 1 - level at most. The family is what was asked:
targets, and no other datasets that happen to be in the table. Where a test takes the place of an
interval (`drivers`, `mcnemar`, `other_targets`), its p is corrected by Holm's method for the
table's tests, and counts at 1 - level.

So a study that is too small is undecided, and a tiny effect that a huge study finds is "no". Noise
of single trainings pulls correlations towards 0. So "no" is said of correlations without it
(`noise.free_of_noise`), and where neither replicates nor a declared reliability tell how much noise
there may be, a low correlation is undecided.

An interval allows for the sources of error of which the sentence speaks. `analysis.claims` says no
other sentence.
"""

from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from anynet_study.core.errors import counted

Verdict = Literal["yes", "no", "undecided"]
Verdicts = NDArray[np.object_]
#: The smallest correlation of two rankings that matters: a tenth of the variance of the ranks.
SMALLEST_CORRELATION = 0.3
#: The smallest difference of two correlations that matters.
SMALLEST_DIFFERENCE = 0.05
#: The smallest effective robustness that matters, in percentage points of accuracy.
SMALLEST_ROBUSTNESS = 1.0
#: The smallest share of the pairs of architectures that have to be told apart in the same order.
SMALLEST_SHARE = 0.5
#: The largest share of the pairs that may be reversed where an order is preserved.
LARGEST_REVERSED = 0.1


def family_of(count: int, noun: str) -> str:
    """Name the questions that are asked together, as `attrs["family"]` does; "" for one alone.

    >>> family_of(7, "target")
    '7 targets'
    """
    return counted(count, noun) if count > 1 else ""


def verdict(low: ArrayLike, high: ArrayLike, smallest: float) -> Verdicts:
    """(m,) verdicts on effects of at least `smallest`, from intervals that hold together.

    >>> verdict(low=[0.4, 0.1, -0.1], high=[0.8, 0.6, 0.2], smallest=0.3)
    array(['yes', 'undecided', 'no'], dtype=object)
    """
    lower, upper = (np.atleast_1d(np.asarray(end, float)) for end in (low, high))
    yes, no = lower >= smallest, upper < smallest
    return np.select([yes, no], ["yes", "no"], "undecided").astype(object)


def is_best(can_be: ArrayLike) -> Verdicts:
    """Is a candidate the best, from which (k,) of them can be (`can_be_largest`)?

    "yes" where no other can be, "no" where it cannot be. A single candidate is compared with
    nothing: undecided.

    >>> is_best([True, False, True])
    array(['undecided', 'no', 'undecided'], dtype=object)
    """
    held = np.atleast_1d(np.asarray(can_be, bool))
    if len(held) < 2:
        return np.full(len(held), "undecided", dtype=object)
    return np.select([held & (held.sum() == 1), ~held], ["yes", "no"], "undecided").astype(object)


def is_preserved(
    same_low: ArrayLike, reversed_low: ArrayLike, reversed_high: ArrayLike
) -> Verdicts:
    """Is an order preserved, from intervals of the shares (0 to 1) of pairs of architectures?

    Pairs are in the same or in reversed order where both datasets tell them apart; those that are
    tied say nothing. "no" where more than `LARGEST_REVERSED` of all pairs are reversed; "yes" where
    no more are, and at least `SMALLEST_SHARE` are in the same order.

    >>> is_preserved([0.6, 0.2, 0.5], reversed_low=[0, 0, 0.2], reversed_high=[0.05, 0.05, 0.3])
    array(['yes', 'undecided', 'no'], dtype=object)
    """
    kept, low, high = (
        np.atleast_1d(np.asarray(v, float)) for v in (same_low, reversed_low, reversed_high)
    )
    yes = (high <= LARGEST_REVERSED) & (kept >= SMALLEST_SHARE)
    return np.select([yes, low > LARGEST_REVERSED], ["yes", "no"], "undecided").astype(object)
