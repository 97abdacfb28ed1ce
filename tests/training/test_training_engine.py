"""The training loop against a plain one, and against itself: repeated, resumed, diverged."""

import dataclasses
from pathlib import Path

import numpy as np
import pytest
import torch
from torch.nn import functional as F

from anynet_study.data import DatasetView, Variant, load_dataset, make_view
from anynet_study.design_space import Architecture
from anynet_study.models import build
from anynet_study.training import Recipe, RunSpec
from anynet_study.training.engine import CURVES, Outcome, train
from anynet_study.training.schedule import learning_rate

CPU = torch.device("cpu")
NETWORK = Architecture(
    depths=(1, 2, 1, 1),
    widths=(8, 16, 16, 32),
    bottleneck_ratios=(1, 2, 1, 1),
    group_widths=(4, 8, 1, 16),
    stem="cifar",
    stem_width=8,
)
RECIPE = Recipe(epochs=3, batch_size=32, lr=0.05, flip=False, crop="pad", padding=1)


@pytest.fixture(scope="module")
def view(tmp_path_factory: pytest.TempPathFactory) -> DatasetView:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ANYNET_DATA", str(tmp_path_factory.mktemp("data")))
        return make_view(load_dataset("digits"), Variant(base="digits", classes=6, per_class=30))


@pytest.fixture(autouse=True)
def one_thread() -> None:
    torch.set_num_threads(1)


def spec(view: DatasetView, **changes: object) -> RunSpec:
    recipe = RECIPE.model_copy(update=changes).resolved(view.size)
    return RunSpec(NETWORK, view.identity, recipe)


def plain_loop(run: RunSpec, view: DatasetView) -> tuple[list[float], list[float]]:
    """Train losses and final test logits' errors, an image at a time, in default layout."""
    recipe = run.recipe
    generator = torch.Generator().manual_seed(run.seed_for("initialisation"))
    model = build(run.architecture, len(view.classes), generator=generator)
    optimizer = torch.optim.SGD(
        model.parameters(), lr=1.0, momentum=recipe.momentum, weight_decay=recipe.weight_decay
    )
    mean = torch.tensor(view.mean).float().view(3, 1, 1)
    std = torch.tensor(view.std).float().view(3, 1, 1)
    images = torch.from_numpy(view.images("train")[view.train_index]).permute(0, 3, 1, 2)
    labels = torch.from_numpy(np.asarray(view.train_labels, dtype=np.int64))
    losses, errors = [], []
    steps = len(images) // recipe.batch_size
    for epoch in range(recipe.epochs):
        order = torch.Generator().manual_seed(run.seed_for("order", epoch))
        chance = torch.Generator().manual_seed(run.seed_for("augmentation", epoch))
        positions = torch.randperm(len(images), generator=order)
        total = 0.0
        model.train()
        for step in range(steps):
            chosen = positions[step * recipe.batch_size :][: recipe.batch_size]
            draws = torch.rand(3, len(chosen), generator=chance)
            batch = []
            for number, image in enumerate(images[chosen]):
                padded = F.pad((image.float() / 255 - mean) / std, (1, 1, 1, 1))
                top, left = int(draws[0, number] * 3), int(draws[1, number] * 3)
                batch.append(padded[:, top : top + 8, left : left + 8])
            optimizer.param_groups[0]["lr"] = learning_rate(recipe, epoch * steps + step, steps)
            loss = F.cross_entropy(model(torch.stack(batch)), labels[chosen])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item()
        losses.append(total / steps)
        model.eval()
        tested = torch.from_numpy(view.images("test")[view.test_index]).permute(0, 3, 1, 2)
        with torch.no_grad():
            guesses = model((tested.float() / 255 - mean) / std).argmax(1).numpy()
        errors.append(100 * float(np.mean(guesses != view.test_labels)))
    return losses, errors


def same(a: Outcome, b: Outcome) -> bool:
    return (
        a.curves == b.curves
        and np.array_equal(a.predictions, b.predictions)
        and (a.status, a.error) == (b.status, b.error)
    )


def test_equals_a_plain_loop(view: DatasetView) -> None:
    outcome = train(spec(view), view, CPU)
    losses, errors = plain_loop(spec(view), view)
    np.testing.assert_allclose(outcome.curves["train_loss"], losses, rtol=1e-3)
    one_image = 100 / len(view.test_index)
    np.testing.assert_allclose(outcome.curves["test_top1"], errors, atol=2 * one_image)


def test_learns_and_says_what_it_predicts(view: DatasetView) -> None:
    outcome = train(spec(view, epochs=20), view, CPU)
    assert outcome.status == "completed"
    assert outcome.error < 40  # guessing: 83
    wrong = outcome.predictions != np.asarray(view.test_labels)
    assert outcome.error == pytest.approx(100 * wrong.mean())
    assert outcome.error == outcome.curves["test_top1"][-1]
    assert set(outcome.curves) == set(CURVES)
    assert all(len(curve) == 20 for curve in outcome.curves.values())
    assert max(outcome.curves["test_top5"]) <= min(100.0, *outcome.curves["test_top1"])


def test_a_repeated_run_is_equal_and_another_seed_is_not(view: DatasetView) -> None:
    first = train(spec(view), view, CPU)
    assert same(first, train(spec(view), view, CPU))
    other = dataclasses.replace(spec(view), seed=1)
    assert first.curves != train(other, view, CPU).curves


@pytest.mark.parametrize("stop_after", [1, 2, 3])
def test_a_resumed_run_equals_an_uninterrupted_one(
    view: DatasetView, tmp_path: Path, stop_after: int
) -> None:
    class KilledError(Exception):
        pass

    def kill(epochs_done: int) -> None:
        if epochs_done == stop_after + 1:  # after the checkpoint of epoch `stop_after`
            raise KilledError

    checkpoint = tmp_path / "run.pt"
    if stop_after < 3:
        with pytest.raises(KilledError):
            train(spec(view), view, CPU, checkpoint, checkpoint_seconds=0, on_epoch=kill)
    else:  # killed after the last checkpoint, before the record was written
        train(spec(view), view, CPU, checkpoint, checkpoint_seconds=0)
    trained: list[int] = []
    resumed = train(spec(view), view, CPU, checkpoint, on_epoch=trained.append)
    assert trained == list(range(stop_after + 1, 4))
    assert same(resumed, train(spec(view), view, CPU))


@pytest.mark.parametrize("content", [b"", b"garbage", None])
def test_an_unusable_checkpoint_costs_time_only(
    view: DatasetView, tmp_path: Path, content: bytes | None
) -> None:
    checkpoint = tmp_path / "run.pt"
    if content is None:  # of another run
        other = dataclasses.replace(spec(view), seed=9)
        train(other, view, CPU, checkpoint, checkpoint_seconds=0)
    else:
        checkpoint.write_bytes(content)
    assert same(train(spec(view), view, CPU, checkpoint), train(spec(view), view, CPU))


def test_divergence_is_an_outcome_with_the_error_of_guessing(view: DatasetView) -> None:
    outcome = train(spec(view, lr=1e30, warmup_epochs=0.0), view, CPU)
    counts = np.bincount(view.test_labels)
    assert outcome.status == "diverged"
    assert outcome.error == pytest.approx(100 * (1 - counts.max() / counts.sum()))
    assert len(outcome.predictions) == 0


def test_fewer_images_than_a_batch_still_train(view: DatasetView) -> None:
    outcome = train(spec(view, batch_size=4096, epochs=2), view, CPU)
    assert len(outcome.curves["train_loss"]) == 2


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")
def test_a_gpu_learns_the_same(view: DatasetView) -> None:
    run = spec(view, epochs=6)
    on_gpu, on_cpu = train(run, view, torch.device("cuda")), train(run, view, CPU)
    first = on_cpu.curves["train_loss"][0]
    assert on_gpu.curves["train_loss"][0] == pytest.approx(first, rel=0.02)
    assert abs(on_gpu.error - on_cpu.error) < 15
