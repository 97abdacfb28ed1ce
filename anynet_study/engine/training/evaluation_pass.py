"""A trained network on a further test set."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from anynet_study.core.errors import UserError
from anynet_study.core.metrics import Metric
from anynet_study.engine.training.augment import Preprocessor
from anynet_study.engine.training.checkpoint import Weights
from anynet_study.engine.training.evaluation import EvaluationSet
from anynet_study.engine.training.options import largest_batch
from anynet_study.engine.training.passes import PassResult, PassSums, even_batches
from anynet_study.engine.training.together import Turns
from anynet_study.engine.training.transforms import transformed
from anynet_study.engine.training.zero_shot import TEMPERATURE, name_of_head


def evaluate(
    model: nn.Module,
    preprocess: Preprocessor,
    evaluation_set: EvaluationSet,
    device: torch.device,
    batch: int | None = None,
    metric: Metric = "top1",
) -> Turns[PassResult]:
    """Test `model`, which is on `device` and is left in evaluation mode; yields after each batch.

    One batch of images is in memory at a time; batches are about equal in size and not above
    `batch`, by default that of tests. On the run's own test set the result is the run's.
    """
    batch = batch or largest_batch(preprocess.resolution, device.type)
    model.eval()
    index, draws = evaluation_set.index, evaluation_set.draws()
    images = evaluation_set.dataset.images(evaluation_set.split)
    _, together = even_batches(len(index), batch)

    classify: Callable[[Tensor], Tensor] = model
    if evaluation_set.shots is not None:
        classify = nearest_classes(model, preprocess, evaluation_set, device, batch)

    @torch.no_grad()
    def logits(part: slice) -> Tensor:
        pixels = torch.from_numpy(images[index[part]]).to(device)
        pixels = transformed(pixels, draws[part], evaluation_set.transform)
        return classify(preprocess.test(pixels)).float()

    allowed = evaluation_set.allowed
    sums = PassSums(evaluation_set.labels, metric, len(allowed), device, allowed)
    for start in range(0, len(index), together):
        sums.add(logits(slice(start, start + together)))
        yield
    return sums.result()


@torch.no_grad()
def nearest_classes(
    model: nn.Module,
    preprocess: Preprocessor,
    evaluation_set: EvaluationSet,
    device: torch.device,
    batch: int,
) -> Callable[[Tensor], Tensor]:
    """A function from batches to logits (B, classes) by the means of a few images of each class.

    A logit is the cosine between the features of an image and those of a class, over the first
    temperature of loss clip. UserError where the network has no head to which features are given.
    """
    if not (name := name_of_head(model)):
        raise UserError("shots: the network has no linear layer at its end")

    head = model.get_submodule(name)

    def features(inputs: Tensor) -> Tensor:
        given: list[Tensor] = []
        hook = head.register_forward_pre_hook(lambda _, found: given.append(found[0]))
        with hook:
            model(inputs)
        return F.normalize(given[-1].float())

    assert evaluation_set.shots is not None
    rows, labels = evaluation_set.shots
    images, found = evaluation_set.dataset.images("train"), []
    for start in range(0, len(rows), batch):
        pixels = torch.from_numpy(images[rows[start : start + batch]]).to(device)
        found.append(features(preprocess.test(pixels)))
    vectors, truth = torch.cat(found), torch.from_numpy(labels).to(device)
    sums = torch.zeros(len(evaluation_set.allowed), vectors.shape[1], device=device)
    means = F.normalize(sums.index_add_(0, truth, vectors))
    return lambda inputs: features(inputs) @ means.T / TEMPERATURE


@contextmanager
def interpolated(network: nn.Module, start: Weights, share: float) -> Iterator[None]:
    """Between the weights `start` (share 0) and its own (share 1), which it has again afterwards.

    The statistics of batch norms are interpolated like the weights: so both ends are the networks
    that were trained, to the bit, and no training images are needed.
    """
    state = network.state_dict()
    end = {name: value.clone() for name, value in state.items()}
    with torch.no_grad():
        for name, value in state.items():
            if value.is_floating_point():
                value.copy_(torch.lerp(start[name].to(value), end[name], share))
    try:
        yield
    finally:
        with torch.no_grad():
            for name, value in state.items():
                value.copy_(end[name])
