"""What is minimised: cross-entropy, or the binary one of each class where there are several."""

import torch
from torch import Tensor
from torch.nn import functional as F


def training_loss(logits: Tensor, labels: Tensor, smoothing: float = 0.0) -> Tensor:
    """Mean loss of a batch, in nats.

    `logits` (N, C); `labels` (N,) classes: cross-entropy, `smoothing` of the target spread evenly;
    or (N, C) of zeros and ones: binary cross-entropy, the mean over images and classes.
    """
    if labels.dim() == 1:
        return F.cross_entropy(logits, labels, label_smoothing=smoothing)
    return F.binary_cross_entropy_with_logits(logits, labels.to(logits.dtype))


def summed_loss(logits: Tensor, labels: Tensor) -> Tensor:
    """The sum over images of what `training_loss` is the mean of; but for labels below zero."""
    if labels.dim() == 1:
        return F.cross_entropy(logits, labels, ignore_index=-1, reduction="sum")
    real = labels >= 0
    each = F.binary_cross_entropy_with_logits(
        logits, labels.clamp(min=0).to(logits.dtype), reduction="none"
    )
    return torch.where(real, each, 0.0).sum() / logits.shape[1]


def predicted(logits: Tensor, several: bool) -> Tensor:
    """The predicted class of each image (N,) int64; of `several` (N, C) bool, those above 1/2."""
    return logits > 0 if several else logits.argmax(1)
