"""The engines against each other and themselves: equal, repeated, resumed, diverged."""

import dataclasses
import gzip
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest
import torch
from quick import slow_but
from torch import Tensor
from training_runs import CPU, ENGINES, EXACT, finished, same, spec, stopped

import anynet_study.engine.training.trainer as trainer_module
from anynet_study.data import DatasetView
from anynet_study.design_space import Architecture
from anynet_study.engine.training import (
    Checkpoint,
    DeviceImages,
    InterruptedRunError,
    Recipe,
    load_weights,
    make_trainer,
    save_weights,
    train,
)
from anynet_study.engine.training.checkpoint import _write
from anynet_study.engine.training.engine import CURVES
from anynet_study.engine.training.optimizers import Update, make_optimizer
from anynet_study.engine.training.options import Engine, Options

RECIPES: dict[str, dict[str, object]] = {
    "padded crops": {"flip": True},
    "random crops": {"crop": "random", "resolution": 6, "flip": True},
    "resized crops": {"crop": "resized", "resolution": 6, "flip": True},
    "tests resized": {
        **{"crop": "resized", "resolution": 6, "lr": 0.01, "test_crop": 0.8, "precise_bn": 50}
    },
    "no crops": {"crop": "none", "label_smoothing": 0.1, "metric": "quadratic_kappa"},
    "augmented": {
        **{"augment": ["colour_jitter", "rotation", "randaugment", "mixup"], "precise_bn": 50},
        **{"flip": True, "accumulation": 2, "epochs": 1},
    },
    "AdamW": {"optimizer": "adamw", "lr": 0.003, "weight_decay": 0.05},
    "Nesterov, accumulated": {"nesterov": True, "accumulation": 2, "warmup_epochs": 1.5},
    "steps": {"steps": 7, "schedule": "multistep", "momentum": 0.0},
    "pairs with texts": {"loss": "clip", "templates": ["a {}", "one {} here"], "embedding": 8},
    "pairs, accumulated": {"loss": "clip", "accumulation": 4, "optimizer": "adamw", "lr": 0.003},
    "grades, other pool": {
        **{"loss": "l1", "pooling": "gem", "augment": ["augmix", "jpeg"], "steps": 3}
    },
    "one small batch": {"batch_size": 4096, "schedule": "constant"},
}
#: What draws numbers at each step.
AUGMENTED = ["vertical_flip", {"mixup": {"probability": 0.4}}, {"cutmix": {"probability": 0.4}}]
BY_DEFAULT = ("padded crops", "tests resized", "steps", "pairs with texts")


@pytest.mark.parametrize(
    "name",
    slow_but(BY_DEFAULT, RECIPES),
)
def test_the_fast_engine_is_the_reference(view: DatasetView, name: str) -> None:
    """Bit for bit without rewrites, up to rounding with them."""
    recipe = RECIPES[name]
    run = spec(view, **({} if "steps" in recipe else {"epochs": 2}) | recipe)
    reference = train(run, view, CPU, engine="reference")
    exact, fast = train(run, view, CPU, options=EXACT), train(run, view, CPU)
    if run.recipe.crop == "resized":  # resized in bulk, by sums in another order
        for curve in ("train_loss", "test_loss"):
            assert exact.curves[curve][0] == pytest.approx(reference.curves[curve][0], rel=1e-3)
    else:
        assert same(reference, exact)
    if run.recipe.loss != "clip":  # whose loss amplifies rounding most
        first = reference.curves["train_loss"][0]
        assert fast.curves["train_loss"][0] == pytest.approx(first, rel=1e-3)
    np.testing.assert_allclose(fast.curves["test_loss"], exact.curves["test_loss"], rtol=0.05)
    # Rounding is amplified with every step: after three, little of it is seen.
    begun = spec(view, **recipe | {"steps": 3, "epochs": None})
    exact, fast = train(begun, view, CPU, options=EXACT), train(begun, view, CPU)
    np.testing.assert_allclose(fast.curves["train_loss"], exact.curves["train_loss"], rtol=1e-4)


def test_tests_of_some_epochs_change_nothing_else(
    view: DatasetView, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Epochs without a test are NaN in the curves of tests, and nothing else is changed."""
    run = spec(view, epochs=5, precise_bn=64, test_every=2)
    with monkeypatch.context() as patch:
        patch.setattr("anynet_study.engine.training.engine.is_tested", lambda *_: True)
        whole = train(run, view, CPU)
    settled, found = [], trainer_module.precise_statistics
    with monkeypatch.context() as patch:
        patch.setattr(
            trainer_module, "precise_statistics", lambda *it: settled.append(it) or found(*it)
        )
        seldom = train(run, view, CPU)
    assert len(settled) == 3  # after the second, the fourth and the last epoch
    assert np.array_equal(seldom.predictions, whole.predictions)
    assert seldom.error == whole.error
    for name in CURVES:
        expected = np.array(whole.curves[name])
        expected[[0, 2] if name.startswith("test") else []] = np.nan
        np.testing.assert_array_equal(seldom.curves[name], expected)
    with pytest.raises(InterruptedRunError):
        stopped(run, view, tmp_path / "run.pt", 13, "fast")
    resumed = train(run, view, CPU, tmp_path / "run.pt")
    np.testing.assert_equal(resumed.curves, seldom.curves)
    assert resumed.error == seldom.error


@pytest.mark.parametrize("options", [EXACT, Options()])
def test_statistics_of_norms_are_those_of_fvcore(
    view: DatasetView, options: Options, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The plain mean of the batches' statistics, of two batches of 32."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of torch, in fvcore's other parts
        from fvcore.nn import precise_bn
    monkeypatch.setattr(
        precise_bn, "_PopulationVarianceEstimator", precise_bn._MeanOfBatchVarianceEstimator
    )
    run = spec(view, precise_bn=64, steps=5)
    trainer = make_trainer(run, view, DeviceImages(CPU), options=options)
    finished(trainer, run, view)
    plain = make_trainer(run, view, DeviceImages(CPU), options=EXACT).model
    plain.load_state_dict(trainer.model.state_dict())
    settled = {name: buffer.clone() for name, buffer in trainer.model.named_buffers()}
    batches: list[Tensor] = []
    trainer.model.register_forward_pre_hook(lambda _, given: batches.append(given[0].clone()))
    assert len(list(trainer.norm_passes(2))) == len(batches) == 2
    precise_bn.update_bn_stats(plain.train(), batches, 2)
    for name, expected in plain.named_buffers():
        if "running" in name:
            torch.testing.assert_close(settled[name], expected, rtol=1e-3, atol=1e-4)


# Checkpoints.


@pytest.mark.parametrize("options", [Options(recompute=True), Options(resident=False)])
def test_saving_memory_changes_nothing(view: DatasetView, options: Options) -> None:
    plain = train(spec(view), view, CPU)
    assert same(train(spec(view), view, CPU, options=options), plain)


@pytest.mark.parametrize("engine", ENGINES)
def test_a_run_stopped_at_any_step_goes_on_as_if_it_was_not(
    view: DatasetView, tmp_path: Path, engine: Engine
) -> None:
    """Of three epochs of 5 steps: within and between epochs, and after the last step."""
    run = spec(view, optimizer="adamw", lr=0.003, augment=AUGMENTED, precise_bn=40)
    for stop in (1, 3, 2, 4, 5):
        with pytest.raises(InterruptedRunError):
            stopped(run, view, tmp_path / "run.pt", stop, engine)
    resumed = train(run, view, CPU, tmp_path / "run.pt", engine=engine)
    assert same(resumed, train(run, view, CPU, engine=engine))


def test_killed_after_the_last_test_only_the_test_is_done_again(
    view: DatasetView, tmp_path: Path
) -> None:
    run = spec(view)
    trainer = make_trainer(run, view, DeviceImages(CPU))
    checkpoint = Checkpoint(tmp_path / "run.pt", run.run_id, "fast")
    outcome = finished(trainer, run, view, checkpoint)
    checkpoint.save(trainer.state(), outcome.curves, epoch=3, steps_done=0)
    assert same(train(run, view, CPU, tmp_path / "run.pt"), outcome)


def test_checkpoints_are_a_configured_time_apart(view: DatasetView, tmp_path: Path) -> None:
    run, times = spec(view), []

    class Counted(Checkpoint):
        def save(self, *what: object) -> None:
            times.append(what[-2:])
            super().save(*what)  # type: ignore[arg-type]

    for seconds in (0.0, 3600.0):
        saved = Counted(tmp_path / f"{seconds}.pt", run.run_id, "fast", seconds)
        finished(make_trainer(run, view, DeviceImages(CPU)), run, view, saved)
    assert times == [(epoch, step) for epoch in range(3) for step in range(1, 6)]


@pytest.mark.slow
@pytest.mark.parametrize("content", [b"garbage", "another run", "another engine"])
def test_an_unusable_checkpoint_costs_time_only(
    view: DatasetView, tmp_path: Path, content: bytes | str, capsys: pytest.CaptureFixture[str]
) -> None:
    path, run = tmp_path / "run.pt", spec(view, steps=2)
    if isinstance(content, bytes):
        path.write_bytes(content)
    else:
        other = dataclasses.replace(run, seed=9) if content == "another run" else run
        engine: Engine = "reference" if content == "another engine" else "fast"
        train(other, view, CPU, path, checkpoint_seconds=0, engine=engine)
    trainer, curves = make_trainer(run, view, DeviceImages(CPU)), {name: [] for name in CURVES}
    assert Checkpoint(path, run.run_id, "fast").load(trainer, curves) == (0, 0)
    assert "run.pt cannot be used (" in capsys.readouterr().err


@pytest.mark.slow
@pytest.mark.parametrize("engine", ENGINES)
def test_a_state_of_other_code_is_not_taken_up_by_half(
    view: DatasetView, tmp_path: Path, engine: Engine
) -> None:
    path, run = tmp_path / "run.pt", spec(view, steps=2)
    fresh = train(run, view, CPU, engine=engine)
    other = make_trainer(dataclasses.replace(run, seed=3), view, DeviceImages(CPU), engine).state()
    last = list(other["model"])[-1]
    # All but the last tensor is taken up before this one is refused.
    short = {**other, "model": {**other["model"], last: torch.zeros(1)}}
    for state in (short, None):
        Checkpoint(path, run.run_id, engine).save(state, {name: [] for name in CURVES}, 0, 1)  # type: ignore[arg-type]
        assert same(train(run, view, CPU, path, engine=engine), fresh)


def test_a_checkpoint_of_another_version_goes_on(
    view: DatasetView, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A file of November 2026, after 7 steps of 15, without `test_error` and with a later curve."""
    network = Architecture((1,), (8,), strides=(2,), stem="simple", stem_width=8, group_widths=(4,))
    run = dataclasses.replace(spec(view), architecture=network)
    kept = Path(__file__).parent / "formats" / "checkpoint-other-curves.pt.gz"
    path = tmp_path / "run.pt"
    path.write_bytes(gzip.decompress(kept.read_bytes()))
    trainer, curves = make_trainer(run, view, DeviceImages(CPU)), {name: [] for name in CURVES}
    assert Checkpoint(path, run.run_id, "fast").load(trainer, curves) == (1, 2)
    assert list(curves) == list(CURVES)
    assert np.isnan(curves["test_error"]).all()
    whole, resumed = train(run, view, CPU), train(run, view, CPU, path)
    assert capsys.readouterr().err == ""
    for name in set(CURVES) - {"test_error"}:
        assert resumed.curves[name] == pytest.approx(whole.curves[name], rel=1e-3)
    assert resumed.curves["test_error"][1:] == pytest.approx(whole.curves["test_error"][1:])
    assert np.isnan(resumed.curves["test_error"][0])


def test_a_flipped_bit_is_noticed_and_said(
    view: DatasetView, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """In any place of a checkpoint and of final weights: nothing is trained from other numbers."""
    path, weights, run = tmp_path / "run.pt", tmp_path / "weights.pt", spec(view, steps=2)
    train(run, view, CPU, path, checkpoint_seconds=0)
    trainer = make_trainer(run, view, DeviceImages(CPU))
    save_weights(weights, run.run_id, trainer.model)
    assert torch.load(weights)["run_id"] == run.run_id, "others can read it, too"
    for file in (path, weights):
        good = file.read_bytes()
        places = np.random.default_rng(0).integers(8 * len(good), size=20).tolist()
        for place in places:
            bad = bytearray(good)
            bad[place // 8] ^= 1 << place % 8
            file.write_bytes(bad)
            if file == path:
                curves: dict[str, list[float]] = {name: [] for name in CURVES}
                assert Checkpoint(path, run.run_id, "fast").load(trainer, curves) == (0, 0)
            else:
                assert load_weights(weights, run.run_id) is None
            assert f"{file.name} cannot be used (" in capsys.readouterr().err


def test_a_checkpoint_runs_no_code(view: DatasetView, tmp_path: Path) -> None:
    class Harm:
        def __reduce__(self) -> tuple[object, ...]:
            return Path.touch, (tmp_path / "harmed",)

    path, run = tmp_path / "run.pt", spec(view)
    _write(path, {"run_id": run.run_id, "engine": "fast", "curves": Harm()})
    assert same(train(run, view, CPU, path), train(run, view, CPU))
    _write(path, {"run_id": run.run_id, "weights": Harm()})
    assert load_weights(path, run.run_id) is None
    assert not (tmp_path / "harmed").exists()


# The update in one kernel against torch's optimisers, fused and plain.

UPDATES = {
    "SGD": Recipe(weight_decay=0.01),
    "SGD without momentum": Recipe(momentum=0.0),
    "Nesterov": Recipe(nesterov=True, weight_decay=0.01),
    "AdamW": Recipe(optimizer="adamw", weight_decay=0.05, betas=(0.8, 0.95)),
}


def descend(recipe: Recipe, how: str, dtype: torch.dtype) -> list[torch.Tensor]:
    """Parameters after ten steps of a falling rate along random gradients; one has none."""
    generator = torch.Generator().manual_seed(0)
    weights = [
        torch.nn.Parameter(torch.randn(shape, generator=generator, dtype=dtype))
        for shape in ((17, 5), (1001,), (3,))
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


@pytest.mark.parametrize("recipe", UPDATES.values(), ids=UPDATES)
def test_equals_torchs_fused_optimiser_to_the_bit_and_the_plain_one_closely(recipe: Recipe) -> None:
    mine = descend(recipe, "one kernel", torch.float32)
    assert all(map(torch.equal, mine, descend(recipe, "fused", torch.float32)))
    mine = descend(recipe, "one kernel", torch.float64)
    for a, b in zip(mine, descend(recipe, "plain", torch.float64), strict=True):
        torch.testing.assert_close(a, b, rtol=1e-5, atol=1e-7)  # rates in float32


@pytest.mark.slow
def test_a_worker_does_without_torchs_compiler() -> None:
    code = (
        "import sys, torch; sys.path[:0] = ['tests/engine/training', 'tests'];"
        "import test_training_engine as t, anynet_study.engine.dispatch.worker;"
        "t.descend(t.UPDATES['SGD'], 'one kernel', torch.float32);"
        "print('torch._dynamo' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
