"""How long a run is, and its learning rate as a function of the step."""

import math

from anynet_study.training.recipe import Recipe

#: The warm-up starts at this share of the learning rate, as in the study's code base.
WARMUP_START = 0.1


def steps_per_epoch(images: int, batch_size: int) -> int:
    """Steps of one epoch: whole batches only, but at least one."""
    return max(1, images // batch_size)


def total_steps(recipe: Recipe, steps_an_epoch: int) -> int:
    """Optimiser steps of a run."""
    return recipe.steps or (recipe.epochs or 0) * steps_an_epoch


def epoch_lengths(recipe: Recipe, steps_an_epoch: int) -> list[int]:
    """Steps of each epoch; all but the last are whole."""
    whole, rest = divmod(total_steps(recipe, steps_an_epoch), steps_an_epoch)
    return [steps_an_epoch] * whole + ([rest] if rest else [])


def learning_rate(recipe: Recipe, step: int, steps_an_epoch: int) -> float:
    """Learning rate of 0-based `step`: linear warm-up times a decay over the whole run.

    The cosine is sampled at the start of each step, so the first step after no warm-up trains at
    `recipe.lr` and the last one slightly above zero.
    """
    progress = step / total_steps(recipe, steps_an_epoch)
    lr = recipe.lr
    if recipe.schedule == "cosine":
        lr *= 0.5 * (1.0 + math.cos(math.pi * progress))
    elif recipe.schedule == "multistep":
        lr *= recipe.gamma ** sum(milestone <= progress for milestone in recipe.milestones)
    warmup_steps = recipe.warmup_epochs * steps_an_epoch
    if step < warmup_steps:
        lr *= WARMUP_START + (1.0 - WARMUP_START) * step / warmup_steps
    return lr
