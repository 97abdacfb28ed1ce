"""The update in one kernel against torch's optimisers, fused and plain."""

import subprocess
import sys

import pytest
import torch

from anynet_study.training import Recipe
from anynet_study.training.optimizers import Update, make_optimizer

RECIPES = {
    "SGD": Recipe(weight_decay=0.01),
    "SGD without momentum": Recipe(momentum=0.0),
    "Nesterov": Recipe(nesterov=True, weight_decay=0.01),
    "AdamW": Recipe(optimizer="adamw", weight_decay=0.05, betas=(0.8, 0.95)),
}


def descend(recipe: Recipe, how: str, dtype: torch.dtype) -> list[torch.Tensor]:
    """Parameters after ten steps of a falling rate along random gradients; one has none."""
    generator = torch.Generator().manual_seed(0)
    shapes = [(17, 5), (1001,), (3,)]
    weights = [
        torch.nn.Parameter(torch.randn(shape, generator=generator, dtype=dtype)) for shape in shapes
    ]
    weights[2].requires_grad_(False)
    lr = torch.zeros((), dtype=torch.float32)
    update = (Update if how == "one kernel" else make_optimizer)(recipe, weights, lr)
    if how == "plain":
        update.param_groups[0] |= {"fused": False, "foreach": False}
    for step in range(10):
        lr.fill_(0.1 / (1 + step))
        update.zero_grad()
        for weight in weights[:2]:
            weight.grad = torch.randn(weight.shape, generator=generator, dtype=dtype)
        update.step()
    return [weight.detach() for weight in weights]


@pytest.mark.parametrize("recipe", RECIPES.values(), ids=RECIPES)
def test_equals_torchs_fused_optimiser_to_the_bit_and_the_plain_one_closely(recipe: Recipe) -> None:
    mine = descend(recipe, "one kernel", torch.float32)
    for a, b in zip(mine, descend(recipe, "fused", torch.float32), strict=True):
        assert torch.equal(a, b)
    mine = descend(recipe, "one kernel", torch.float64)
    for a, b in zip(mine, descend(recipe, "plain", torch.float64), strict=True):
        torch.testing.assert_close(a, b, rtol=1e-5, atol=1e-7)  # rates in float32


def test_a_worker_does_without_torchs_compiler() -> None:
    code = (
        "import sys; sys.path[:0] = ['tests/training', 'tests']; import torch;"
        "import test_training_updates as t;"
        "t.descend(t.RECIPES['SGD'], 'one kernel', torch.float32);"
        "import anynet_study.dispatch.worker.bench;"
        "print('torch._dynamo' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
