"""The loss that is minimised, and the errors of a pass over images, summed up on the device."""

from typing import Any

import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional as F

from anynet_study.core.metrics import Metric, error_of, mean_auroc, prediction_error


def training_loss(
    logits: Tensor, labels: Tensor, smoothing: float = 0.0, share: Tensor | None = None
) -> Tensor:
    """Mean loss of a batch, in nats.

    `logits` (N, C); `labels` (N,) classes: cross-entropy, `smoothing` of the target spread evenly;
    or (N, C) of zeros and ones: binary cross-entropy, the mean over images and classes. Where
    images are mixed, `share` () of the target is the image's own, the rest that of the one before.
    """
    if share is not None:
        own = training_loss(logits, labels, smoothing)
        return share * own + (1.0 - share) * training_loss(logits, labels.roll(1, 0), smoothing)
    if labels.dim() == 1:
        return F.cross_entropy(logits, labels, label_smoothing=smoothing)
    return F.binary_cross_entropy_with_logits(logits, labels.to(logits.dtype))


def grade_loss(logits: Tensor, labels: Tensor, share: Tensor | None = None) -> Tensor:
    """Mean absolute difference of the number that a network puts out from the grades (N,).

    `logits` (N, C) are those of `Grades`; `share` as in `training_loss`.
    """
    own = -logits.gather(1, labels.long()[:, None]).mean()
    if share is None:
        return own
    return share * own + (1.0 - share) * grade_loss(logits, labels.roll(1, 0))


class Tally:
    """Running sums of loss, top-1 and top-5 errors over images; never waits for the device.

    A top-k error of an image with several classes: none of them is among the first k guesses.
    """

    def __init__(self, device: torch.device) -> None:
        #: (3,) float64: part of the state of an unfinished epoch.
        self.sums = torch.zeros(3, dtype=torch.float64, device=device)

    @torch.no_grad()
    def add(self, logits: Tensor, labels: Tensor, loss: Tensor | None = None) -> None:
        """Count a batch: `logits` (N, C), `labels` (N,) or (N, C); its mean `loss` if at hand."""
        loss = training_loss(logits, labels) if loss is None else loss
        guesses = logits.topk(min(5, logits.shape[1]), dim=1).indices
        hits = labels.gather(1, guesses) > 0 if labels.dim() == 2 else guesses == labels[:, None]
        right = torch.stack([hits[:, 0].sum(), hits.any(1).sum()])
        total = loss.double() * len(labels)
        self.sums += torch.cat([total[None], (len(labels) - right).double()])

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
        return error_of(auroc(logits, truth))
    return prediction_error(metric, truth, predictions, classes)


def auroc(logits: Tensor, labels: NDArray[Any]) -> float:
    """`mean_auroc` of `logits` (images, classes), which waits for the device."""
    return mean_auroc(logits.double().cpu().numpy(), labels)
