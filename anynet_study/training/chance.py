"""The error of guessing."""

import numpy as np


def chance_error(labels: np.ndarray, classes: int, metric: str) -> float:
    """Error in percent of always guessing the most frequent test class (or the five such)."""
    counts = np.sort(np.bincount(labels, minlength=classes))[::-1]
    guesses = 5 if metric == "top5" else 1
    return float(100.0 * (1.0 - counts[:guesses].sum() / counts.sum()))
