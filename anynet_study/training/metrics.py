"""The loss that is minimised, and the errors of a pass over images, summed up on the device."""

from typing import Any

import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional as F

from anynet_study.metrics import Metric, error_of, prediction_error

#: Of the area under the ROC curve: classes whose scores are ranked at a time.
RANKED_TOGETHER = 64


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


class Tally:
    """Running sums of loss, top-1 and top-5 errors over images; never waits for the device.

    A top-k error of an image with several classes: none of them is among the first k guesses.
    """

    def __init__(self, device: torch.device) -> None:
        #: (3,) float64: part of the state of an unfinished epoch.
        self.sums = torch.zeros(3, dtype=torch.float64, device=device)

    @torch.no_grad()
    def add(self, logits: Tensor, labels: Tensor, loss: Tensor | None = None) -> None:
        """Count a batch: `logits` (N, C), `labels` (N,) or (N, C), and its mean `loss` if at hand.

        Labels below zero are fillers and do not count (without `loss`).
        """
        guesses = logits.topk(min(5, logits.shape[1]), dim=1).indices
        if labels.dim() == 1:
            hits, real = guesses == labels[:, None], labels >= 0
        else:
            hits, real = labels.gather(1, guesses) > 0, labels[:, 0] >= 0
        if loss is None:
            total = summed_loss(logits, labels).double()
        else:
            total = loss.detach().double() * len(labels)
        images = real.sum()
        errors = images - torch.stack([hits[:, 0].sum(), hits.any(1).sum()])
        self.sums += torch.cat([total[None], errors.double()])

    def result(self, images: int) -> tuple[float, float, float]:
        """Mean loss, top-1 error and top-5 error (percent; zero with at most five classes)."""
        # Divided here: a GPU multiplies by the reciprocal, and ties would not be ties any more with
        # what other devices give.
        loss, top1, top5 = (total / images for total in self.sums.tolist())
        return loss, 100.0 * top1, 100.0 * top5


def final_error(
    metric: Metric,
    values: tuple[float, float, float],
    truth: NDArray[Any],
    predictions: NDArray[Any],
    classes: int,
    logits: Tensor | None,
) -> float:
    """The error in percent on `metric` of a pass over test images.

    `values` are those of `Tally.result`; `truth` and `predictions` (images,), or (images, classes)
    of zeros and ones; `logits` (images, classes), needed for auroc alone.
    """
    if metric in ("top1", "top5"):
        return values[1 if metric == "top1" else 2]
    if metric == "auroc":
        assert logits is not None
        return error_of(auroc(logits, torch.tensor(truth, device=logits.device)))
    return prediction_error(metric, truth, predictions, classes)


@torch.no_grad()
def auroc(logits: Tensor, labels: Tensor) -> float:
    """Area under the ROC curve, as `roc_auc_score` of scikit-learn; 0.5 where there is none.

    `logits` (N, C), `labels` (N,) in 0..C-1, or (N, C) of zeros and ones where an image can have
    several classes. With two classes it is that of the second; with more, the mean over classes of
    the one by its probability (softmax) against the rest; with several labels the mean over
    classes. Classes that all images have, or none, do not count. Ties count half.
    """
    scores = logits.double()
    if labels.dim() == 2:
        positive = labels.bool()
    elif logits.shape[1] == 2:
        scores, positive = scores[:, 1:] - scores[:, :1], labels[:, None] == 1
    else:
        scores = scores.softmax(1)
        positive = labels[:, None] == torch.arange(logits.shape[1], device=labels.device)
    areas = torch.cat(
        [
            _areas(some.T.contiguous(), those.T)
            for some, those in zip(
                scores.split(RANKED_TOGETHER, 1), positive.split(RANKED_TOGETHER, 1), strict=True
            )
        ]
    )
    counted = areas[~areas.isnan()]
    return float(counted.mean()) if len(counted) else 0.5


def _areas(scores: Tensor, positive: Tensor) -> Tensor:
    """(C,) of `scores` (C, N) by the Mann-Whitney statistic, exact up to the quotient."""
    ordered = scores.sort(dim=1).values
    below = torch.searchsorted(ordered, scores)
    up_to = torch.searchsorted(ordered, scores, right=True)
    twice_rank = below + up_to + 1  # ties share the mean of their ranks
    ones = positive.sum(1)
    zeros = positive.shape[1] - ones
    twice_wins = (twice_rank * positive).sum(1) - ones * (ones + 1)
    return twice_wins.double() / (2 * ones * zeros).double()
