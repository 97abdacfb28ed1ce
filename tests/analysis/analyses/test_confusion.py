"""Confusion matrices averaged over architectures, against scikit-learn's of each."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import norm
from sklearn.metrics import confusion_matrix

from anynet_study.analysis.analyses import confusion, study_of
from anynet_study.analysis.analysis import Options
from anynet_study.analysis.study import ImagePredictions, Study
from anynet_study.core.errors import DoesNotApplyError


def study(classes: np.ndarray, labels: np.ndarray, names: tuple[str, ...] = ()) -> Study:
    known = np.where(labels == 65535, 0, labels)
    errors = pd.DataFrame({"pets": 100 * (classes != known).mean(axis=1)})

    def predicted(dataset: str, test_set: str, architectures: list[str]) -> ImagePredictions:
        return ImagePredictions(architectures, classes.astype(np.uint16), labels, names)

    return study_of("zoo", Options(), errors=errors, predicted=predicted)


def drawn(count: int, images: int = 300) -> tuple[np.ndarray, np.ndarray]:
    draw = np.random.default_rng(0)
    labels = draw.integers(0, count, images).astype(np.uint16)
    wrong = draw.random((5, images)) < 0.4
    classes = np.where(wrong, draw.integers(0, count, (5, images)), labels)
    return classes, labels


def test_the_matrix_is_the_mean_of_those_of_the_architectures() -> None:
    classes, labels = drawn(3)
    labels[0] = 65535  # without a label
    loaded = study(classes, labels, ("cat", "dog", "eel"))
    table = loaded.table("confusion")
    each = [confusion_matrix(labels[1:], row[1:], normalize="true") for row in classes]
    expected = 100 * np.mean(each, axis=0)
    found = table.set_index(["class", "taken_for"])["share"].unstack()
    np.testing.assert_allclose(found, expected)
    assert list(found) == ["cat", "dog", "eel"]
    assert list(table["highest"]) == pytest.approx(list(100 * np.max(each, axis=0).ravel()))
    assert ((table["low"] < table["share"]) & (table["share"] < table["high"])).all()
    axes = loaded.figure("confusion").axes[0]
    assert [text.get_text() for text in axes.texts] == [f"{it:.0f}" for it in expected.ravel()]


def test_of_many_classes_the_most_frequent_confusions_are_shown() -> None:
    classes, labels = drawn(30, 3000)
    classes[:, labels == 7] = 3
    loaded = study(classes, labels)
    table = loaded.table("confusion")
    assert len(table) == confusion.MOST_PAIRS
    assert tuple(table.iloc[0][["class", "taken_for", "share"]]) == ("7", "3", 100)
    assert (table["class"] != table["taken_for"]).all()
    assert (table["share"].diff().dropna() <= 0).all()
    with pytest.raises(DoesNotApplyError, match="at most 20 classes"):
        loaded.figure("confusion")


def test_intervals_hold_the_share_on_other_images() -> None:
    draw, held = np.random.default_rng(0), []
    labels = np.repeat(np.arange(2, dtype=np.uint16), 40)
    for _ in range(60):
        hard = draw.normal(size=80)
        wrong = hard + draw.normal(size=(30, 80)) > 0.9
        classes = np.where(wrong, 1 - labels.astype(int), labels)
        row = study(classes, labels).table("confusion").iloc[1]
        held.append(row["low"] <= 100 * norm.sf(0.9 / np.sqrt(2)) <= row["high"])
    assert np.mean(held) > 0.9


def test_architectures_without_predictions_are_left_out() -> None:
    classes, labels = drawn(3)
    whole = study(classes, labels)
    part = study_of(
        "zoo",
        Options(),
        errors=whole.errors.reindex([*whole.errors.index, "failed"]),
        predicted=lambda *_: ImagePredictions(
            list(whole.errors.index), classes.astype(np.uint16), labels
        ),
    )
    pd.testing.assert_frame_equal(part.table("confusion"), whole.table("confusion"))
    assert (part.table("confusion")["n"] == 5).all()
