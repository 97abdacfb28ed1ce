"""Several runs at the same time in one process, taking turns step by step."""

import time
import traceback
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from functools import cache
from typing import Generic, TypeVar

import torch

T = TypeVar("T")
Turns = Generator[None, None, T]


@dataclass(frozen=True)
class Ended(Generic[T]):
    """The end of one of several runs."""

    #: Its place in the list given.
    number: int
    result: T | Exception
    #: Its share of the time that passed: a round's time is divided among those that took part.
    seconds: float


def train_together(
    starts: Sequence[Callable[[], Turns[T]]], device: torch.device
) -> Iterator[Ended[T]]:
    """Run what `starts` begin, a turn each in a round, and yield each as it ends.

    On a GPU each has its own stream, on which its CUDA graph is recorded and replayed, so that
    the GPU works at several small networks at a time. Each gives what it would give alone. An
    exception ends its own run only.
    """
    running = {number: (start(), _stream(device, number)) for number, start in enumerate(starts)}
    seconds = dict.fromkeys(running, 0.0)
    while running:
        began = time.perf_counter()
        results = {number: _turn(*run) for number, run in running.items()}
        share = (time.perf_counter() - began) / len(running)
        for number, result in results.items():
            seconds[number] += share
            if result is not None:
                del running[number]
        for number, result in results.items():
            if result is not None:
                yield Ended(number, result[0], seconds[number])


def finish(turns: Turns[T]) -> T:
    """Take all turns and return the result."""
    while True:
        try:
            next(turns)
        except StopIteration as end:
            result: T = end.value
            return result


def _turn(
    turns: Turns[T], stream: Callable[[], AbstractContextManager[object]]
) -> tuple[T | Exception] | None:
    """Let one run take a step; return its result, in a tuple, if it has ended."""
    with stream():
        try:
            next(turns)
        except StopIteration as end:
            return (end.value,)
        except Exception as error:
            _let_go(error)
            return (error,)
    return None


def _let_go(error: BaseException) -> None:
    """Free what the failed run holds: an exception keeps the variables of all it came through."""
    cause: BaseException | None = error
    while cause is not None:
        traceback.clear_frames(cause.__traceback__)
        cause = cause.__context__


def _stream(device: torch.device, number: int) -> Callable[[], AbstractContextManager[object]]:
    if device.type != "cuda":
        return nullcontext
    stream = _cuda_stream(device, number)
    stream.wait_stream(torch.cuda.current_stream(device))
    return lambda: torch.cuda.stream(stream)


@cache
def _cuda_stream(device: torch.device, number: int) -> torch.cuda.Stream:
    """Return the stream of all runs with this number: each keeps 64 MiB for matrix products."""
    return torch.cuda.Stream(device)
