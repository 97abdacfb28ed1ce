"""Quantised linear widths against exact arithmetic, block by block; ties by hand."""

from fractions import Fraction

import numpy as np
import plain_sampler
import pytest

from anynet_study.design_space.regnet import MULTIPLIER_STEP, SLOPE_STEP, linear_stages

Numbers = tuple[int, int, int, int]


def vectorised(numbers: list[Numbers], stages: int) -> list[tuple[list[int], list[int]] | None]:
    """Depths and widths of each network; None where it does not have as many stages."""
    d, w0, tenths, thousandths = np.array(numbers, dtype=np.float64).T
    depths, widths, legal = linear_stages(
        d, w0, tenths * SLOPE_STEP, thousandths * MULTIPLIER_STEP, stages
    )
    rows = zip(depths.T.tolist(), widths.T.tolist(), legal.tolist(), strict=True)
    return [(ds, ws) if legal else None for ds, ws, legal in rows]


def exact(numbers: Numbers) -> tuple[list[int], list[int], bool]:
    """Depths and widths of the network, and whether each of its levels is a stage."""
    d, w0, tenths, thousandths = numbers
    levels = plain_sampler.block_levels(d, w0, Fraction(tenths, 10), Fraction(thousandths, 1000))
    per_block = [width for _, width in levels]
    widths = sorted(set(per_block))
    assert per_block == sorted(per_block)
    return [per_block.count(w) for w in widths], widths, levels[-1][0] + 1 == len(widths)


@pytest.mark.parametrize(
    ("numbers", "depths", "widths"),
    [
        # u_3 = 80 + 3 * 8 = 104 is 80 * 1.69^(1/2), to the unit: half a level up goes up.
        ((5, 80, 80, 1690), [3, 2], [80, 136]),
        # 200 * 1.54 / 8 = 38.5 goes to the even multiple.
        ((30, 200, 80, 1540), [7, 16, 7], [200, 304, 472]),
    ],
)
def test_ties_are_those_of_exact_arithmetic(
    numbers: Numbers, depths: list[int], widths: list[int]
) -> None:
    assert exact(numbers) == (depths, widths, True)
    assert vectorised([numbers], len(widths)) == [(depths, widths)]
