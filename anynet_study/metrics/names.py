"""The metrics on which the error of a run can be."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Literal

Metric = Literal["top1", "top5", "balanced_accuracy", "macro_f1", "quadratic_kappa", "auroc"]

#: Per-epoch curves of a run; losses in nats, errors in percent, `test_error` on its metric.
CURVES = (
    "train_loss",
    "train_top1",
    "train_top5",
    "test_loss",
    "test_top1",
    "test_top5",
    "test_error",
)

#: As people write them, before "error".
SHOWN: Mapping[str, str] = MappingProxyType(
    {
        "top1": "top-1",
        "top5": "top-5",
        "balanced_accuracy": "balanced",
        "macro_f1": "macro F1",
        "quadratic_kappa": "quadratic kappa",
        "auroc": "AUROC",
    }
)
