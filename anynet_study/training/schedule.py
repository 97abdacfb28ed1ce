"""Learning rate as a function of the step."""

import math

from anynet_study.training.recipe import Recipe

#: The warm-up starts at this share of the learning rate, as in the study's code base.
WARMUP_START = 0.1


def learning_rate(recipe: Recipe, step: int, steps_per_epoch: int) -> float:
    """Learning rate of 0-based `step`: linear warm-up times cosine decay over the whole run.

    The cosine is sampled at the start of each step, so the first step after no warm-up trains at
    `recipe.lr` and the last one slightly above zero.
    """
    progress = step / (recipe.epochs * steps_per_epoch)
    lr = recipe.lr
    if recipe.schedule == "cosine":
        lr *= 0.5 * (1.0 + math.cos(math.pi * progress))
    warmup_steps = recipe.warmup_epochs * steps_per_epoch
    if step < warmup_steps:
        lr *= WARMUP_START + (1.0 - WARMUP_START) * step / warmup_steps
    return lr
