"""Work that several processes share."""

import os
import signal

import pytest

from anynet_study.analysis.report.drawing import side_by_side
from anynet_study.core.errors import UserError, WorkFailedError


@pytest.mark.parametrize("processes", [1, 2, 3])
def test_results_are_in_the_order_of_the_pieces(processes: int) -> None:
    found = side_by_side(lambda n: (n * n, os.getpid()), range(7), processes)
    assert [square for square, _ in found] == [n * n for n in range(7)]
    assert len({process for _, process in found}) == processes


def test_what_a_process_raises_is_raised() -> None:
    def refuse(n: int) -> int:
        if n == 3:
            raise UserError("piece 3 is refused")
        return n

    with pytest.raises(UserError, match="piece 3 is refused"):
        side_by_side(refuse, range(6), 2)


def test_a_killed_process_is_told_of() -> None:
    first = os.getpid()

    def die(n: int) -> int:
        if os.getpid() != first:
            os.kill(os.getpid(), signal.SIGKILL)
        return n

    with pytest.raises(WorkFailedError, match="was killed"):
        side_by_side(die, range(6), 2)
