"""A trained network on a further test set."""

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from anynet_study.metrics import Metric, to_words
from anynet_study.training.augment import Preprocessor
from anynet_study.training.evaluation import EvaluationSet
from anynet_study.training.metrics import Tally, final_error, predicted
from anynet_study.training.trainer import LARGEST_BATCH, even_batches
from anynet_study.training.transforms import transformed


@dataclass(frozen=True)
class EvaluationResult:
    """What a network gave on a further test set."""

    images: int
    #: Mean cross-entropy among the allowed classes.
    loss: float
    #: Errors in percent; top-5 is zero with at most five classes to choose from.
    top1: float
    top5: float
    #: (images,) uint16, the predicted class in the network's numbering; where images have several,
    #: as `to_words` packs them.
    predictions: NDArray[np.uint16]
    #: In percent, on the metric asked for.
    error: float


@torch.no_grad()
def evaluate(
    model: nn.Module,
    preprocess: Preprocessor,
    evaluation_set: EvaluationSet,
    device: torch.device,
    batch: int = LARGEST_BATCH,
    metric: Metric = "top1",
) -> EvaluationResult:
    """Test `model`, which is on `device` and is left in evaluation mode.

    Logits of classes that are not allowed are minus infinity; where images have several classes,
    these are as if they were not there. One batch of images is in memory at a time; batches are
    about equal in size and not above `batch`. On the run's own test set the result is the run's.
    """
    model.eval()
    count = len(evaluation_set.index)
    _, together = even_batches(count, batch)
    allowed = torch.from_numpy(evaluation_set.allowed).to(device)
    several = evaluation_set.dataset.multi_label
    images = evaluation_set.dataset.images("test")
    draws = evaluation_set.draws()
    tally = Tally(device)
    predictions, scores = [], []
    for start in range(0, count, together):
        part = slice(start, start + together)
        pixels = torch.from_numpy(images[evaluation_set.index[part]]).to(device)
        pixels = transformed(pixels, draws[part], evaluation_set.transform)
        logits = model(preprocess.test(pixels)).float().masked_fill(~allowed, -torch.inf)
        labels = torch.from_numpy(evaluation_set.labels[part]).to(device)
        predictions.append(predicted(logits, several))
        if several:
            logits, labels = logits[:, allowed], labels[:, allowed].long()
        tally.add(logits, labels)
        if metric == "auroc":
            scores.append(logits)
    guesses, truth = torch.cat(predictions).cpu().numpy(), evaluation_set.labels
    stored = to_words(guesses) if several else guesses.astype(np.uint16)
    if several:
        truth, guesses = truth[:, evaluation_set.allowed], guesses[:, evaluation_set.allowed]
    values, kept = tally.result(count), torch.cat(scores) if scores else None
    error = final_error(metric, values, truth, guesses, len(evaluation_set.allowed), kept)
    return EvaluationResult(count, *values, stored, error)
