"""Networks trained on images that have several classes each."""

from pathlib import Path

import numpy as np
import pytest
import torch
from cells import CLASSES, cells
from hypothesis import given
from hypothesis import strategies as st
from sklearn import metrics as theirs
from training_runs import BASIC, NETWORK, same

from anynet_study.data import DatasetView, Variant, make_view
from anynet_study.metrics import chance_error, from_words, to_words, words_an_image
from anynet_study.training import Recipe, RunSpec
from anynet_study.training.augment import Preprocessor
from anynet_study.training.checkpoint import Checkpoint, InterruptedRunError
from anynet_study.training.cuda.together import train_together
from anynet_study.training.engine import make_trainer, steps, train
from anynet_study.training.evaluation import EvaluationSpec, make_evaluation_set
from anynet_study.training.evaluation_pass import evaluate
from anynet_study.training.feeds import DeviceImages
from anynet_study.training.options import EXACT, Engine

CPU = torch.device("cpu")


@pytest.fixture(scope="module")
def view(tmp_path_factory: pytest.TempPathFactory) -> DatasetView:
    return make_view(cells(tmp_path_factory.mktemp("data") / "cells"), Variant(base="cells"))


def spec(view: DatasetView, **changes: object) -> RunSpec:
    recipe = Recipe(**BASIC | changes).resolved(view.size, len(view.classes), view.multi_label)  # type: ignore[arg-type]
    return RunSpec(NETWORK, view.identity, recipe)


@pytest.mark.parametrize("changes", [{}, {"metric": "auroc", "accumulation": 2}])
def test_the_engines_are_equal_bit_for_bit(view: DatasetView, changes: dict[str, object]) -> None:
    run = spec(view, **changes)
    assert same(train(run, view, CPU, engine="reference"), train(run, view, CPU, options=EXACT))


def test_learns_and_errs_as_its_predictions_do(view: DatasetView) -> None:
    run = spec(view, epochs=40, optimizer="adamw", lr=0.003)
    trainer = make_trainer(run, view, DeviceImages(CPU), options=EXACT)
    turns = steps(trainer, run, view, Checkpoint(None, run.run_id, "fast"))
    (ended,) = train_together([lambda: turns], CPU)
    outcome = ended.result
    guesses = from_words(outcome.predictions, len(CLASSES))
    value = theirs.f1_score(view.test_labels, guesses, average="macro", zero_division=0)
    assert outcome.error == pytest.approx(100 * (1 - value))
    with torch.no_grad():
        trainer.model.eval()
        images = torch.tensor(view.images("test")[view.test_index])
        logits = trainer.model(Preprocessor(run.recipe, view.mean, view.std, CPU).test(images))
    odds = logits.sigmoid().double().numpy()
    assert np.array_equal(guesses, odds > 0.5)
    assert theirs.roc_auc_score(view.test_labels, odds, average="macro") > 0.65
    loss = theirs.log_loss(view.test_labels.ravel(), odds.ravel())
    assert outcome.curves["test_loss"][-1] == pytest.approx(loss, rel=1e-4)
    likeliest = view.test_labels[np.arange(len(odds)), odds.argmax(1)]
    assert outcome.curves["test_top1"][-1] == pytest.approx(100 * (1 - likeliest.mean()))


@pytest.mark.parametrize("engine", ["fast", "reference"])
def test_a_stopped_run_goes_on_as_if_it_was_not(
    view: DatasetView, tmp_path: Path, engine: Engine
) -> None:
    run, asked = spec(view), iter(range(100))
    saved = Checkpoint(tmp_path / "run.pt", run.run_id, engine, stop=lambda: next(asked) == 6)
    with pytest.raises(InterruptedRunError):
        list(steps(make_trainer(run, view, DeviceImages(CPU), engine), run, view, saved))
    resumed = train(run, view, CPU, tmp_path / "run.pt", engine=engine)
    assert same(resumed, train(run, view, CPU, engine=engine))


def test_divergence_counts_as_guessing(view: DatasetView) -> None:
    outcome = train(spec(view, lr=1e30), view, CPU)
    assert outcome.status == "diverged"
    assert outcome.error == chance_error(view.test_labels, len(CLASSES), "macro_f1")


def test_evaluations_are_the_run_s_own_test_and_among_some_classes(view: DatasetView) -> None:
    run = spec(view, epochs=2)
    trainer = make_trainer(run, view, DeviceImages(CPU), options=EXACT)
    turns = steps(trainer, run, view, Checkpoint(None, run.run_id, "fast"))
    (ended,) = train_together([lambda: turns], CPU)
    preprocess = Preprocessor(run.recipe, view.mean, view.std, CPU)

    def evaluated(**keys: object):  # type: ignore[no-untyped-def]
        chosen = make_evaluation_set(EvaluationSpec(**keys), view)  # type: ignore[arg-type]
        return chosen, evaluate(trainer.model, preprocess, chosen, CPU)

    _, own = evaluated(transform="identity")
    assert own.top1 == ended.result.curves["test_top1"][-1]
    assert np.array_equal(own.predictions, ended.result.predictions)
    some, among = evaluated(classes=["part 1", "part 9", "part 15"])
    assert among.images == view.test_labels[:, [1, 9, 15]].any(axis=1).sum()
    guesses = from_words(among.predictions, len(CLASSES))
    expected = from_words(ended.result.predictions, len(CLASSES))[some.index] * some.allowed
    assert np.array_equal(guesses, expected)
    assert np.isfinite(among.loss)


@given(st.integers(1, 40), st.integers(1, 20), st.integers(0, 2**32 - 1))
def test_words_hold_any_labels(classes: int, images: int, seed: int) -> None:
    matrix = np.random.default_rng(seed).integers(0, 2, (images, classes))
    words = to_words(matrix)
    assert words.shape == (images * words_an_image(classes),)
    assert words.dtype == np.uint16
    assert words.max() < 65535
    assert np.array_equal(from_words(words, classes), matrix)
    assert to_words(np.ones((1, classes)))[0] == 2 ** min(classes, 15) - 1
