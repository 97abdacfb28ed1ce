"""On a GPU: every way to train gives the same."""

import dataclasses
from functools import partial
from pathlib import Path

import pytest
import torch
from training_runs import same, spec, turns

from anynet_study.data import DatasetView
from anynet_study.training.checkpoint import Checkpoint, InterruptedRunError
from anynet_study.training.engine import Outcome, train
from anynet_study.training.feeds import DeviceImages
from anynet_study.training.options import Options
from anynet_study.training.together import train_together

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device"),
]
GPU = torch.device("cuda")
FLOAT32 = Options(bfloat16=False)
RECIPES: dict[str, dict[str, object]] = {
    "SGD": {"nesterov": True},
    "AdamW, accumulated": {"optimizer": "adamw", "lr": 0.003, "accumulation": 2},
    "resized crops, AUROC": {"crop": "resized", "resolution": 6, "flip": True, "metric": "auroc"},
}


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
    other = dataclasses.replace(FLOAT32, **change)  # type: ignore[arg-type]
    assert same(train(run, view, GPU, options=FLOAT32), train(run, view, GPU, options=other))


@pytest.mark.parametrize("options", [FLOAT32, dataclasses.replace(FLOAT32, resident=False)])
def test_runs_at_the_same_time_are_what_they_are_alone(view: DatasetView, options: Options) -> None:
    runs = [dataclasses.replace(spec(view), seed=seed) for seed in range(4)]
    source = DeviceImages(GPU)

    starts = [partial(turns, run, view, source, options) for run in runs]
    for ended in train_together(starts, GPU):
        assert isinstance(ended.result, Outcome), ended.result
        assert same(ended.result, train(runs[ended.number], view, GPU, options=options))


@pytest.mark.parametrize("recipe", RECIPES.values(), ids=RECIPES)
def test_bfloat16_differs_by_rounding(view: DatasetView, recipe: dict[str, object]) -> None:
    run = spec(view, **recipe)
    plain, half = (train(run, view, GPU, options=each) for each in (FLOAT32, Options()))
    first = plain.curves["train_loss"][0]
    assert half.curves["train_loss"][0] == pytest.approx(first, rel=0.02)


@pytest.mark.parametrize("stop", [1, 5, 9])
def test_a_run_stopped_at_any_step_goes_on_as_if_it_was_not(
    view: DatasetView, tmp_path: Path, stop: int
) -> None:
    run = spec(view, optimizer="adamw", lr=0.003)
    asked = iter(range(1, 100))
    saved = Checkpoint(tmp_path / "run.pt", run.run_id, "fast", stop=lambda: next(asked) == stop)
    start = partial(turns, run, view, DeviceImages(GPU), FLOAT32, saved)
    (ended,) = train_together([start], GPU)
    assert isinstance(ended.result, InterruptedRunError), ended.result
    resumed = train(run, view, GPU, tmp_path / "run.pt", options=FLOAT32)
    assert same(resumed, train(run, view, GPU, options=FLOAT32))
