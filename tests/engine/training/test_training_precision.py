"""In which numbers a run computes: stated by its recipe, or left to the device."""

import dataclasses

import pytest
import torch
from training_runs import CPU, EXACT, same, spec

from anynet_study.core.errors import UserError
from anynet_study.data import DatasetView
from anynet_study.engine.models import Backend
from anynet_study.engine.training import DeviceImages, Options, given_up, make_trainer, train
from anynet_study.engine.training import options as room
from anynet_study.engine.training.options import SAID, fitting

ON_GPU = Options(backend=Backend("rewritten", "sm_90", 1, "cuda"))


def test_engines_agree_in_bfloat16(view: DatasetView) -> None:
    run = spec(view, precision="bfloat16", steps=4)
    reference = train(run, view, CPU, engine="reference")
    assert same(train(run, view, CPU, options=EXACT), reference)
    fast, whole = train(run, view, CPU), train(spec(view, steps=4), view, CPU)
    for other in (fast, whole):
        assert other.curves["train_loss"] == pytest.approx(reference.curves["train_loss"], rel=0.02)
    assert whole.curves != fast.curves


@pytest.mark.parametrize("engine", ["fast", "reference"])
def test_convolutions_compute_as_the_recipe_states(view: DatasetView, engine: str) -> None:
    for precision in (None, "float32", "bfloat16"):
        run = spec(view, precision=precision)
        model = make_trainer(run, view, DeviceImages(CPU), engine, EXACT).model  # type: ignore[arg-type]
        norms: list[torch.dtype] = []
        model.stem.register_forward_hook(lambda _, __, out, norms=norms: norms.append(out.dtype))  # type: ignore[union-attr, operator]
        model(torch.zeros(2, 3, view.size, view.size))
        assert norms == [torch.bfloat16 if precision == "bfloat16" else torch.float32]


def test_a_stated_precision_is_part_of_a_run_and_the_default_is_not(view: DatasetView) -> None:
    usual, half = spec(view), spec(view, precision="bfloat16")
    assert usual.run_id != half.run_id
    assert "precision" not in usual.canonical()
    assert '"precision":"bfloat16"' in half.canonical()


def test_what_is_left_open_is_the_devices(
    view: DatasetView, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(room, "has_bfloat16", lambda: True)
    left, float32 = spec(view), spec(view, precision="float32")
    assert not fitting(Options(), left, "cpu").bfloat16
    assert fitting(ON_GPU, left, "cuda").bfloat16
    assert not fitting(ON_GPU, float32, "cuda").bfloat16
    slower = dataclasses.replace(ON_GPU, bfloat16=False)
    assert fitting(slower, spec(view, precision="bfloat16"), "cuda").bfloat16
    # A record says what was given up, not what was stated or is usual.
    assert given_up(fitting(slower, left, "cuda"), left) == [SAID["bfloat16"]]
    assert given_up(fitting(ON_GPU, float32, "cuda"), float32) == []
    assert given_up(fitting(Options(), left, "cpu"), left) == []
    monkeypatch.setattr(room, "has_bfloat16", lambda: False)
    assert not fitting(ON_GPU, left, "cuda").bfloat16
    assert given_up(fitting(ON_GPU, left, "cuda"), left) == []
    with pytest.raises(UserError, match="precision bfloat16: this GPU has no such numbers"):
        fitting(ON_GPU, spec(view, precision="bfloat16"), "cuda")
