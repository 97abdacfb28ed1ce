"""Runs that look at validation images: when they end, and whose weights they keep."""

import dataclasses
from pathlib import Path

import numpy as np
import pytest
import torch
from training_runs import CPU, EXACT, finished, same, spec, stopped

from anynet_study.data import DatasetView, Variant, load_dataset, make_view
from anynet_study.engine.training import DeviceImages, InterruptedRunError, make_trainer, train

#: Its errors on the validation images rise and fall.
SHAKY = {"epochs": 8, "lr": 0.04, "batch_size": 16, "schedule": "constant"}


@pytest.fixture(scope="module")
def view(tmp_path_factory: pytest.TempPathFactory) -> DatasetView:
    """108 digits of six classes to train on, 36 to validate on."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ANYNET_DATA", str(tmp_path_factory.mktemp("data")))
        stated = Variant(base="digits", classes=6, per_class=24, validation=0.25)
        return make_view(load_dataset("digits"), stated)


def plain_errors(view: DatasetView, run: object, epochs: int) -> list[tuple[float, dict]]:
    """Validation error in percent and weights after each epoch, looked at by a plain loop."""
    trainer, found = make_trainer(run, view, DeviceImages(CPU), options=EXACT), []
    images = torch.tensor(view.images("train")[view.validation_index]).permute(0, 3, 1, 2)
    mean, std = (torch.tensor(of).view(1, 3, 1, 1) for of in (view.mean, view.std))
    seen = ((images.double() / 255 - mean) / std).float()
    for epoch in range(epochs):
        trainer.begin_epoch(epoch)
        for _ in range(trainer.steps):
            trainer.step()
        trainer.model.eval()
        with torch.no_grad():
            guesses = trainer.model(seen).argmax(1).numpy()
        weights = {name: value.clone() for name, value in trainer.model.state_dict().items()}
        found.append((100 * float(np.mean(guesses != view.validation_labels)), weights))
    return found


def best_of(errors: list[float], patience: int | None) -> tuple[int, int]:
    """The first epoch with the lowest error before patience ends, and how many there are then."""
    for done in range(1, len(errors) + 1):
        best = int(np.argmin(errors[:done]))
        if patience is not None and done - 1 - best >= patience:
            return best, done
    return int(np.argmin(errors)), len(errors)


@pytest.mark.slow
@pytest.mark.parametrize(("select", "patience"), [("best", None), ("best", 1), ("last", 2)])
def test_the_chosen_epoch_and_the_end_are_those_of_a_plain_loop(
    view: DatasetView, select: str, patience: int | None
) -> None:
    run = spec(view, **SHAKY, select=select, patience=patience)
    plain = plain_errors(view, run, 8)
    best, epochs = best_of([error for error, _ in plain], patience)
    assert best < epochs - 1, "the last epoch is the best one: nothing is tested"
    if select == "last":
        best = epochs - 1
        assert epochs < 8
    trainer = make_trainer(run, view, DeviceImages(CPU), options=EXACT)
    outcome = finished(trainer, run, view)
    assert len(outcome.curves["test_error"]) == epochs
    assert outcome.error == outcome.curves["test_error"][best]
    for name, value in trainer.model.state_dict().items():
        assert torch.equal(value, plain[best][1][name]), name
    if select == "best":
        assert outcome.remark == f"lowest validation error after epoch {best + 1} of {epochs}"


@pytest.mark.slow
def test_a_run_that_ends_after_an_epoch_without_a_test_is_tested(
    view: DatasetView, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = spec(view, **SHAKY, patience=2, test_every=8)
    seldom = train(run, view, CPU, options=EXACT)
    monkeypatch.setattr("anynet_study.engine.training.engine.is_tested", lambda *_: True)
    whole = train(run, view, CPU, options=EXACT)
    assert len(seldom.curves["test_error"]) == len(whole.curves["test_error"]) < 8
    assert np.isnan(seldom.curves["test_error"]).all()
    assert seldom.error == whole.error


@pytest.mark.slow
def test_selection_never_sees_the_test_images_or_their_labels(view: DatasetView) -> None:
    """With other test labels, and with other test images, the same weights are chosen."""
    run, chosen = spec(view, **SHAKY, select="best", patience=3), []
    shuffled = np.random.default_rng(0).permutation(view.test_labels)
    others = view.test_index[: len(view.test_index) // 2]
    views = [
        view,
        dataclasses.replace(view, test_labels=shuffled),
        dataclasses.replace(view, test_index=others, test_labels=view.test_labels[: len(others)]),
    ]
    for seen in views:
        trainer = make_trainer(run, seen, DeviceImages(CPU))
        outcome = finished(trainer, run, seen)
        chosen.append((outcome, trainer.model.state_dict()))
    assert len({outcome.error for outcome, _ in chosen}) == 3
    for outcome, weights in chosen[1:]:
        assert outcome.remark == chosen[0][0].remark
        assert all(torch.equal(weights[name], value) for name, value in chosen[0][1].items())


@pytest.mark.slow
def test_a_stopped_run_selects_as_if_it_was_not(view: DatasetView, tmp_path: Path) -> None:
    run = spec(view, **SHAKY, select="best", patience=3)
    for steps in (10, 9, 7):
        with pytest.raises(InterruptedRunError):
            stopped(run, view, tmp_path / "run.pt", steps, "fast")
    resumed = train(run, view, CPU, tmp_path / "run.pt")
    whole = train(run, view, CPU)
    assert same(resumed, whole)
    assert resumed.remark == whole.remark


def test_killed_after_the_end_it_has_ended(view: DatasetView, tmp_path: Path) -> None:
    """The checkpoint that evaluations leave: a run that lost patience is not trained on."""
    run = spec(view, **SHAKY, select="best", patience=1)
    trainer = make_trainer(run, view, DeviceImages(CPU))
    saved = stopped(run, view, tmp_path / "run.pt", 10_000, "fast")
    outcome = finished(trainer, run, view)
    epochs = len(outcome.curves["test_loss"])
    assert epochs < 8
    saved.save(trainer.state(), outcome.curves, epochs, steps_done=0)
    assert same(train(run, view, CPU, tmp_path / "run.pt"), outcome)


def test_validation_images_are_seen_as_test_images_are(view: DatasetView) -> None:
    """The logits of both engines on them."""
    run = spec(view, **SHAKY, patience=1, crop="random", resolution=6)
    logits = []
    for engine in ("fast", "reference"):
        trainer = make_trainer(run, view, DeviceImages(CPU), engine, EXACT)
        trainer.model.eval()
        logits.append(torch.cat(list(trainer.logits("validation"))))
    assert logits[0].shape == (36, 6)
    torch.testing.assert_close(*logits)
