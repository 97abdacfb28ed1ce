"""Networks of anybody's: what is found out about them, and that no other takes their place."""

import random
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import own_models
import pytest
import torch
from torch import nn

from anynet_study.core.errors import UserError
from anynet_study.design_space import Architecture, ForeignNetwork, Population, reference
from anynet_study.engine.models import ChangedNetworkError, build, construct, head_name
from anynet_study.engine.models.foreign import trace_network

GROUPED = Architecture((1, 2), (8, 16), (1, 2), (4, 8), (1, 2), "cifar", 8, se_ratio=0.25)


@pytest.fixture(autouse=True)
def forgotten() -> None:
    """What was traced in another test."""
    trace_network.cache_clear()


@pytest.mark.parametrize("architecture", [GROUPED, reference("resnet20")], ids=["grouped", "basic"])
def test_costs_are_the_closed_forms_of_a_network_that_has_them(
    architecture: Architecture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(own_models, "plain", lambda classes: build(architecture, classes))
    traced = trace_network("own_models:plain", 16, 10)
    for resolution, classes in ((16, 10), (32, 7)):
        here, place = traced.costs_at(resolution, classes), (resolution, classes)
        assert here.parameters == architecture.parameters(classes)
        assert here.flops == pytest.approx(architecture.flops(*place), rel=1e-3)
        assert here.activations == pytest.approx(architecture.activations(*place), rel=1e-2)
        needed = architecture.training_memory(64, *place)
        assert 1 <= traced.training_memory(64, *place) / needed < 1.25
    exact = traced.costs
    assert (exact.flops, exact.activations) == (
        architecture.flops(16, 10),
        architecture.activations(16, 10),
    )
    assert not traced.uncounted


def test_products_of_attention_are_counted() -> None:
    costs = trace_network("own_models:transformer", 16, 10).costs
    patches, attention = 16 * 48 * 16, 2 * 16 * 16 * 16
    assert costs.spatial == patches
    assert costs.pointwise == 16 * 16 * 48 + attention + 16 * 10


def test_a_convolution_of_one_pixel_is_pointwise() -> None:
    costs = trace_network("own_models:plain", 8, 10).costs
    assert costs.spatial == 8 * 8 * 8 * 27 + 4 * 4 * 8 * 9
    assert costs.pointwise == 4 * 4 * 8 * 12 + 12 * 10
    assert costs.spatial_outputs == 8 * 8 * 8 + 4 * 4 * 8


def test_what_is_not_counted_is_named() -> None:
    assert trace_network("own_models:spectrum", 8, 10).uncounted == {"fft_rfft2": 1}


def test_an_id_is_of_the_name_and_of_all_that_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    first = trace_network("own_models:functional", 8, 10)
    trace_network.cache_clear()
    assert trace_network("own_models:functional", 8, 10).id == first.id
    strided = trace_network("own_models:strided", 8, 10)
    assert strided.tensors == first.tensors, "the same parameters"
    assert strided.operators != first.operators
    other = trace_network("own_models:drawn_by_python", 8, 10)
    assert (other.tensors, other.operators) == (first.tensors, first.operators)
    assert len({first.id, strided.id, other.id}) == 3, "another name is another network"
    monkeypatch.setattr(own_models, "functional", lambda classes: own_models.Functional(classes))
    monkeypatch.setattr(own_models, "strided", own_models.plain)
    trace_network.cache_clear()
    assert trace_network("own_models:functional", 8, 10) == first, "however it was made"
    assert trace_network("own_models:strided", 8, 10).tensors != strided.tensors


@pytest.mark.parametrize("name", ["plain", "transformer", "drawn_by_numpy", "drawn_by_python"])
def test_weights_follow_from_the_seed_alone(name: str) -> None:
    network = trace_network(f"own_models:{name}", 8, 10)
    torch.manual_seed(5), random.seed(5), np.random.seed(5)  # noqa: NPY002
    first = construct(network, 10, 8, seed=2**62 + 1)
    after = torch.rand(()).item(), random.random(), np.random.rand()  # noqa: NPY002
    again, other = construct(network, 10, 8, seed=2**62 + 1), construct(network, 10, 8, seed=3)
    torch.manual_seed(5), random.seed(5), np.random.seed(5)  # noqa: NPY002
    assert after == (torch.rand(()).item(), random.random(), np.random.rand())  # noqa: NPY002
    for key, value in first.state_dict().items():
        assert torch.equal(value, again.state_dict()[key]), key
    assert any(
        not torch.equal(a, b) for a, b in zip(first.parameters(), other.parameters(), strict=True)
    )


@pytest.mark.parametrize(
    ("other", "differs"),
    [("strided", "other operators than"), ("plain", "other parameters or buffers and operators")],
)
def test_another_network_under_its_name_is_not_built(
    monkeypatch: pytest.MonkeyPatch, other: str, differs: str
) -> None:
    network = trace_network("own_models:functional", 8, 10)
    trace_network.cache_clear()
    monkeypatch.setattr(own_models, "functional", getattr(own_models, other))
    with pytest.raises(ChangedNetworkError, match=f"network own_models:functional: .*{differs}"):
        construct(network, 10, 8, seed=0)


def test_the_head_is_the_last_linear_layer_that_puts_out_the_classes() -> None:
    assert head_name(build(GROUPED, 10)) == "head"
    assert trace_network("own_models:transformer", 8, 10).head == "head"
    assert trace_network("own_models:plain", 8, 10).head == "9"
    assert trace_network("own_models:convolutional", 8, 10).head == ""


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("own_models:plian", "own_models has no function 'plian'; legal: plain, Transformer"),
        ("no_such_module:plain", "no_such_module: No module named 'no_such_module'"),
        ("own_models:raises", "network own_models:raises: RuntimeError: no such weights"),
        ("own_models:no_module", "network own_models:no_module: a str, not a torch.nn.Module"),
        ("own_models:too_many", r"of 2 images of 8 px it makes (2, 11) in training; needed"),
        ("own_models:no_classes", "the function takes no argument `classes`"),
        ("own_models:large_images", "it fails on images of 8 px (Calculated padded input size"),
        ("own_models:nothing_to_train", "it has no parameters to train"),
        ("torchvision:resnet18", "torchvision is not installed; install one that goes"),
        ("timm:vit_tiny", '(pip install "anynet-study[timm]"), or name a function'),
    ],
)
def test_what_makes_no_network_is_one_line(
    monkeypatch: pytest.MonkeyPatch, name: str, line: str
) -> None:
    for library in ("timm", "torchvision"):
        monkeypatch.setitem(sys.modules, library, None)  # as if it was not installed
    with pytest.raises(UserError) as raised:
        trace_network(name, 8, 10)
    assert line in str(raised.value)
    assert "\n" not in str(raised.value)


def test_a_library_for_another_torch_is_one_line(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """As one for CUDA is beside a torch for CPUs."""
    line = "raise RuntimeError('operator torchvision::nms does not exist')"
    (tmp_path / "torchvision.py").write_text(line)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "torchvision", raising=False)
    with pytest.raises(UserError) as raised:
        trace_network("torchvision:resnet18", 8, 10)
    assert "(operator torchvision::nms does not exist); install one that" in str(raised.value)


def fake_timm(made: list[dict[str, Any]]) -> SimpleNamespace:
    """Two models by name, one of which has a size of its images."""

    def create_model(name: str, pretrained: bool, **given: Any) -> nn.Module:
        made.append({"name": name, "pretrained": pretrained, **given})
        if name == "vit_tiny":
            return own_models.Transformer(given["num_classes"], given["img_size"])
        if "img_size" in given:
            raise TypeError("unexpected keyword argument 'img_size'")
        return own_models.plain(given["num_classes"])

    return SimpleNamespace(list_models=lambda: ["mobile", "vit_tiny"], create_model=create_model)


def test_models_of_a_library_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[dict[str, Any]] = []
    monkeypatch.setitem(sys.modules, "timm", fake_timm(made))
    vit = trace_network("timm:vit_tiny", 8, 10)
    assert made[-1] == {"name": "vit_tiny", "pretrained": False, "num_classes": 10, "img_size": 8}
    assert trace_network("timm:mobile", 8, 10).tensors != vit.tensors
    assert construct(vit, 4, 16, seed=0)(torch.zeros(2, 3, 16, 16)).shape == (2, 4)
    with pytest.raises(UserError, match="timm has no such model; legal are its 2, such as vit_ti"):
        trace_network("timm:vit_tony", 8, 10)


def test_a_population_keeps_all_that_is_known_of_them(tmp_path: Any) -> None:
    traced = trace_network("own_models:spectrum", 8, 10)
    architectures = [GROUPED, traced, reference("resnet20")]
    names = [None, "own_models:spectrum", "resnet20"]
    population = Population.from_architectures(architectures, 8, 10, names)
    population.write(tmp_path / "them.parquet")
    again = Population.read(tmp_path / "them.parquet")
    assert again.equals(population)
    assert list(again) == architectures
    (kept,) = (one for one in again if isinstance(one, ForeignNetwork))
    assert (kept.costs, kept.uncounted, kept.head) == (traced.costs, traced.uncounted, "head")
    assert again.names == tuple(names)
    part = again.select([traced.id])
    part.write(tmp_path / "part.parquet")
    assert list(Population.read(tmp_path / "part.parquet")) == [traced]
    assert list(again.filter("d1 >= 1")) == [GROUPED, reference("resnet20")]
    assert again.at(16, 5).table["flops"][1].as_py() == traced.costs_at(16, 5).flops
    assert again.at(16, 5).names == tuple(names)
    for name in ("them.csv", "them.json"):
        again.write(tmp_path / name)
        with pytest.raises(UserError, match=r"own_models:spectrum"):
            Population.read(tmp_path / name)
        read = Population.read(
            tmp_path / name,
            8,
            10,
            named=lambda name, *place: (
                trace_network(name, *place) if ":" in name else reference(name)
            ),
        )
        assert list(read) == architectures
