"""Several runs at the same time in one process, taking turns step by step."""

import time
import traceback
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Generic, TypeVar

import torch

T = TypeVar("T")
Turns = Generator[None, None, T]


@dataclass(frozen=True)
class Ended(Generic[T]):
    """How one of several runs ended."""

    #: Its place in the list given.
    number: int
    result: T | Exception
    #: Its share of the time that passed: a round's time is divided among those that took part.
    seconds: float


@dataclass
class _Seat(Generic[T]):
    number: int
    turns: Turns[T]
    stream: Callable[[], AbstractContextManager[object]]
    seconds: float = 0.0


def train_together(
    starts: Sequence[Callable[[], Turns[T]]], device: torch.device
) -> Iterator[Ended[T]]:
    """Run what `starts` begin, a turn each in a round, and yield each as it ends.

    On a GPU each has its own stream, on which its CUDA graph is recorded and replayed, so that
    the GPU works at several small networks at a time. Each gives what it would give alone. An
    exception ends its own run only.
    """
    seats = [_Seat(n, start(), _stream(device)) for n, start in enumerate(starts)]
    while seats:
        began = time.perf_counter()
        ended = [(seat, result) for seat in seats if (result := _turn(seat)) is not None]
        share = (time.perf_counter() - began) / len(seats)
        for seat in seats:
            seat.seconds += share
        for seat, result in ended:
            seats.remove(seat)
            yield Ended(seat.number, result[0], seat.seconds)


def _turn(seat: _Seat[T]) -> tuple[T | Exception] | None:
    """Let one run take a step; its result in a tuple once there is one."""
    with seat.stream():
        try:
            next(seat.turns)
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


def _stream(device: torch.device) -> Callable[[], AbstractContextManager[object]]:
    if device.type != "cuda":
        return nullcontext
    stream = torch.cuda.Stream(device)
    stream.wait_stream(torch.cuda.current_stream(device))
    return lambda: torch.cuda.stream(stream)
