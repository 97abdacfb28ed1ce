"""Options that the analyses share, what is legal for them, and the types of their arrays."""

from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from anynet_study.errors import UserError

Floats = NDArray[np.float64]

Ints = NDArray[np.int64]

#: How often each resample (row) holds each architecture (column): int32, or float64 with weights.
Multiplicities = NDArray[Any]

Method = Literal["spearman", "pearson", "kendall"]


def check_level(level: float, resamples: int | None = None) -> None:
    """Raise UserError unless an interval of this level can be had from the resamples, if any."""
    if not 0 < level < 1:
        raise UserError(f"level: {level} is not between 0 and 1, such as 0.95")
    fewest = int(np.ceil(2 / (1 - level)))
    if resamples is not None and resamples < fewest:
        raise UserError(
            f"resamples: {resamples} is too few for intervals of level {level}; "
            f"at least {fewest}, 10000 is usual"
        )


def check_seed(seed: int) -> None:
    """Raise UserError for a seed that is none."""
    if seed < 0:
        raise UserError(f"seed: {seed} is negative; legal: 0, 1, 2, ...")
