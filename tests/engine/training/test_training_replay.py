"""Runs whose steps, tests and norm passes are recorded and replayed equal those step by step."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from interpreted import few_programs
from quick import slow_but
from replay import Replay
from training_runs import CPU, NETWORK, same, spec

from anynet_study.data import DatasetView
from anynet_study.design_space import Architecture
from anynet_study.engine.models import Backend
from anynet_study.engine.training import RunSpec, fast, graphs, options
from anynet_study.engine.training.checkpoint import Checkpoint, InterruptedRunError
from anynet_study.engine.training.engine import Outcome, steps
from anynet_study.engine.training.fast import FastTrainer
from anynet_study.engine.training.feeds import DeviceImages
from anynet_study.engine.training.options import Options
from anynet_study.engine.training.together import Turns, finish, train_together

#: As a GPU's: no rows, middle taps.
FLOAT32 = Options(Backend("rewritten", "sm_90", 1, "cuda"), channels_last=False, bfloat16=False)
BFLOAT16 = replace(FLOAT32, bfloat16=True)
KERNELS = replace(BFLOAT16, backend=replace(BFLOAT16.backend, triton=True))
BASIC = Architecture((1, 1), (8, 16), strides=(1, 2), stem="simple", block="basic")
EXCITED = replace(NETWORK, stem="imagenet", se_ratio=0.25)
OPERATORS = ["blur", "equalise", "randaugment", "cutmix", {"mixup": {"probability": 0.0}}]
MIXED = [{"mixup": {"probability": 0.5}}, {"cutmix": {"probability": 0.5}}]
CASES: dict[str, tuple[Options, dict[str, Any], Architecture]] = {
    "SGD": (FLOAT32, {"nesterov": True, "flip": True, "precise_bn": 64}, NETWORK),
    "without momentum": (FLOAT32, {"momentum": 0.0, "accumulation": 4}, NETWORK),
    "AdamW, smoothed, in parts": (
        FLOAT32,
        {"optimizer": "adamw", "lr": 0.003, "label_smoothing": 0.1, "accumulation": 2},
        NETWORK,
    ),
    "resized crops, AUROC": (
        FLOAT32,
        {"crop": "resized", "resolution": 6, "flip": True, "metric": "auroc"},
        NETWORK,
    ),
    "whole images": (
        FLOAT32,
        {"crop": "none", "padding": 0, "test_crop": 0.875, "flip": True},
        NETWORK,
    ),
    "augmented": (FLOAT32, {"augment": OPERATORS}, NETWORK),
    "mixed": (FLOAT32, {"augment": MIXED}, NETWORK),
    "images and texts": (
        FLOAT32,
        {"loss": "clip", "templates": ["a {}", "{}"], "accumulation": 2},
        NETWORK,
    ),
    "precise norms, in parts": (
        FLOAT32,
        {"precise_bn": 96, "accumulation": 2, "crop": "resized", "resolution": 6},
        NETWORK,
    ),
    "streamed": (replace(FLOAT32, resident=False), {"accumulation": 2, "precise_bn": 64}, NETWORK),
    "computed twice": (replace(FLOAT32, recompute=True), {"precise_bn": 64}, NETWORK),
    "bfloat16": (BFLOAT16, {"precise_bn": 64}, NETWORK),
    "bfloat16, computed twice": (replace(BFLOAT16, recompute=True), {"accumulation": 2}, NETWORK),
    "bfloat16, pool, excitation": (BFLOAT16, {}, EXCITED),
    "kernels in Triton, computed twice": (
        replace(KERNELS, recompute=True),
        {"steps": 2, "precise_bn": 32},
        BASIC,
    ),
    "basic": (FLOAT32, {"schedule": "multistep", "precise_bn": 64}, BASIC),
    "grades, other pool": (FLOAT32, {"loss": "l1", "pooling": "gem", "augment": ["jpeg"]}, NETWORK),
}
BY_DEFAULT = ("SGD", "precise norms, in parts", "bfloat16")


def turns(
    run: RunSpec,
    view: DatasetView,
    images: DeviceImages,
    options: Options,
    checkpoint: Checkpoint | None = None,
) -> Turns[Outcome]:
    """A run by the trainer of a GPU, whatever the device is."""
    trainer = FastTrainer(run, view, images, options)
    return (
        yield from steps(trainer, run, view, checkpoint or Checkpoint(None, run.run_id, "fast"))
    )


def train(run: RunSpec, view: DatasetView, options: Options, path: Path | None = None) -> Outcome:
    saved = Checkpoint(path, run.run_id, "fast")
    return finish(turns(run, view, DeviceImages(CPU), options, saved))


@pytest.fixture
def record(monkeypatch: pytest.MonkeyPatch) -> Callable[[], list[Replay]]:
    """From its call on, procedures are recorded; the recordings."""

    def begin() -> list[Replay]:
        found: list[Replay] = []

        def recorded(body: Callable[[], None], pool: object) -> Replay:
            found.append(Replay(body, pool))
            return found[-1]

        monkeypatch.setattr(graphs, "cuda_graph", recorded)
        monkeypatch.setattr(fast, "Programs", lambda _: graphs.Programs(True))
        monkeypatch.setattr(graphs, "WARM_UP", 1)
        return found

    return begin


@pytest.fixture(autouse=True)
def batches_of_tests(monkeypatch: pytest.MonkeyPatch) -> None:
    """Several in a pass, the last of them smaller."""
    monkeypatch.setattr(options, "LARGEST_BATCH", 100)
    few_programs(monkeypatch)


@pytest.mark.parametrize(
    "case",
    slow_but(BY_DEFAULT, CASES),
)
def test_a_replayed_run_is_the_run(
    view: DatasetView, record: Callable[[], list[Replay]], case: str
) -> None:
    """A pass of five steps, and one that is cut short."""
    options, recipe, architecture = CASES[case]
    run = replace(spec(view, **{"steps": 6, **recipe}), architecture=architecture)
    eager = train(run, view, options)
    recordings = record()
    assert same(train(run, view, options), eager)
    assert len(recordings) == 2 + ("precise_bn" in recipe)


@pytest.mark.slow
def test_a_network_learns_the_same_with_kernels_in_triton(view: DatasetView) -> None:
    """As it does with torch's operators, which round more often; both are near to float32."""
    run = replace(spec(view, epochs=1), architecture=BASIC)
    ways = FLOAT32, BFLOAT16, KERNELS
    exact, by_torch, by_kernels = (train(run, view, it).curves["train_loss"] for it in ways)
    assert by_torch != by_kernels
    assert by_kernels == pytest.approx(by_torch, rel=0.03)
    assert by_kernels == pytest.approx(exact, rel=0.03)


@pytest.mark.slow
def test_a_replayed_run_goes_on_where_it_was_stopped(
    view: DatasetView, tmp_path: Path, record: Callable[[], list[Replay]]
) -> None:
    run = spec(view, optimizer="adamw", lr=0.003, precise_bn=64, epochs=2)
    eager = train(run, view, FLOAT32)
    record()
    path = tmp_path / "run.pt"
    for after in (1, 4, 4):
        stop = partial(next, map(after.__eq__, count(1)))
        saved = Checkpoint(path, run.run_id, "fast", stop=stop)
        with pytest.raises(InterruptedRunError):
            finish(turns(run, view, DeviceImages(CPU), FLOAT32, saved))
    assert same(train(run, view, FLOAT32, path), eager)


@pytest.mark.slow
@pytest.mark.parametrize("resident", [True, False])
def test_replayed_runs_at_the_same_time(
    view: DatasetView, record: Callable[[], list[Replay]], resident: bool
) -> None:
    runs = [replace(spec(view, precise_bn=32, steps=6), seed=seed) for seed in range(3)]
    options = replace(FLOAT32, resident=resident)
    alone = [train(run, view, options) for run in runs]
    record()
    images = DeviceImages(CPU)
    for ended in train_together([partial(turns, run, view, images, options) for run in runs], CPU):
        assert isinstance(ended.result, Outcome), ended.result
        assert same(ended.result, alone[ended.number])


# The check can fail.
