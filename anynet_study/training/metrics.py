"""Loss and top-k errors, accumulated on the device over an epoch; the error at its end."""

from typing import Any

import torch
from numpy.typing import NDArray
from torch import Tensor

from anynet_study.metrics import Metric, error_of, prediction_error
from anynet_study.training.losses import summed_loss
from anynet_study.training.ranking import auroc


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
