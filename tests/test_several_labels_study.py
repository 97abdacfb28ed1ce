"""A study with a dataset whose images have several classes, from training to a verified store."""

import numpy as np
import pytest
from cells import CLASSES, cells
from sklearn.metrics import f1_score
from tiny_study import TINY, Type, typing_in

from anynet_study.analysis.analyses.loading import curves_of
from anynet_study.core.errors import UserError
from anynet_study.core.metrics import from_words, words_an_image
from anynet_study.data import load_dataset
from anynet_study.store import ResultStore, label_matrices
from anynet_study.store.integrity import verify

EXTRA = """
evaluations:
  mirrored: {transform: horizontal_flip}
  four: {classes: 4, datasets: [cells, digits]}
"""


@pytest.fixture
def type_(tmp_path, monkeypatch, capsys) -> Type:
    type_ = typing_in(tmp_path, monkeypatch, capsys)
    (tmp_path / "data").mkdir()
    cells(tmp_path / "data" / "cells")
    (tmp_path / "tiny.yaml").write_text(TINY.replace("blobs: {per_class: 20}", "cells:") + EXTRA)
    return type_


def test_a_dry_run_knows_which_images_have_several_classes(type_) -> None:
    threshold = "overrides.cells.thresholds=validation"
    told = type_(
        "run",
        "tiny.yaml",
        "--dry-run",
        "datasets.cells.validation=1/4",
        f"recipes.basic.{threshold}",
    )
    assert told.code == 0, told.err
    told = type_(
        "run", "tiny.yaml", "--dry-run", "recipes.basic.overrides.cells.label_smoothing=0.1"
    )
    assert "dataset cells: label_smoothing needs one class an image" in told.err


@pytest.mark.slow
def test_from_labels_to_the_store(type_, tmp_path):
    told = type_("run", "tiny.yaml", "population.count=2", "launch.workers=1")
    assert told.code == 0, told.err
    path = tmp_path / "studies" / "tiny" / "results.h5"
    assert verify(path) == []
    store = ResultStore(path)
    runs, guesses, truth = label_matrices(store, "cells")
    dataset = load_dataset("cells")
    assert np.array_equal(truth, dataset.labels("test"))
    for error, guess in zip(runs["error"], guesses, strict=True):
        value = f1_score(truth, guess, average="macro", zero_division=0)
        assert error == pytest.approx(100 * (1 - value))
    (row,) = store.datasets().query("dataset == 'cells'").to_dict("records")
    assert row["metric"] == "macro_f1"
    assert row["classes"] == len(CLASSES)
    evaluations = store.evaluations(["dataset", "evaluation", "images", "predicted"])
    ours = evaluations[evaluations["dataset"] == "cells"]
    assert set(ours["evaluation"]) == {"mirrored", "four"}
    assert (ours["predicted"] == ours["images"] * words_an_image(len(CLASSES))).all()
    check_errors_on_the_metric(store, truth)
    with pytest.raises(UserError, match="its images have several classes: see label_matrices"):
        store.labels("cells")


def check_errors_on_the_metric(store: ResultStore, truth: np.ndarray) -> None:
    """Of an evaluation on the same labels, and of every epoch."""
    errors = store.evaluation_errors("cells", metric="macro_f1")
    assert errors.columns.tolist() == ["test", "mirrored", "four"]
    assert errors.notna().all(axis=None)
    found, words = store.evaluation_predictions("cells", "mirrored")
    for architecture, row in zip(found["architecture"], words, strict=True):
        guess = from_words(row, len(CLASSES))
        value = f1_score(truth, guess, average="macro", zero_division=0)
        assert errors.loc[architecture, "mirrored"] == pytest.approx(100 * (1 - value))
    curves = store.curves("cells", metrics=("test_error",))
    last = curves.groupby("architecture")["test_error"].last()
    assert last.to_dict() == pytest.approx(errors["test"].to_dict(), abs=1e-4)
    assert not curves_of(store, store.datasets(), "basic")["error"].isna().any()
