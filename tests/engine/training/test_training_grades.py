"""Grades and generalised means: one number for each image, and a pooling with a learned power."""

import copy

import numpy as np
import pytest
import torch
from pydantic import ValidationError
from torch.nn import functional as F
from training_runs import NETWORK, spec

from anynet_study.core.errors import UserError
from anynet_study.data import DatasetView
from anynet_study.engine.models import Backend, GeneralisedMean, accelerate, build
from anynet_study.engine.training import Recipe, new_network
from anynet_study.engine.training.metrics import grade_loss
from anynet_study.engine.training.network import Grades, initial_network


def test_the_class_is_the_nearest_grade_and_the_loss_is_l1() -> None:
    head = Grades(3, 5, seed=0)
    assert head.bias.tolist() == [2.0]
    features = torch.from_numpy(np.random.default_rng(0).normal(size=(40, 3))).float()
    with torch.no_grad():
        head.weight.copy_(torch.tensor([[1.0, -0.7, 0.4]]))
    numbers = F.linear(features, head.weight, head.bias)[:, 0].detach()
    logits, labels = head(features), torch.arange(40) % 5
    nearest = numbers.round().clamp(0, 4)
    assert torch.equal(logits.argmax(1).float(), nearest)
    assert len(set(nearest.tolist())) == 5
    expected = F.l1_loss(numbers, labels.float())
    assert grade_loss(logits, labels).item() == pytest.approx(expected.item())
    # Of images that are mixed: 0.3 of the target is the image's own.
    before = F.l1_loss(numbers, labels.roll(1).float())
    mixed = grade_loss(logits, labels, torch.tensor(0.3)).item()
    assert mixed == pytest.approx((0.3 * expected + 0.7 * before).item())


def test_a_generalised_mean_is_that_of_the_formula_also_on_rows() -> None:
    pool = GeneralisedMean()
    maps = torch.from_numpy(np.random.default_rng(0).random((2, 4, 3, 3))).float()
    for power in (1.0, 3.0, 8.0):
        with torch.no_grad():
            pool.power.fill_(power)
        expected = (maps.numpy().astype(float) ** power).mean(axis=(2, 3)) ** (1 / power)
        np.testing.assert_allclose(pool(maps).detach(), expected, rtol=1e-5)
    pool(torch.zeros(1, 2, 3, 3)).sum().backward()
    assert pool.power.grad is not None
    assert torch.isfinite(pool.power.grad)

    plain = build(NETWORK, 6, torch.Generator().manual_seed(0))
    plain.pool = GeneralisedMean()
    rows = copy.deepcopy(plain)
    accelerate(rows, 8, Backend("rewritten", "", 1))
    images = torch.rand(5, 3, 8, 8)
    assert list(dict(rows.named_parameters())) == list(dict(plain.named_parameters()))
    losses = []
    for network in (plain, rows):
        found = network(images)
        (found**2).sum().backward()
        losses.append((found.detach(), network.pool.power.grad))
    torch.testing.assert_close(*(one for one, _ in losses), rtol=1e-4, atol=1e-5)
    torch.testing.assert_close(*(one for _, one in losses), rtol=1e-3, atol=1e-5)


def test_a_body_without_a_power_is_taken_over(view: DatasetView) -> None:
    """As in paper 3: what was pretrained with averages is fine-tuned with another pool."""
    first = spec(view)
    weights = new_network(first, view).state_dict()
    run = spec(view, pooling="gem", loss="l1")
    tuned = type(run)(run.architecture, run.data, run.recipe, pretrained=first)
    network = initial_network(tuned, view, weights)
    assert network.pool.power.item() == 3.0
    own = network.state_dict()
    assert all(torch.equal(own[name], weights[name]) for name in weights if "head" not in name)


def test_keys_that_are_not_stated_keep_ids_and_what_is_refused(view: DatasetView) -> None:
    assert {"pooling", "loss"}.isdisjoint(spec(view).recipe.model_dump())
    ids = {spec(view, **keys).run_id for keys in ({}, {"pooling": "gem"}, {"loss": "l1"})}
    assert len(ids) == 3
    with pytest.raises(ValidationError, match="label_smoothing: not with loss l1"):
        Recipe(loss="l1", label_smoothing=0.1)
    with pytest.raises(UserError, match="loss l1 needs one class an image, here are several"):
        Recipe(loss="l1").resolved(8, 3, multi_label=True)
