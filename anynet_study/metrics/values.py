"""From predictions to an error in percent."""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from numpy.typing import NDArray

from anynet_study.metrics.confusion import (
    Confusion,
    accuracy,
    balanced_accuracy,
    confusion_matrix,
    macro_f1,
    quadratic_kappa,
)
from anynet_study.metrics.several_labels import macro_f1_of_labels

#: Those that are a matter of predicted classes alone.
OF_CONFUSION: Mapping[str, Callable[[Confusion], float]] = MappingProxyType(
    {
        "top1": accuracy,
        "balanced_accuracy": balanced_accuracy,
        "macro_f1": macro_f1,
        "quadratic_kappa": quadratic_kappa,
    }
)


def error_of(value: float) -> float:
    """100 * (1 - value) percent; at most 100, also for a kappa below zero."""
    return float(100.0 * (1.0 - min(1.0, max(0.0, value))))


def prediction_error(
    metric: str, truth: NDArray[Any], predictions: NDArray[Any], classes: int
) -> float:
    """Error in percent on a metric of predicted classes alone: not top5, not auroc.

    `truth` and `predictions` are (images,) in 0..classes-1; or (images, classes) of zeros and
    ones, with macro_f1. Raises KeyError for another metric.
    """
    if truth.ndim == 2:
        return error_of({"macro_f1": macro_f1_of_labels}[metric](truth, predictions))
    return error_of(OF_CONFUSION[metric](confusion_matrix(truth, predictions, classes)))
