"""The learning rate against closed forms and torch's own scheduler."""

import math
from itertools import pairwise

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from anynet_study.training import Recipe
from anynet_study.training.recipe import learning_rate


def test_cosine_equals_torchs_scheduler() -> None:
    recipe = Recipe(epochs=3, lr=0.3)
    parameter = torch.nn.Parameter(torch.zeros(1))
    optimizer = torch.optim.SGD([parameter], lr=0.3)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=21)
    for step in range(21):
        assert learning_rate(recipe, step, 7) == pytest.approx(scheduler.get_last_lr()[0])
        optimizer.step()
        scheduler.step()


def test_warm_up_rises_linearly_from_a_tenth() -> None:
    recipe = Recipe(epochs=10, lr=1.0, schedule="constant", warmup_epochs=2)
    rates = [learning_rate(recipe, step, 10) for step in range(21)]
    assert rates[0] == pytest.approx(0.1)
    assert rates[10] == pytest.approx(0.55)
    assert rates[20] == 1.0
    steps = [later - earlier for earlier, later in pairwise(rates)]
    assert all(math.isclose(step, 0.045) for step in steps)


@given(st.integers(1, 50), st.integers(1, 100), st.floats(0, 5), st.data())
def test_rate_is_positive_and_never_above_the_base(
    epochs: int, steps: int, warmup: float, data: st.DataObject
) -> None:
    recipe = Recipe(epochs=epochs, lr=0.1, warmup_epochs=min(warmup, epochs * 0.9))
    step = data.draw(st.integers(0, epochs * steps - 1))
    assert 0 < learning_rate(recipe, step, steps) <= 0.1
