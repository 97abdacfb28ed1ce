"""Axis limits that a few diverged runs do not stretch until nothing else can be seen."""

import math

import pandas as pd

FAR = 5.0
"""Errors this many interquartile ranges above the upper quartile are off the scale ..."""
FEW = 0.1
"""... if they are at most this share of all."""


def upper_limit(errors: pd.Series) -> float:
    """The largest error to scale an axis to, percent; infinity where none is far off."""
    known = errors.dropna()
    quarter, three_quarters = known.quantile([0.25, 0.75]) if len(known) else (0.0, 0.0)
    spread = three_quarters - quarter
    far = known > three_quarters + FAR * spread
    if spread == 0 or not 0 < far.mean() <= FEW:
        return math.inf
    return float(known[~far].max())
