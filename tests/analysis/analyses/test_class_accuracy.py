"""Accuracy class by class: the table, its figure, its sentence, all from one module."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import norm

from anynet_study.analysis.analyses import study_of
from anynet_study.analysis.analysis import Options
from anynet_study.analysis.study import ImagePredictions, Study

LABELS = np.repeat(np.arange(4, dtype=np.uint16), 10)
#: Right answers of each architecture among the ten images of each class.
RIGHT = np.array([[9, 5, 1, 6], [10, 6, 2, 5], [8, 4, 0, 6], [9, 5, 1, 7]])


def predicted(dataset: str, test_set: str, architectures: list[str]) -> ImagePredictions:
    classes = np.tile(LABELS, (len(RIGHT), 1))
    for row, counts in zip(classes, RIGHT, strict=True):
        for number, count in enumerate(counts):
            row[10 * number + count : 10 * number + 10] = (number + 1) % 4
    return ImagePredictions(architectures, classes, LABELS, ("cat", "dog", "eel", "fox"))


def study(
    weights: list[float] | None = None, datasets: pd.DataFrame | None = None, **options: object
) -> Study:
    names = [f"net-{number}" for number in range(len(RIGHT))]
    errors = pd.DataFrame({"pets": 100 - 2.5 * RIGHT.sum(axis=1)}, index=names)
    known = {"errors": errors, "predicted": predicted}
    if datasets is not None:
        known["datasets"] = datasets
    if weights is not None:
        known["architectures"] = pd.DataFrame({"architecture": names, "weight": weights})
    return study_of("zoo", Options(resamples=200, **options), **known)


def test_the_accuracy_on_each_class_in_table_and_figure() -> None:
    loaded = study()
    table = loaded.table("class-accuracy")
    assert list(table["class"]) == ["cat", "dog", "eel", "fox"]
    assert list(table["mean"]) == pytest.approx(list(10 * RIGHT.mean(axis=0)))
    assert list(table["lowest"]) == pytest.approx(list(10 * RIGHT.min(axis=0)))
    assert list(table["highest"]) == pytest.approx(list(10 * RIGHT.max(axis=0)))
    assert (table["low"] < table["mean"]).all()
    assert set(table["images"]) == {10}
    axes = loaded.figure("class-accuracy").axes[0]
    assert [label.get_text() for label in axes.get_yticklabels()] == ["eel", "dog", "fox", "cat"]
    points = axes.lines[0].get_xdata()
    assert list(points) == pytest.approx(list(loaded.figure_data("class-accuracy")["mean"]))
    assert "90% interval" in study(level=0.9).caption("class-accuracy")


def test_intervals_hold_the_accuracy_of_a_class_on_other_images() -> None:
    """Images of a class are as hard for all networks, so that many of these say no more."""
    draw, held = np.random.default_rng(0), []
    labels = np.zeros(40, np.uint16)
    for _ in range(60):
        hard = draw.normal(size=40)
        right = hard + draw.normal(size=(30, 40)) < 0.9
        classes = np.where(right, 0, 1).astype(np.uint16)
        known = {
            "errors": pd.DataFrame({"d": 100 - 100 * right.mean(axis=1)}),
            "predicted": lambda *_, classes=classes: ImagePredictions(
                [*range(30)], classes, labels
            ),
        }
        row = study_of("classes", Options(), **known).table("class-accuracy").iloc[0]
        held.append(row["low"] <= 100 * norm.cdf(0.9 / np.sqrt(2)) <= row["high"])
    assert np.mean(held) > 0.9  # 28% with an interval over networks alone


def test_weights_count_unless_they_are_refused() -> None:
    weights = [1.0, 3.0, 1.0, 1.0]
    expected = 10 * np.average(RIGHT, axis=0, weights=weights)
    assert list(study(weights).table("class-accuracy")["mean"]) == pytest.approx(list(expected))
    refused = study(weights, unweighted=True).table("class-accuracy")
    assert list(refused["mean"]) == pytest.approx(list(10 * RIGHT.mean(axis=0)))
