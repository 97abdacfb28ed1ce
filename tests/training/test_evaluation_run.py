"""Errors and predictions of a further evaluation against counting them by hand."""

import dataclasses
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from anynet_study.data import DatasetView, Variant, load_dataset, make_view
from anynet_study.design_space import Architecture
from anynet_study.models import build
from anynet_study.training.evaluation import EvaluationSpec, make_evaluation_set
from anynet_study.training.evaluation_pass import EvaluationResult, evaluate
from anynet_study.training.transforms import transformed

CPU = torch.device("cpu")
NETWORK = Architecture(
    depths=(1, 1, 1, 1),
    widths=(8, 8, 16, 16),
    bottleneck_ratios=(1, 1, 1, 1),
    group_widths=(4, 8, 8, 16),
    stem="cifar",
    stem_width=8,
)


class Centred:
    """The bytes, about -1..1."""

    def test(self, images: Tensor) -> Tensor:
        return (images.float() / 127.5 - 1.0).permute(0, 3, 1, 2)


@pytest.fixture(scope="module", autouse=True)
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ANYNET_DATA", str(tmp_path_factory.mktemp("data")))
        yield
    torch.set_num_threads(threads)


@pytest.fixture(scope="module")
def view(home: None) -> DatasetView:
    return make_view(load_dataset("digits"), Variant(base="digits"))


@pytest.fixture(scope="module")
def model(home: None) -> torch.nn.Module:
    """Untrained, but of opinions that vary: its batch norms have seen images."""
    network = build(NETWORK, 10, generator=torch.Generator().manual_seed(0))
    with torch.no_grad():
        for parameter in network.parameters():
            parameter += 0.2 * torch.randn(
                parameter.shape, generator=torch.Generator().manual_seed(parameter.numel())
            )
        network.train()
        for _ in range(20):
            network(torch.randn(64, 3, 8, 8, generator=torch.Generator().manual_seed(1)))
    return network


def result(model: torch.nn.Module, view: DatasetView, **keys: Any) -> EvaluationResult:
    batch = keys.pop("batch", 100)
    return evaluate(model, Centred(), make_evaluation_set(EvaluationSpec(**keys), view), CPU, batch)


@pytest.mark.parametrize(
    "keys",
    [
        {"test_set": "digits"},
        {"transform": "perspective"},
        {"classes": 3},
        {"classes": 7, "class_seed": 2, "transform": "colour_jitter"},
    ],
)
def test_equals_counting_by_hand(
    model: torch.nn.Module, view: DatasetView, keys: dict[str, Any]
) -> None:
    found = result(model, view, **keys)
    tested = make_evaluation_set(EvaluationSpec(**keys), view)
    legal = np.flatnonzero(tested.allowed)
    pixels = torch.from_numpy(view.images("test")[tested.index])
    pixels = transformed(pixels, tested.draws(), tested.transform)
    with torch.no_grad():
        logits = model.eval()(Centred().test(pixels)).double().numpy()
    losses, first, fifth = [], [], []
    for scores, label in zip(logits, tested.labels, strict=True):
        ranked = sorted(legal, key=lambda number: -scores[number])
        losses.append(np.log(np.exp(scores[legal]).sum()) - scores[label])
        first.append(ranked[0])
        fifth.append(label not in ranked[:5])
    assert found.predictions.dtype == np.uint16
    assert np.array_equal(found.predictions, first)
    assert len(set(first)) > 1
    assert found.images == len(tested.labels)
    assert found.loss == pytest.approx(np.mean(losses), rel=1e-5)
    assert found.top1 == pytest.approx(100 * np.mean(np.array(first) != tested.labels))
    assert found.top5 == pytest.approx(100 * np.mean(fifth))


def test_repeats_to_the_bit_and_does_not_depend_on_the_batch(
    model: torch.nn.Module, view: DatasetView
) -> None:
    first = result(model, view, transform="affine", classes=6)
    second = result(model, view, transform="affine", classes=6)
    assert dataclasses.astuple(first)[:4] == dataclasses.astuple(second)[:4]
    assert np.array_equal(first.predictions, second.predictions)
    other = result(model, view, transform="affine", classes=6, batch=37)
    assert np.array_equal(first.predictions, other.predictions)
    assert first.loss == pytest.approx(other.loss, rel=1e-5)


def test_weights_and_statistics_stay_as_they_were(
    model: torch.nn.Module, view: DatasetView
) -> None:
    before = {name: value.clone() for name, value in model.state_dict().items()}
    result(model.train(), view, transform="invert")
    assert all(torch.equal(before[name], value) for name, value in model.state_dict().items())
