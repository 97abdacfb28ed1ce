"""A pass over test images: its batches, and what it sums up on the device."""

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from anynet_study.core.metrics import Metric, to_words
from anynet_study.engine.training.metrics import Tally, final_error


@dataclass(frozen=True)
class PassResult:
    """The results of a pass over test images."""

    images: int
    #: Mean cross-entropy, among the classes that may be chosen.
    loss: float
    #: Errors in percent; top-5 is zero with at most five classes to choose from.
    top1: float
    top5: float
    #: In percent, on the metric asked for.
    error: float
    #: (images,) uint16, the predicted class in the network's numbering; where images have several,
    #: as `to_words` packs them.
    predictions: NDArray[np.uint16]


def even_batches(images: int, largest: int) -> tuple[int, int]:
    """Number and size of the batches of a test pass: as few as can be, about equal in size."""
    count = -(-images // largest)
    return count, -(-images // count)


class PassSums:
    """The sums that are kept of a pass over test images, batch by batch, on the device.

    `add` never waits for the device and makes nothing on the host, so it can be part of a CUDA
    graph; `result` waits.
    """

    def __init__(
        self,
        labels: NDArray[np.integer],
        metric: Metric,
        classes: int,
        device: torch.device,
        allowed: NDArray[np.bool_] | None = None,
    ) -> None:
        """`labels` (images,) classes, or (images, classes) of zeros and ones.

        `allowed` (classes,) may be chosen, by default all: logits of other classes are minus
        infinity; where images have several classes, these are as if they were not there.
        """
        self._labels, self._metric, self._classes = labels, metric, classes
        self._allowed = allowed
        images, several = len(labels), labels.ndim == 2
        #: Images so far.
        self._done = torch.zeros(1, dtype=torch.int64, device=device)
        self._tally = Tally(device)
        self._truth = torch.from_numpy(np.asarray(labels, dtype=np.int64)).to(device)
        kept = (torch.bool, (images, classes)) if several else (torch.int64, (images,))
        self._predictions = torch.zeros(kept[1], dtype=kept[0], device=device)
        self._scores: Tensor | None = None
        self._mask: Tensor | None = None
        self._chosen: Tensor | None = None
        if allowed is not None:
            self._mask = torch.from_numpy(~allowed).to(device)
            if several:
                self._chosen = torch.from_numpy(np.flatnonzero(allowed)).to(device)
        if metric == "auroc":
            columns = classes if self._chosen is None else len(self._chosen)
            self._scores = torch.zeros(images, columns, device=device)

    def begin(self) -> None:
        """Begin a pass: nothing is summed up."""
        self._done.zero_()
        self._tally.sums.zero_()

    def add(self, logits: Tensor) -> None:
        """Count the next images by their `logits` (B, classes)."""
        rows = self._done + torch.arange(len(logits), device=logits.device)
        truth = self._truth.index_select(0, rows)
        several = truth.dim() == 2
        if self._mask is not None:
            logits = logits.masked_fill(self._mask, -torch.inf)
        self._predictions.index_copy_(0, rows, logits > 0 if several else logits.argmax(1))
        if self._chosen is not None:
            logits, truth = (it.index_select(1, self._chosen) for it in (logits, truth))
        self._tally.add(logits, truth)
        if self._scores is not None:
            self._scores.index_copy_(0, rows, logits.float())
        self._done += len(logits)

    def changes(self) -> list[Tensor]:
        """All that `add` changes."""
        scores = [] if self._scores is None else [self._scores]
        return [self._done, self._tally.sums, self._predictions, *scores]

    def result(self) -> PassResult:
        """Errors of a pass over all images."""
        labels, images = self._labels, len(self._labels)
        guesses = self._predictions.cpu().numpy()
        several = guesses.ndim == 2
        stored = to_words(guesses) if several else guesses.astype(np.uint16)
        if several and self._allowed is not None:
            labels, guesses = labels[:, self._allowed], guesses[:, self._allowed]
        values = self._tally.result(images)
        error = final_error(self._metric, values, labels, guesses, self._classes, self._scores)
        return PassResult(images, *values, error, stored)
