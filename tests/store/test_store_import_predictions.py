"""Per-example predictions: errors are counted, labels are kept."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pandas as pd
import pytest
from import_factory import imported, written
from scipy.stats import binomtest
from store_factory import make_store, record

from anynet_study.core.errors import UserError
from anynet_study.store import ResultStore, stores_equal

RNG = np.random.default_rng(0)
LABELS = RNG.integers(0, 5, 60)
MODELS = {
    name: np.where(RNG.random(60) < right, LABELS, RNG.integers(0, 5, 60))
    for name, right in (("resnet", 0.7), ("vit|~+,", 0.9), ("guess", 0.0))
}
WRONG = {name: int((classes != LABELS).sum()) for name, classes in MODELS.items()}


def lists(arrays: dict[str, Any]) -> dict[str, Any]:
    return {name: np.asarray(values).tolist() for name, values in arrays.items()}


def long(columns: dict[str, Any]) -> pd.DataFrame:
    frames = [
        pd.DataFrame({"model": name, "image": range(60), "prediction": classes, **columns})
        for name, classes in MODELS.items()
    ]
    return pd.concat(frames)


WRITERS: dict[str, Callable[[Path], object]] = {
    "p.npz": lambda path: np.savez(path, labels=LABELS, **MODELS),
    "p.json": lambda path: path.write_text(json.dumps(lists({"labels": LABELS, **MODELS}))),
    "nested.json": lambda path: path.write_text(
        json.dumps({"labels": LABELS.tolist(), "predictions": lists(MODELS)})
    ),
    "wide.csv": lambda path: pd.DataFrame({"image": range(60), "label": LABELS, **MODELS}).to_csv(
        path, index=False
    ),
    "wide.parquet": lambda path: pd.DataFrame({"target": LABELS, **MODELS}).to_parquet(path),
    "long.csv": lambda path: long({"label": LABELS}).to_csv(path, index=False),
    "long.json": lambda path: long({"label": LABELS}).to_json(path, orient="records"),
}


def check(store: ResultStore) -> None:
    """Errors, intervals, predictions and labels are those of MODELS."""
    errors = store.errors()["digits"]
    assert errors.to_dict() == {name: 100 * wrong / 60 for name, wrong in WRONG.items()}
    runs, classes = store.predictions("digits")
    for model, row in zip(runs["architecture"], np.asarray(classes), strict=True):
        assert (row == MODELS[model]).all()
    labels = store.labels("digits")
    assert labels is not None
    assert (labels == LABELS).all()
    intervals = store.runs(["architecture", "error_low", "error_high"]).set_index("architecture")
    for name, wrong in WRONG.items():
        exact = binomtest(wrong, 60).proportion_ci(0.95, method="exact")
        assert intervals.loc[name].tolist() == pytest.approx([100 * exact.low, 100 * exact.high])
    about = store.datasets().iloc[0]
    assert about["test_images"] == 60
    assert about["chance"] == pytest.approx(100 * (1 - np.bincount(LABELS).max() / 60))


@pytest.mark.parametrize("name", WRITERS)
def test_every_format_gives_the_same_counts(tmp_path: Path, name: str) -> None:
    WRITERS[name](tmp_path / name)
    check(imported(tmp_path / "s.h5", predictions=[("digits", tmp_path / name)]))


@pytest.mark.parametrize("ending", ["npy", "json", "txt", "csv"])
def test_labels_may_have_a_file_of_their_own(tmp_path: Path, ending: str) -> None:
    labels = tmp_path / f"truth.{ending}"
    if ending == "npy":
        np.save(labels, LABELS)
    elif ending == "json":
        labels.write_text(json.dumps(LABELS.tolist()))
    elif ending == "txt":
        labels.write_text("\n".join(map(str, LABELS)))
    else:
        pd.DataFrame({"image": range(60), "label": LABELS}).to_csv(labels, index=False)
    np.savez(tmp_path / "p.npz", **MODELS)
    found = imported(
        tmp_path / "s.h5", predictions=[("digits", tmp_path / "p.npz")], labels={"digits": labels}
    )
    check(found)


def test_one_array_is_one_model(tmp_path: Path) -> None:
    for name, classes in MODELS.items():
        np.save(tmp_path / f"{name}.npy", classes.astype(np.uint8))
    np.save(tmp_path / "labels.npy", LABELS)
    files = [("digits", tmp_path / f"{name}.npy") for name in MODELS]
    check(
        imported(tmp_path / "s.h5", predictions=files, labels={"digits": tmp_path / "labels.npy"})
    )


@pytest.mark.parametrize("ending", ["npz", "json", "csv", "parquet"])
def test_whether_each_is_correct_is_enough(tmp_path: Path, ending: str) -> None:
    correct = {name: classes == LABELS for name, classes in MODELS.items()}
    path = tmp_path / f"c.{ending}"
    if ending == "npz":
        np.savez(path, **correct)
    elif ending == "json":
        path.write_text(json.dumps(lists(correct)))
    elif ending == "csv":
        pd.DataFrame(correct).to_csv(path, index=False)
    else:
        pd.DataFrame(correct).to_parquet(path)
    store = imported(tmp_path / "s.h5", predictions=[("a/b.c", path)])
    assert store.errors()["a/b.c"].tolist() == [100 * wrong / 60 for wrong in WRONG.values()]
    runs, classes = store.predictions("a/b.c")
    labels = store.labels("a/b.c")
    assert labels is not None
    right = np.asarray(classes) == labels
    for model, row in zip(runs["architecture"], right, strict=True):
        assert (row == correct[model]).all()
    with h5py.File(tmp_path / "s.h5") as file:
        (group,) = file["predictions"].values()
        assert group.attrs["kind"] == b"correct"


@pytest.mark.slow
def test_tables_predictions_and_stores_together(tmp_path: Path) -> None:
    np.savez(tmp_path / "p.npz", labels=LABELS, **MODELS)
    table = written(tmp_path / "t.csv", "model,val\nresnet,24\n")
    files = {"predictions": [("digits", tmp_path / "p.npz")]}
    together = imported(tmp_path / "all.h5", table, **files)
    assert together.errors().notna().sum().to_dict() == {"val": 1, "digits": 3}
    imported(tmp_path / "step.h5", table)
    stepwise = imported(tmp_path / "step.h5", tmp_path / "step.h5", **files)
    assert stores_equal(together, stepwise) == []
    again = imported(tmp_path / "again.h5", tmp_path / "all.h5")
    assert stores_equal(together, again) == []
    assert (again.labels("digits") == LABELS).all()


@pytest.mark.slow
def test_a_trained_study_is_a_part_too(tmp_path: Path) -> None:
    out, _ = make_store(tmp_path, [record(number) for number in range(30)])
    table = written(tmp_path / "t.csv", "model,digits\nresnet,24\n")
    store = imported(tmp_path / "s.h5", out, table)
    study = ResultStore(out)
    assert len(store.runs()) == 31
    for one in (record(number) for number in range(30)):
        mine = store.curves(run_id=one.run_id)
        for name, curve in one.curves.items():
            assert mine[name].to_numpy().tobytes() == curve.tobytes()
    first, second = (each.predictions("digits") for each in (study, store))
    assert first[0]["run_id"].tolist() == second[0]["run_id"].tolist()
    assert (np.asarray(first[1]) == np.asarray(second[1])).all()
    specs = store.runs(["run_id", "spec"]).set_index("run_id")["spec"]
    assert specs[record(3).run_id] == record(3).spec
    assert study.errors().equals(store.errors().iloc[:3][study.errors().columns])


@pytest.mark.parametrize(
    ("arrays", "expected"),
    [
        ({"a": [0, 1, 2]}, "has no labels; give the true classes with --labels DATASET=FILE"),
        ({"a": [0, 1, 2], "label": [0, 1]}, "a has 3 examples, label"),
        ({"a": [0, 1], "b": [0, 1, 2]}, "a has 2 examples, b 3"),
        ({"labels": [0, 1]}, "holds no predictions of any model"),
        ({"a": [0, 0.5], "labels": [0, 1]}, "a: 0.5 (example 1) is not a class"),
        ({"a": [0, -1], "labels": [0, 1]}, "a: -1 (example 1) is not a class"),
        ({"a": [0, 70000], "labels": [0, 1]}, "a: 70000 (example 1) is not a class"),
        ({"a": [0, None], "labels": [0, 1]}, "a: nothing for example 1"),
        ({"a": ["cat", "dog"], "labels": [0, 1]}, "a: cat (example 0) is not a class"),
        ({"a": [[0, 1], [1, 1]], "labels": [0, 1]}, "a: shape (2, 2); needed: one value"),
        ({"a": [], "labels": []}, "a: shape (0,); needed: one value per example"),
        ({"a": [True, False], "b": [0, 1]}, "classes of some models, only correctness of others"),
        ({"a": 3}, "a: not a list of classes"),
        ({"a": [0, 7], "labels": [0, 1]}, "a: class 7 (counted from 0), but the labels end at 1"),
    ],
)
def test_predictions_with_a_mistake(tmp_path: Path, arrays: dict[str, Any], expected: str) -> None:
    path = written(tmp_path / "p.json", json.dumps(arrays))
    with pytest.raises(UserError) as refused:
        imported(tmp_path / "s.h5", predictions=[("x", path)])
    assert expected.removesuffix(", label") in str(refused.value)
    assert "\n" not in str(refused.value)
    assert sorted(tmp_path.iterdir()) == [path]


def test_what_does_not_fit(tmp_path: Path) -> None:
    np.savez(tmp_path / "p.npz", labels=LABELS, **MODELS)
    np.save(tmp_path / "other.npy", LABELS[::-1])
    np.save(tmp_path / "right.npy", np.ones(60, bool))
    (tmp_path / "bad.npz").write_bytes(b"PK no zip")
    table = written(tmp_path / "t.csv", "model,x\nresnet,24\n")
    out, one = tmp_path / "s.h5", [("x", tmp_path / "p.npz")]
    with pytest.raises(UserError, match="its labels differ from those of --labels"):
        imported(out, predictions=one, labels={"x": tmp_path / "other.npy"})
    with pytest.raises(UserError, match="--labels: no --predictions on y"):
        imported(out, predictions=one, labels={"y": tmp_path / "other.npy"})
    with pytest.raises(UserError, match="resnet on x is there twice, in"):
        imported(out, table, predictions=one)
    with pytest.raises(UserError, match="classes in one file, only whether they are correct"):
        imported(out, predictions=[*one, ("x", tmp_path / "right.npy")])
    for count in (3, 3.0):
        with pytest.raises(UserError, match=r"class 4 \(counted from 0\), but x has 3 classes"):
            imported(out, predictions=one, known={"x": {"classes": count}})
    with pytest.raises(UserError, match="60 examples, but x has 50 test images"):
        imported(out, predictions=one, known={"x": {"test_images": 50}})
    with pytest.raises(UserError, match="not a readable array file"):
        imported(out, predictions=[("x", tmp_path / "bad.npz")])
    long_twice = "model,image,prediction,label\na,0,1,1\na,0,2,1\n"
    path = written(tmp_path / "l.csv", long_twice)
    with pytest.raises(UserError, match="row 3: a second prediction of one model on one example"):
        imported(out, predictions=[("x", path)])
    path = written(tmp_path / "l.csv", "model,image,prediction,label\na,0,1,1\nb,0,2,2\n")
    with pytest.raises(UserError, match="row 3: another label than elsewhere of the same example"):
        imported(out, predictions=[("x", path)])
    assert not out.exists()


def test_pickles_are_not_opened(tmp_path: Path) -> None:
    np.save(tmp_path / "p.npy", np.array([{"a": 1}], dtype=object), allow_pickle=True)
    with pytest.raises(UserError, match="not a readable array file"):
        imported(tmp_path / "s.h5", predictions=[("x", tmp_path / "p.npy")])
