"""Blocks of work side by side in threads: numpy's loops and BLAS leave the interpreter free."""

import functools
import os
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from threadpoolctl import ThreadpoolController  # type: ignore[import-untyped]

Item = TypeVar("Item")


def in_threads(function: Callable[[Item], None], items: Iterable[Item]) -> None:
    """Call a function for each item, as many at a time as there are cores; raise what it raises."""
    todo = list(items)
    # BLAS threads under our own would fight for the same cores: up to 8 times slower.
    with _libraries().limit(limits=1, user_api="blas"):
        if len(todo) < 2:  # threads take longer to start than much of the work here
            for item in todo:
                function(item)
            return
        with ThreadPoolExecutor(cores()) as pool:
            list(pool.map(function, todo))


def cores() -> int:
    """How many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@functools.cache
def _libraries() -> ThreadpoolController:
    return ThreadpoolController()
