"""Every metric against scikit-learn's on random predictions; the error of guessing against all."""

import warnings

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn import metrics as theirs

from anynet_study.core import metrics as ours
from anynet_study.engine.training.metrics import auroc


@st.composite
def guesses(draw: st.DrawFn) -> tuple[np.ndarray, np.ndarray, int]:
    """Truth, predictions and the number of classes, of which some may be missing."""
    classes, images = draw(st.integers(2, 12)), draw(st.integers(2, 60))
    generator = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    truth = generator.integers(0, draw(st.integers(1, classes)), images)
    wrong = generator.random(images) < draw(st.sampled_from([0.0, 0.3, 1.0]))
    return truth, np.where(wrong, generator.integers(0, classes, images), truth), classes


@settings(max_examples=30)
@given(guesses())
def test_metrics_of_predicted_classes(given):
    truth, predictions, classes = given
    confusion = ours.confusion_matrix(truth, predictions, classes)
    every = range(classes)
    np.testing.assert_array_equal(
        confusion, theirs.confusion_matrix(truth, predictions, labels=every)
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of classes that are not there
        balanced = theirs.balanced_accuracy_score(truth, predictions)
        kappa = theirs.cohen_kappa_score(truth, predictions, labels=every, weights="quadratic")
    assert ours.accuracy(confusion) == pytest.approx(theirs.accuracy_score(truth, predictions))
    assert ours.balanced_accuracy(confusion) == pytest.approx(balanced)
    assert ours.macro_f1(confusion) == pytest.approx(
        theirs.f1_score(truth, predictions, average="macro")
    )
    assert ours.quadratic_kappa(confusion) == pytest.approx(np.nan_to_num(kappa))
    recall = theirs.recall_score(
        truth, predictions, labels=every, average=None, zero_division=np.nan
    )
    np.testing.assert_allclose(ours.class_accuracy(confusion), recall)


@given(st.integers(2, 5), st.integers(2, 40), st.integers(0, 2**32 - 1))
def test_macro_f1_of_several_labels(classes, images, seed):
    truth, predictions = np.random.default_rng(seed).random((2, images, classes)) < [
        [[0.3]],
        [[0.5]],
    ]
    expected = theirs.f1_score(truth, predictions, average="macro", zero_division=0)
    assert ours.macro_f1_of_labels(truth, predictions) == pytest.approx(expected)


@settings(max_examples=10)
@given(st.integers(1, 20), st.integers(0, 2**32 - 1), st.booleans())
def test_thresholds_are_the_best_of_all_cuts(images, seed, ties):
    generator = np.random.default_rng(seed)
    values = generator.normal(size=(images, 3)).round(1 if ties else 9)
    truth = generator.random((images, 3)) < [0.0, 0.3, 0.8]
    found = ours.f1_thresholds(values, truth)

    def f1(label: int, threshold: float) -> float:
        said = values[:, label] > threshold
        return theirs.f1_score(truth[:, label], said, zero_division=0)

    for label in range(3):
        every = [-1e9, *(np.unique(values[:, label])), 0.0]
        assert f1(label, found[label]) == pytest.approx(max(f1(label, cut) for cut in every))
        if f1(label, 0.0) == f1(label, found[label]):
            assert found[label] == 0


def scores(images: int, classes: int, seed: int, ties: bool) -> np.ndarray:
    drawn = np.random.default_rng(seed).normal(size=(images, classes)).astype(np.float32)
    return np.round(drawn) if ties else drawn


SCORES = (st.integers(8, 60), st.integers(0, 2**32 - 1), st.booleans())


@given(*SCORES)
def test_auroc_of_two_classes(images, seed, ties):
    logits, truth = scores(images, 2, seed, ties), np.arange(images) % 2
    expected = theirs.roc_auc_score(truth, logits[:, 1].astype(float) - logits[:, 0])
    assert auroc(torch.tensor(logits), truth) == pytest.approx(expected)


@pytest.mark.slow
@settings(deadline=None)
@given(*SCORES, st.integers(3, 8))
def test_auroc_of_more_classes_is_the_mean_of_one_against_the_rest(images, seed, ties, classes):
    logits, truth = torch.tensor(scores(images, classes, seed, ties)), np.arange(images) % classes
    odds = np.exp(logits.double().numpy() - logits.double().numpy().max(axis=1, keepdims=True))
    probabilities = odds / odds.sum(axis=1, keepdims=True)  # as ours rounds: ties are ties there
    expected = theirs.roc_auc_score(
        truth, probabilities, multi_class="ovr", average="macro", labels=range(classes)
    )
    assert auroc(logits, truth) == pytest.approx(expected)


@given(*SCORES)
def test_auroc_of_several_labels(images, seed, ties):
    logits, truth = (
        scores(images, 3, seed, ties),
        np.random.default_rng(seed).random((images, 3)) < 0.5,
    )
    truth[:2] = [[True] * 3, [False] * 3]
    expected = theirs.roc_auc_score(truth, logits, average="macro")
    assert auroc(torch.tensor(logits), truth) == pytest.approx(expected)


def test_classes_without_both_kinds_of_images_do_not_count():
    logits = torch.randn(20, 3)
    truth = np.arange(20) % 2  # nothing of the third
    probabilities = logits.double().softmax(1).numpy()
    areas = [theirs.roc_auc_score(truth == c, probabilities[:, c]) for c in (0, 1)]
    assert auroc(logits, truth) == pytest.approx(np.mean(areas))
    assert auroc(logits, np.zeros(20, int)) == 0.5


@given(st.integers(2, 6), st.integers(6, 50), st.integers(0, 2**32 - 1))
def test_no_constant_guess_is_better_than_chance(classes, images, seed):
    truth = np.random.default_rng(seed).integers(0, classes, images)
    for metric in ("top1", "balanced_accuracy", "macro_f1", "quadratic_kappa"):
        errors = [
            ours.prediction_error(metric, truth, np.full(images, guess), classes)
            for guess in np.unique(truth)
        ]
        assert ours.chance_error(truth, classes, metric) == pytest.approx(min(errors)), metric
    assert ours.chance_error(truth, classes, "auroc") == 50


def test_chance_with_several_labels():
    truth = np.array([[1, 1, 0], [1, 0, 0], [0, 0, 1], [1, 0, 0]], np.uint8)
    assert ours.chance_error(truth, 3, "top1") == 25
    assert ours.chance_error(truth, 3, "top5") == 0
    f1 = np.mean([2 * 3 / 7, 2 * 1 / 5, 2 * 1 / 5])
    assert ours.chance_error(truth, 3, "macro_f1") == pytest.approx(100 * (1 - f1))


def test_errors_are_percent_of_what_is_missing():
    assert ours.error_of(0.75) == 25
    assert ours.error_of(1.0) == 0
    assert ours.error_of(-0.4) == 100


@pytest.mark.parametrize("metric", ["top1", "balanced_accuracy", "macro_f1", "quadratic_kappa"])
@pytest.mark.parametrize("several", [False, True])
def test_intervals_are_those_of_images_drawn_again(metric: str, several: bool) -> None:
    """Against resampled images themselves; ends differ by chance, and by the one image more."""
    generator = np.random.default_rng(3)
    truth = generator.integers(0, 3, (200, 4) if several else 200)
    wrong = generator.random(truth.shape) < 0.3
    predictions = np.where(wrong, generator.integers(0, 3, truth.shape), truth)
    if several:
        if metric != "macro_f1":
            return
        truth, predictions = truth > 1, predictions > 1
    values = []
    for _ in range(2000):
        drawn = generator.integers(0, 200, 200)
        values.append(ours.prediction_error(metric, truth[drawn], predictions[drawn], 3))
    low, high = ours.error_interval(metric, truth, predictions, 3, resamples=2000)
    assert low < ours.prediction_error(metric, truth, predictions, 3) < high
    assert (low, high) == pytest.approx(np.percentile(values, [2.5, 97.5]), abs=1.5)
    narrow = ours.error_interval(metric, truth, predictions, 3, level=0.5)
    assert low < narrow[0] < narrow[1] < high


@pytest.mark.slow
@pytest.mark.parametrize("classes", [2, 4])
def test_intervals_of_aurocs_are_those_of_resampled_images(classes):
    generator = np.random.default_rng(classes)
    truth = generator.integers(0, classes, 150)
    drawn = generator.normal(size=(150, classes)) + 1.5 * np.eye(classes)[truth]
    values = []
    for _ in range(1000):
        images = generator.integers(0, 150, 150)
        values.append(100 * (1 - ours.mean_auroc(drawn[images], truth[images])))
    expected = np.percentile(values, [2.5, 97.5])
    assert ours.auroc_interval(drawn, truth) == pytest.approx(expected, abs=1)
    assert ours.auroc_interval(drawn, truth) == ours.auroc_interval(drawn, truth)


@pytest.mark.parametrize("metric", ["balanced_accuracy", "macro_f1", "quadratic_kappa"])
def test_fifty_images_without_an_error_do_not_say_that_there_is_none(metric: str) -> None:
    truth = np.arange(50) % 2
    low, high = ours.error_interval(metric, truth, truth, 2)
    assert low == 0
    assert 3 < high < 13  # one wrong image would make it 2 to 4


def test_fifty_images_in_the_right_order_do_not_say_that_all_are() -> None:
    truth = np.arange(50) % 2
    score = truth + np.linspace(0, 0.5, 50)
    low, high = ours.auroc_interval(np.column_stack([-score, score]), truth)
    assert low == 0
    assert 1 < high < 10
    labels = np.random.default_rng(0).random((50, 4)) < 0.4
    low, high = ours.error_interval("macro_f1", labels, labels, 4)
    assert low == 0
    assert 1 < high < 10
    assert ours.mean_auroc(labels, labels) == 1
    low, high = ours.auroc_interval(labels, labels)
    assert low == 0
    assert 1 < high < 10


def test_intervals_of_rare_errors_cover() -> None:
    """Of balanced accuracy at 2% of errors; resamples of the images as they are hold 59%."""
    draw, held = np.random.default_rng(0), []
    truth = np.arange(50) % 2
    for _ in range(100):
        guesses = np.where(draw.random(50) < 0.02, 1 - truth, truth)
        low, high = ours.error_interval("balanced_accuracy", truth, guesses, 2, resamples=200)
        held.append(low <= 2 <= high)
    assert np.mean(held) >= 0.9


def test_intervals_of_few_images_with_several_classes_cover() -> None:
    """Macro F1 of two labels that half of the images have; without Student's t, 90% are held."""
    draw, held = np.random.default_rng(0), []
    for _ in range(1000):
        has = draw.random((10, 2)) < 0.5
        says = np.where(draw.random(has.shape) < 0.2, ~has, has)
        low, high = ours.error_interval("macro_f1", has, says, 2, resamples=200)
        held.append(low <= 20 <= high)
    assert np.mean(held) >= 0.93
