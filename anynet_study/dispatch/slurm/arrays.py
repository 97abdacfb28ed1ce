"""Dealing jobs to arrays: none is too large, and together they run no more jobs than allowed."""

from collections.abc import Iterator, Sequence
from math import ceil
from typing import TypeVar

T = TypeVar("T")


def lanes(jobs: int, size: int, parallel: int | None) -> list[int | None]:
    """How many jobs each lane may run at a time: `parallel` in all; None: any number.

    A lane is a chain of arrays, each of which begins when the one before has ended. There are as
    many lanes as arrays, so that none waits for another, if `parallel` allows it; otherwise each
    lane runs one job at a time, and waiting for the last of an array costs nothing, either.
    """
    if parallel is None or parallel >= jobs:
        return [None]
    count = min(parallel, ceil(jobs / max(size, 1)))
    return [parallel // count + (lane < parallel % count) for lane in range(count)]


def deal(tasks: Sequence[T], lanes: int, size: int) -> Iterator[tuple[int, Sequence[T]]]:
    """The lane and the tasks of each array, in the order in which they are submitted.

    The lanes take turns, so that earlier tasks run before later ones whatever lane they are in.
    """
    size = max(size, 1)
    hands = [tasks[lane::lanes] for lane in range(lanes)]
    for begin in range(0, len(hands[0]) if hands else 0, size):
        for lane, hand in enumerate(hands):
            if part := hand[begin : begin + size]:
                yield lane, part
