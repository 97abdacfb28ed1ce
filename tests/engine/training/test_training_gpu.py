"""On a GPU: every way to train gives the same."""

import dataclasses
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import torch
from training_runs import same, spec, turns

from anynet_study.data import DatasetView
from anynet_study.engine.models import backend_here
from anynet_study.engine.training.checkpoint import Checkpoint, InterruptedRunError
from anynet_study.engine.training.engine import Outcome, train
from anynet_study.engine.training.feeds import DeviceImages
from anynet_study.engine.training.options import Options
from anynet_study.engine.training.together import train_together

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device"),
]
GPU = torch.device("cuda")
RECIPES: dict[str, dict[str, object]] = {
    "SGD": {"nesterov": True},
    "AdamW, accumulated": {"optimizer": "adamw", "lr": 0.003, "accumulation": 2},
    "precise norms": {"precise_bn": 96, "accumulation": 2, "test_crop": 0.75},
    "resized crops, AUROC": {"crop": "resized", "resolution": 6, "flip": True, "metric": "auroc"},
}


def options(**changes: bool) -> Options:
    """A GPU's, in float32 unless said otherwise."""
    kept: dict[str, Any] = {"bfloat16": False, **changes}
    return Options(backend_here(None, "cuda"), **kept)


@pytest.fixture(autouse=True)
def repeatable(monkeypatch: pytest.MonkeyPatch) -> None:
    """Kernels that give the same bits each time."""
    monkeypatch.setattr(torch.backends.cudnn, "deterministic", True)


@pytest.mark.parametrize("recipe", RECIPES.values(), ids=RECIPES)
@pytest.mark.parametrize("change", [{"graph": False}, {"resident": False}, {"recompute": True}])
def test_other_ways_give_the_same_bits(
    view: DatasetView, recipe: dict[str, object], change: dict[str, bool]
) -> None:
    run = spec(view, **recipe)
    usual, other = (train(run, view, GPU, options=options(**it)) for it in ({}, change))
    assert same(usual, other)


@pytest.mark.parametrize("resident", [True, False])
def test_runs_at_the_same_time_are_what_they_are_alone(view: DatasetView, resident: bool) -> None:
    runs = [dataclasses.replace(spec(view, precise_bn=64), seed=seed) for seed in range(4)]
    source, usual = DeviceImages(GPU), options(resident=resident)

    starts = [partial(turns, run, view, source, usual) for run in runs]
    for ended in train_together(starts, GPU):
        assert isinstance(ended.result, Outcome), ended.result
        assert same(ended.result, train(runs[ended.number], view, GPU, options=usual))


@pytest.mark.parametrize("recipe", RECIPES.values(), ids=RECIPES)
def test_bfloat16_differs_by_rounding(view: DatasetView, recipe: dict[str, object]) -> None:
    run = spec(view, **recipe)
    plain, half = (train(run, view, GPU, options=options(bfloat16=it)) for it in (False, True))
    first = plain.curves["train_loss"][0]
    assert half.curves["train_loss"][0] == pytest.approx(first, rel=0.02)


@pytest.mark.parametrize("stop", [1, 5, 9])
def test_a_run_stopped_at_any_step_goes_on_as_if_it_was_not(
    view: DatasetView, tmp_path: Path, stop: int
) -> None:
    run, usual = spec(view, optimizer="adamw", lr=0.003, precise_bn=64), options()
    asked = iter(range(1, 100))
    saved = Checkpoint(tmp_path / "run.pt", run.run_id, "fast", stop=lambda: next(asked) == stop)
    start = partial(turns, run, view, DeviceImages(GPU), usual, saved)
    (ended,) = train_together([start], GPU)
    assert isinstance(ended.result, InterruptedRunError), ended.result
    resumed = train(run, view, GPU, tmp_path / "run.pt", options=usual)
    assert same(resumed, train(run, view, GPU, options=usual))
