"""The engines against each other and themselves: equal, repeated, resumed, diverged."""

import dataclasses
from pathlib import Path
from typing import get_args

import numpy as np
import pytest
import torch
from training_runs import same, spec

from anynet_study.data import DatasetView
from anynet_study.metrics import Metric
from anynet_study.training.checkpoint import Checkpoint, InterruptedRunError
from anynet_study.training.cuda.together import train_together
from anynet_study.training.engine import CURVES, Outcome, make_trainer, steps, train
from anynet_study.training.feeds import DeviceImages
from anynet_study.training.network import load_weights
from anynet_study.training.options import EXACT, Engine, Options

CPU = torch.device("cpu")
RECIPES: dict[str, dict[str, object]] = {
    "padded crops": {"flip": True},
    "random crops": {"crop": "random", "resolution": 6, "flip": True},
    "resized crops": {"crop": "resized", "resolution": 6, "flip": True},
    "no crops": {"crop": "none", "label_smoothing": 0.1},
    "AdamW": {"optimizer": "adamw", "lr": 0.003, "weight_decay": 0.05},
    "Nesterov, accumulated": {"nesterov": True, "accumulation": 2, "warmup_epochs": 1.5},
    "steps": {"steps": 7, "schedule": "multistep", "momentum": 0.0},
    "one small batch": {"batch_size": 4096, "schedule": "constant"},
}


@pytest.mark.parametrize("recipe", RECIPES.values(), ids=RECIPES)
def test_the_fast_engine_is_the_reference_bit_for_bit(
    view: DatasetView, recipe: dict[str, object]
) -> None:
    run = spec(view, **recipe)
    reference = train(run, view, CPU, engine="reference")
    fast = train(run, view, CPU, options=EXACT)
    if run.recipe.crop == "resized":  # resized in bulk, by sums in another order
        first = reference.curves["train_loss"][0]
        assert fast.curves["train_loss"][0] == pytest.approx(first, rel=1e-4)
    else:
        assert same(reference, fast)


@pytest.mark.parametrize("recipe", RECIPES.values(), ids=RECIPES)
def test_rewritten_it_differs_by_rounding(view: DatasetView, recipe: dict[str, object]) -> None:
    run = spec(view, **recipe)
    exact, fast = train(run, view, CPU, options=EXACT), train(run, view, CPU)
    first = exact.curves["train_loss"][0]
    assert fast.curves["train_loss"][0] == pytest.approx(first, rel=1e-3)
    np.testing.assert_allclose(fast.curves["test_loss"], exact.curves["test_loss"], rtol=0.05)


@pytest.mark.parametrize("options", [Options(recompute=True), Options(resident=False)])
def test_saving_memory_changes_nothing(
    view: DatasetView, options: Options, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain = train(spec(view), view, CPU)
    assert same(train(spec(view), view, CPU, options=options), plain)


def test_learns_and_says_what_it_predicts(view: DatasetView) -> None:
    outcome = train(spec(view, epochs=20), view, CPU)
    assert outcome.status == "completed"
    assert outcome.error < 40  # guessing: 83
    wrong = outcome.predictions != np.asarray(view.test_labels)
    assert outcome.error == pytest.approx(100 * wrong.mean())
    assert outcome.error == outcome.curves["test_top1"][-1]
    assert set(outcome.curves) == set(CURVES)
    assert all(len(curve) == 20 for curve in outcome.curves.values())
    top1, top5 = (np.asarray(outcome.curves[name]) for name in ("test_top1", "test_top5"))
    assert (top5 <= top1).all()
    assert top1.max() <= 100


def test_a_repeated_run_is_equal_and_another_seed_is_not(view: DatasetView) -> None:
    first = train(spec(view), view, CPU)
    assert same(first, train(spec(view), view, CPU))
    other = dataclasses.replace(spec(view), seed=1)
    assert first.curves != train(other, view, CPU).curves


#: Steps after which a run of three epochs of 5 steps is stopped: within and between epochs.
@pytest.mark.parametrize("engine", ["fast", "reference"])
@pytest.mark.parametrize("stops", [[1], [3, 5, 9], [15]])
def test_a_run_stopped_at_any_step_goes_on_as_if_it_was_not(
    view: DatasetView, tmp_path: Path, engine: Engine, stops: list[int]
) -> None:
    run = spec(view, optimizer="adamw", lr=0.003)
    done = 0
    for stop in stops:

        def reached(stop: int = stop) -> bool:
            nonlocal done
            done += 1
            return done == stop

        saved = Checkpoint(tmp_path / "run.pt", run.run_id, engine, stop=reached)
        with pytest.raises(InterruptedRunError):
            list(steps(make_trainer(run, view, DeviceImages(CPU), engine), run, view, saved))
    resumed = train(run, view, CPU, tmp_path / "run.pt", engine=engine)
    assert done == stops[-1]
    assert same(resumed, train(run, view, CPU, engine=engine))


@pytest.mark.parametrize("metric", get_args(Metric))
def test_a_run_goes_on_whatever_its_metric(
    view: DatasetView, tmp_path: Path, metric: Metric
) -> None:
    run = spec(view, metric=metric)
    asked = iter(range(1, 100))
    saved = Checkpoint(tmp_path / "run.pt", run.run_id, "fast", stop=lambda: next(asked) == 12)
    with pytest.raises(InterruptedRunError):
        list(steps(make_trainer(run, view, DeviceImages(CPU)), run, view, saved))
    trainer, curves = make_trainer(run, view, DeviceImages(CPU)), {name: [] for name in CURVES}
    assert saved.load(trainer, curves, [5, 5, 5]) == (2, 2)
    resumed = train(run, view, CPU, tmp_path / "run.pt")
    assert same(resumed, train(run, view, CPU))


def test_killed_after_the_last_test_only_the_test_is_done_again(
    view: DatasetView, tmp_path: Path
) -> None:
    run = spec(view)
    trainer = make_trainer(run, view, DeviceImages(CPU))
    checkpoint = Checkpoint(tmp_path / "run.pt", run.run_id, "fast")
    (ended,) = train_together([lambda: steps(trainer, run, view, checkpoint)], CPU)
    assert isinstance(ended.result, Outcome)
    checkpoint.save(trainer.state(), ended.result.curves, epoch=3, steps_done=0)
    assert same(train(run, view, CPU, tmp_path / "run.pt"), ended.result)


def test_checkpoints_are_a_configured_time_apart(view: DatasetView, tmp_path: Path) -> None:
    run, times = spec(view), []

    class Counted(Checkpoint):
        def save(self, *what: object) -> None:
            times.append(what[-2:])
            super().save(*what)  # type: ignore[arg-type]

    for seconds in (0.0, 3600.0):
        saved = Counted(tmp_path / f"{seconds}.pt", run.run_id, "fast", seconds)
        list(steps(make_trainer(run, view, DeviceImages(CPU)), run, view, saved))
    assert times == [(epoch, step) for epoch in range(3) for step in range(1, 6)]


@pytest.mark.parametrize("content", [b"", b"garbage", "another run", "another engine"])
def test_an_unusable_checkpoint_costs_time_only(
    view: DatasetView, tmp_path: Path, content: bytes | str
) -> None:
    path, run = tmp_path / "run.pt", spec(view)
    if isinstance(content, bytes):
        path.write_bytes(content)
    else:
        other = dataclasses.replace(run, seed=9) if content == "another run" else run
        engine: Engine = "reference" if content == "another engine" else "fast"
        train(other, view, CPU, path, checkpoint_seconds=0, engine=engine)
    assert same(train(run, view, CPU, path), train(run, view, CPU))


@pytest.mark.parametrize("engine", ["fast", "reference"])
def test_a_checkpoint_that_cannot_be_of_this_run_costs_time_only(
    view: DatasetView, tmp_path: Path, engine: Engine
) -> None:
    """Readable, of this run by its own account, and wrong: of other code, or made to harm."""
    path, run = tmp_path / "run.pt", spec(view)
    fresh = train(run, view, CPU, engine=engine)
    train(run, view, CPU, path, checkpoint_seconds=0, engine=engine)
    good = torch.load(path, weights_only=True)
    assert (good["epoch"], good["steps_done"]) == (2, 5)
    other = make_trainer(dataclasses.replace(run, seed=3), view, DeviceImages(CPU), engine).state()
    last = list(other["model"])[-1]
    # All but the last tensor is taken up before this one is refused.
    short = {**other, "model": {**other["model"], last: torch.zeros(1)}}
    parts = {key: value for key, value in other.items() if key != "sums"}
    changes: list[dict[str, object]] = [
        {"epoch": 7},
        {"epoch": -1},
        {"steps_done": 6},
        {"curves": {name: [] for name in CURVES}},
        {"curves": {}},
        {"trainer": short},
        {"trainer": parts},
        {"trainer": None},
        {"seconds": None},
    ]
    for change in changes:
        torch.save(good | change, path)
        assert same(train(run, view, CPU, path, engine=engine), fresh), change
    for key in good:
        torch.save({name: value for name, value in good.items() if name != key}, path)
        assert same(train(run, view, CPU, path, engine=engine), fresh), key


def test_a_checkpoint_runs_no_code(view: DatasetView, tmp_path: Path) -> None:
    class Harm:
        def __reduce__(self) -> tuple[object, ...]:
            return Path.touch, (tmp_path / "harmed",)

    path, run = tmp_path / "run.pt", spec(view)
    torch.save({"run_id": run.run_id, "engine": "fast", "curves": Harm()}, path)
    assert same(train(run, view, CPU, path), train(run, view, CPU))
    torch.save({"run_id": run.run_id, "weights": Harm()}, path)
    assert load_weights(path, run.run_id) is None
    assert not (tmp_path / "harmed").exists()


def test_divergence_is_an_outcome_with_the_error_of_guessing(view: DatasetView) -> None:
    outcome = train(spec(view, lr=1e30), view, CPU)
    counts = np.bincount(view.test_labels)
    assert outcome.status == "diverged"
    assert outcome.error == pytest.approx(100 * (1 - counts.max() / counts.sum()))
    assert len(outcome.predictions) == 0
