"""Loss and top-k errors, accumulated on the device over an epoch."""

import torch
from torch import Tensor
from torch.nn import functional as F


class Tally:
    """Running sums over the images of an epoch."""

    def __init__(self, device: torch.device) -> None:
        self._sums = torch.zeros(3, dtype=torch.float64, device=device)
        self._images = 0

    @torch.no_grad()
    def add(self, logits: Tensor, labels: Tensor, loss: Tensor | None = None) -> None:
        """Count a batch: `logits` (N, C), `labels` (N,), and its mean `loss` if it is at hand."""
        if loss is None:
            loss = F.cross_entropy(logits, labels)
        guesses = logits.topk(min(5, logits.shape[1]), dim=1).indices
        hits = guesses == labels[:, None]
        errors = len(labels) - torch.stack([hits[:, 0].sum(), hits.sum()])
        self._sums[0] += loss.detach().double() * len(labels)
        self._sums[1:] += errors
        self._images += len(labels)

    def result(self) -> tuple[float, float, float]:
        """Mean loss, top-1 error and top-5 error (percent; zero with at most five classes)."""
        loss, top1, top5 = (self._sums / self._images).tolist()
        return loss, 100.0 * top1, 100.0 * top5
