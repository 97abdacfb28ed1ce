"""Loss and top-k errors, accumulated on the device over an epoch."""

import torch
from torch import Tensor
from torch.nn import functional as F


class Tally:
    """Running sums of loss, top-1 and top-5 errors over images; never waits for the device."""

    def __init__(self, device: torch.device) -> None:
        #: (3,) float64: part of the state of an unfinished epoch.
        self.sums = torch.zeros(3, dtype=torch.float64, device=device)

    @torch.no_grad()
    def add(self, logits: Tensor, labels: Tensor, loss: Tensor | None = None) -> None:
        """Count a batch: `logits` (N, C), `labels` (N,), and its mean `loss` if it is at hand.

        Labels below zero are fillers and do not count (without `loss`).
        """
        guesses = logits.topk(min(5, logits.shape[1]), dim=1).indices
        hits = guesses == labels[:, None]
        real = labels >= 0
        if loss is None:
            total = F.cross_entropy(logits, labels, ignore_index=-1, reduction="sum").double()
        else:
            total = loss.detach().double() * len(labels)
        images = real.sum()
        errors = images - torch.stack([hits[:, 0].sum(), hits.sum()])
        self.sums += torch.cat([total[None], errors.double()])

    def result(self, images: int) -> tuple[float, float, float]:
        """Mean loss, top-1 error and top-5 error (percent; zero with at most five classes)."""
        loss, top1, top5 = (self.sums / images).tolist()
        return loss, 100.0 * top1, 100.0 * top5
