"""Metrics of classification: their names, and what they are of predicted and true classes.

Errors are 100 * (1 - value) percent. No torch here: what needs a network's scores, the AUROC, is in
`training.ranking`.
"""

from anynet_study.metrics.confusion import (
    accuracy,
    balanced_accuracy,
    class_accuracy,
    confusion_matrix,
    macro_f1,
    quadratic_kappa,
)
from anynet_study.metrics.guessing import chance_error
from anynet_study.metrics.names import CURVES, SHOWN, Metric
from anynet_study.metrics.several_labels import macro_f1_of_labels
from anynet_study.metrics.values import error_of, prediction_error

__all__ = [
    "CURVES",
    "SHOWN",
    "Metric",
    "accuracy",
    "balanced_accuracy",
    "chance_error",
    "class_accuracy",
    "confusion_matrix",
    "error_of",
    "macro_f1",
    "macro_f1_of_labels",
    "prediction_error",
    "quadratic_kappa",
]
