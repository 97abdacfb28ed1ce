"""From numbers in [0, 1) to parameters, alike on every machine."""

import numpy as np
from numpy.typing import NDArray

Draws = NDArray[np.float64]


def between(draws: Draws, low: float, high: float) -> Draws:
    """Uniform in [low, high)."""
    return low + draws * (high - low)


def settled(values: Draws) -> Draws:
    """Rounded to 2**-32: sine, exponential and the like differ between machines in last bits."""
    return np.rint(values * 2.0**32) / 2.0**32
