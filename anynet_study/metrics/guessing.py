"""The error of guessing."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from anynet_study.metrics.values import error_of, prediction_error


def chance_error(labels: NDArray[Any], classes: int, metric: str) -> float:
    """Error in percent of the best guess that is the same for every image.

    The most frequent class (top5: the five such); of several classes an image, all of them, or
    for top1 and top5 the most frequent ones. It is what diverged runs count as: 50 on auroc, 100 on
    quadratic_kappa, 100 * (1 - 1 / classes) on balanced_accuracy.
    """
    if metric == "auroc":
        return 50.0
    if metric in ("top1", "top5"):
        return _best_guesses(labels, classes, 5 if metric == "top5" else 1)
    if labels.ndim == 2:
        return prediction_error(metric, labels, np.ones_like(labels), classes)
    most = np.bincount(labels, minlength=classes).argmax()
    return prediction_error(metric, labels, np.full_like(labels, most), classes)


def _best_guesses(labels: NDArray[Any], classes: int, guesses: int) -> float:
    if labels.ndim == 1:
        counts = np.sort(np.bincount(labels, minlength=classes))[::-1]
        return float(100.0 * (1.0 - counts[:guesses].sum() / counts.sum()))
    most = np.argsort(-labels.sum(axis=0, dtype=np.int64), kind="stable")[:guesses]
    return error_of(float(labels[:, most].any(axis=1).mean()))
