"""The error of a run on each metric, against scikit-learn; one class an image, and several."""

from pathlib import Path

import numpy as np
import pytest
import torch
from cells import CLASSES, cells
from sklearn import metrics as theirs
from torch import Tensor
from training_runs import CPU, ENGINES, EXACT, finished, same, spec

from anynet_study.core.metrics import (
    chance_error,
    f1_thresholds,
    from_words,
    macro_f1_of_labels,
)
from anynet_study.data import DatasetView, Variant, make_view
from anynet_study.engine.training import (
    DeviceImages,
    EvaluationSpec,
    Preprocessor,
    RunSpec,
    evaluate,
    make_evaluation_set,
    make_trainer,
    options,
    train,
    trainer,
)
from anynet_study.engine.training.options import Engine
from anynet_study.engine.training.together import finish
from anynet_study.engine.training.trainer import Trainer

OF_CLASSES = {
    "balanced_accuracy": theirs.balanced_accuracy_score,
    "macro_f1": lambda truth, guesses: theirs.f1_score(truth, guesses, average="macro"),
    "quadratic_kappa": lambda truth, guesses: theirs.cohen_kappa_score(
        truth, guesses, weights="quadratic", labels=range(6)
    ),
}


@pytest.fixture(autouse=True)
def small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    """Several batches in a test pass, the last one filled up."""
    monkeypatch.setattr(options, "LARGEST_BATCH", 50)


@pytest.fixture(scope="module")
def several(tmp_path_factory: pytest.TempPathFactory) -> DatasetView:
    """Images that have several classes each."""
    return make_view(cells(tmp_path_factory.mktemp("data") / "cells"), Variant(base="cells"))


def exact(run: RunSpec, view: DatasetView) -> Trainer:
    return make_trainer(run, view, DeviceImages(CPU), options=EXACT)


def logits_of(model: torch.nn.Module, run: RunSpec, view: DatasetView) -> Tensor:
    """Of the test images, in double precision."""
    images = torch.tensor(view.images("test")[view.test_index])
    preprocess = Preprocessor(run.recipe, view.mean, view.std)
    with torch.no_grad():
        logits: Tensor = model.eval()(preprocess.test(images))
    return logits.double()


@pytest.mark.parametrize("metric", OF_CLASSES)
def test_errors_are_those_of_the_predictions(view: DatasetView, metric: str) -> None:
    run = spec(view, metric=metric)
    outcome = train(run, view, CPU)
    value = OF_CLASSES[metric](view.test_labels, outcome.predictions)
    assert 0 < value < 1
    assert outcome.error == pytest.approx(100 * (1 - value))
    assert outcome.curves["test_error"][-1] == outcome.error
    assert len(outcome.curves["test_error"]) == run.recipe.epochs


@pytest.mark.slow
def test_auroc_is_that_of_the_network_s_probabilities(view: DatasetView) -> None:
    run = spec(view, metric="auroc", epochs=8)
    trainer = exact(run, view)
    outcome = finished(trainer, run, view)
    odds = logits_of(trainer.model, run, view).softmax(1)
    value = theirs.roc_auc_score(view.test_labels, odds, multi_class="ovr")
    assert outcome.error == pytest.approx(100 * (1 - value), abs=1e-3)
    assert outcome.error < 40
    assert same(outcome, train(run, view, CPU, engine="reference"))


@pytest.mark.parametrize(
    ("images", "metric"),
    [*(("view", metric) for metric in [*OF_CLASSES, "auroc", "top1"]), ("several", "macro_f1")],
)
def test_a_diverged_run_counts_as_guessing(
    images: str, metric: str, request: pytest.FixtureRequest
) -> None:
    view: DatasetView = request.getfixturevalue(images)
    outcome = train(spec(view, lr=1e30, metric=metric), view, CPU)
    assert outcome.status == "diverged"
    assert outcome.error == chance_error(view.test_labels, len(view.classes), metric)
    assert len(outcome.predictions) == 0


# Images with several classes each.


@pytest.mark.parametrize("engine", ENGINES)
def test_thresholds_are_chosen_on_validation_images(
    tmp_path: Path, engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    view = make_view(cells(tmp_path / "cells"), Variant(base="cells", validation=1 / 3))
    run, seen = spec(view, thresholds="validation"), []

    def noted(scores: np.ndarray, truth: np.ndarray) -> np.ndarray:
        seen.append((scores, f1_thresholds(scores, truth)))
        assert truth is view.validation_labels
        return seen[0][1]

    monkeypatch.setattr(trainer, "f1_thresholds", noted)
    ours = make_trainer(run, view, DeviceImages(CPU), engine, EXACT)
    outcome = finished(ours, run, view)
    ((scores, moved),) = seen  # once, at the end
    assert moved.any()
    for part, expected in (("validation", scores - moved), ("test", None)):
        logits = torch.cat([batch.clone() for batch in ours.logits(part)]).double().numpy()
        if expected is not None:
            np.testing.assert_allclose(logits, expected, atol=1e-5)
    value = macro_f1_of_labels(view.test_labels, logits > 0)
    assert outcome.error == pytest.approx(100 * (1 - value))
    assert outcome.error != outcome.curves["test_error"][-1], "tests on the way are without"


@pytest.mark.slow
@pytest.mark.parametrize("changes", [{}, {"metric": "auroc", "accumulation": 2}])
def test_the_engines_are_equal_bit_for_bit(
    several: DatasetView, changes: dict[str, object]
) -> None:
    run = spec(several, **changes)
    exactly = train(run, several, CPU, options=EXACT)
    assert same(train(run, several, CPU, engine="reference"), exactly)


@pytest.mark.slow
def test_learns_and_errs_as_its_predictions_do(several: DatasetView) -> None:
    run = spec(several, epochs=40, optimizer="adamw", lr=0.003)
    trainer = exact(run, several)
    outcome = finished(trainer, run, several)
    guesses, truth = from_words(outcome.predictions, len(CLASSES)), several.test_labels
    value = theirs.f1_score(truth, guesses, average="macro", zero_division=0)
    assert outcome.error == pytest.approx(100 * (1 - value))
    odds = logits_of(trainer.model, run, several).sigmoid().numpy()
    assert np.array_equal(guesses, odds > 0.5)
    assert theirs.roc_auc_score(truth, odds, average="macro") > 0.65
    loss = theirs.log_loss(truth.ravel(), odds.ravel())
    assert outcome.curves["test_loss"][-1] == pytest.approx(loss, rel=1e-4)
    likeliest = truth[np.arange(len(odds)), odds.argmax(1)]
    assert outcome.curves["test_top1"][-1] == pytest.approx(100 * (1 - likeliest.mean()))


def test_evaluations_are_the_run_s_own_test_and_among_some_classes(several: DatasetView) -> None:
    run = spec(several, epochs=2)
    trainer = exact(run, several)
    outcome = finished(trainer, run, several)
    preprocess = Preprocessor(run.recipe, several.mean, several.std)
    whole = make_evaluation_set(EvaluationSpec(transform="identity"), several)
    own = finish(evaluate(trainer.model, preprocess, whole, CPU))
    assert own.top1 == outcome.curves["test_top1"][-1]
    assert np.array_equal(own.predictions, outcome.predictions)
    asked = EvaluationSpec(classes=("part 1", "part 9", "part 15"))
    some = make_evaluation_set(asked, several)
    among = finish(evaluate(trainer.model, preprocess, some, CPU))
    assert among.images == several.test_labels[:, [1, 9, 15]].any(axis=1).sum()
    expected = from_words(outcome.predictions, len(CLASSES))[some.index] * some.allowed
    assert np.array_equal(from_words(among.predictions, len(CLASSES)), expected)
    assert np.isfinite(among.loss)
