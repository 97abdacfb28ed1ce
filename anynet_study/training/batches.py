"""What is random in an epoch: the order of the images, and how each is augmented."""

from dataclasses import dataclass

import torch
from torch import Tensor

from anynet_study.training.crop_boxes import with_boxes
from anynet_study.training.recipe import Recipe
from anynet_study.training.schedule import steps_per_epoch
from anynet_study.training.spec import RunSpec


@dataclass(frozen=True)
class EpochTables:
    """One epoch, decided beforehand: nothing is drawn while it runs, so it may stop anywhere."""

    #: (steps, batch) int64: positions in the view's training split.
    order: Tensor
    #: (steps, 3, batch) float32 in [0, 1): for the top and the left of the crop, and the flip. Of
    #: resized crops (steps, 5, batch): top and left in pixels, the flip, height and width.
    draws: Tensor


def draws_an_image(recipe: Recipe) -> int:
    """Rows of `EpochTables.draws` of a step."""
    return 5 if recipe.crop == "resized" else 3


def epoch_tables(spec: RunSpec, images: int, side: int, epoch: int) -> EpochTables:
    """The tables of 0-based `epoch` on `images` training images; the same on every machine.

    `side`: of the packed images, in pixels. Images left over after the last whole batch are not
    seen in this epoch.
    """
    steps = steps_per_epoch(images, spec.recipe.batch_size)
    batch = min(images, spec.recipe.batch_size)
    shuffle = torch.Generator().manual_seed(spec.order_seed(epoch))
    order = torch.randperm(images, generator=shuffle)[: steps * batch]
    augment = torch.Generator().manual_seed(spec.seed_for("augmentation", epoch))
    draws = torch.rand(steps, 3, batch, generator=augment)
    if spec.recipe.crop == "resized":
        draws = with_boxes(draws, spec.recipe, side, augment)
    return EpochTables(order.view(steps, batch), draws)
