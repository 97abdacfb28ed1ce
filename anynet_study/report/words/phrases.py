"""Phrases that findings share."""

from collections.abc import Sequence

#: Up to this many datasets are named, more are counted.
NAMED = 6


def listed(names: Sequence[str]) -> str:
    """`a`, `a and b`, `a, b and c`."""
    return " and ".join(filter(None, [", ".join(names[:-1]), *names[-1:]]))


def some(names: Sequence[str], total: int) -> str:
    """Name a few datasets, count many."""
    if len(names) == total > 1:
        return f"all {total} datasets"
    return listed(names) if len(names) <= NAMED else f"{len(names)} of {total} datasets"


def percent(share: float) -> str:
    """A probability for people; never a certainty that resamples cannot give."""
    if share > 0.999:
        return "in more than 99.9% of resamples"
    return f"in {100 * share:.0f}% of resamples"
