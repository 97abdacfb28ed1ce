"""The area under the ROC curve, of a network's logits, on the device that holds them."""

import torch
from torch import Tensor

#: Classes whose scores are ranked at a time.
TOGETHER = 64


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
                scores.split(TOGETHER, 1), positive.split(TOGETHER, 1), strict=True
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
