"""Runs of networks that are no AnyNetX: their randomness, their heads, and what trains them."""

import dataclasses
from pathlib import Path

import own_models
import pytest
import torch
from training_runs import CPU, finished, same, spec, stopped

from anynet_study.core.errors import UserError
from anynet_study.data import DatasetView
from anynet_study.engine.models import Backend
from anynet_study.engine.models.foreign import trace_network
from anynet_study.engine.training import (
    Checkpoint,
    DeviceImages,
    InterruptedRunError,
    Options,
    RunSpec,
    fitting,
    make_trainer,
    train,
)
from anynet_study.engine.training.network import initial_network
from anynet_study.engine.training.zero_shot import ZeroShot, name_of_head


def foreign(view: DatasetView, name: str = "plain", **changes: object) -> RunSpec:
    """A run of a network of `own_models`; see `spec`."""
    network = trace_network(f"own_models:{name}", 8, 10)
    return dataclasses.replace(spec(view, **changes), architecture=network)


@pytest.mark.parametrize("name", ["plain", "transformer", "functional"])
def test_the_fast_engine_does_as_the_reference_does(view: DatasetView, name: str) -> None:
    run = foreign(view, name, epochs=1, precise_bn=64, crop="pad", flip=True)
    fast = train(run, view, CPU)
    assert same(fast, train(run, view, CPU, engine="reference"))
    assert same(fast, train(run, view, CPU)), "dropout too"
    other = dataclasses.replace(run, seed=1)
    assert fast.curves != train(other, view, CPU).curves


@pytest.mark.parametrize("stops", [[3, 2, 4], [5, 10]])
def test_one_with_dropout_goes_on_as_if_it_was_not_stopped(
    view: DatasetView, tmp_path: Path, stops: list[int]
) -> None:
    run = foreign(view, precise_bn=64)
    for after in stops:
        torch.manual_seed(after)  # whatever else the process draws
        with pytest.raises(InterruptedRunError):
            stopped(run, view, tmp_path / "run.pt", after, "fast")
    trainer = make_trainer(run, view, DeviceImages(CPU))
    again = finished(trainer, run, view, Checkpoint(tmp_path / "run.pt", run.run_id, "fast"))
    assert same(again, train(run, view, CPU))


def test_its_module_is_trained_as_it_is(view: DatasetView) -> None:
    run, usual = foreign(view), Options(backend=Backend("rewritten", "avx2", 1))
    here = fitting(usual, run, "cpu")
    assert (here.backend.kind, here.channels_last, here.graph) == ("plain", False, True)
    gpu = fitting(Options(Backend("rewritten", "sm_90", 1, "cuda"), recompute=True), run, "cuda")
    assert (gpu.graph, gpu.bfloat16, gpu.recompute) == (False, False, False)
    with pytest.raises(ValueError, match="a backend of cpu for a run on cuda"):
        fitting(usual, run, "cuda")
    with pytest.raises(UserError, match="precision bfloat16: only for architectures of an AnyNetX"):
        fitting(usual, foreign(view, precision="bfloat16"), "cpu")
    model = make_trainer(foreign(view), view, DeviceImages(CPU), options=usual).model
    assert [type(layer) for layer in model.modules()] == [
        type(layer) for layer in own_models.plain(6).modules()
    ]


def test_a_probe_trains_the_last_linear_layer_and_takes_over_the_others(view: DatasetView) -> None:
    before = foreign(view, "transformer", epochs=1)
    weights = initial_network(before, view).state_dict()
    probe = foreign(view, "transformer", epochs=1, trained="head")
    probe = dataclasses.replace(probe, pretrained=before, seed=7)
    network = initial_network(probe, view, weights)
    trained = [name for name, value in network.named_parameters() if value.requires_grad]
    assert trained == ["head.weight", "head.bias"]
    for name, value in network.state_dict().items():
        assert torch.equal(value, weights[name]) == (not name.startswith("head.")), name


def test_weights_of_other_shapes_are_refused_in_a_line(view: DatasetView) -> None:
    before = foreign(view, "transformer")
    weights = initial_network(before, view).state_dict() | {"positions": torch.zeros(1, 9, 16)}
    run = dataclasses.replace(before, pretrained=before)
    with pytest.raises(
        UserError, match=r"positions has the shape \(1, 9, 16\), this network's \(1, 4, 16\)"
    ):
        initial_network(run, view, weights)


@pytest.mark.parametrize("name", ["plain", "transformer"])
def test_its_head_may_be_one_of_images_and_texts(view: DatasetView, name: str) -> None:
    run = foreign(view, name, epochs=1, loss="clip", templates=("a photo of a {}",), embedding=5)
    model = initial_network(run, view)
    head = name_of_head(model)
    assert head == foreign(view, name).architecture.head
    assert isinstance(model.get_submodule(head), ZeroShot)
    assert same(train(run, view, CPU), train(run, view, CPU, engine="reference"))
    assert model(torch.zeros(2, 3, 8, 8)).shape == (2, 6)
