"""A study with unions of datasets and matched sizes: price, runs, store, and what is refused."""

from pathlib import Path

import pytest
from tiny_study import TINY, Type, typing_in

from anynet_study.data import load_dataset
from anynet_study.store import ResultStore
from anynet_study.store.integrity import verify

UNIONS = (
    TINY.replace("count: 4", "count: 2")
    .replace("resolution: 8", "resolution: 12")
    .replace("source: digits", "source: gratings")
)
DATASETS = """
datasets:
  gratings: {per_class: 20}
  budget: {base: [gratings, blobs], images: 40}
  merged:
    base: [gratings, blobs]
    groups: {one: ["blobs:one", coarse grating], rest: [two, three, four, fine grating]}
    images: 30
    role: target
  matched: {base: blobs, match: sized}
  sized: {base: blobs, per_class: 9}
  shift: {test_set_of: budget, base: blobs}
"""


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The built-in datasets, packed once."""
    folder = tmp_path_factory.mktemp("data")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ANYNET_DATA", str(folder))
        for name in ("gratings", "blobs", "digits"):
            load_dataset(name)
    return folder


@pytest.fixture
def type_(tmp_path: Path, data: Path, monkeypatch: pytest.MonkeyPatch, capsys) -> Type:
    before, _, after = UNIONS.partition("datasets:\n")
    recipes = after[after.index("recipes:") :]
    (tmp_path / "unions.yaml").write_text(before.replace("tiny", "unions") + DATASETS + recipes)
    type_ = typing_in(tmp_path, monkeypatch, capsys)
    monkeypatch.setenv("ANYNET_DATA", str(data))
    return type_


@pytest.mark.slow
def test_from_the_price_to_the_store(type_: Type, tmp_path: Path) -> None:
    told = type_("run", "unions.yaml", "--dry-run")
    assert told.code == 0, told.err
    assert "10 runs" in told.out
    told = type_("run", "unions.yaml", "datasets.matched.classes=3")
    assert told.code == 0, told.err
    path = tmp_path / "studies" / "unions" / "results.h5"
    assert verify(path) == []
    store = ResultStore(path)
    runs = store.runs()
    assert set(runs["status"]) == {"completed"}
    assert len(runs) == 10
    rows = store.datasets().set_index("dataset")
    assert rows["base"].to_dict() == {
        "gratings": "gratings",
        "budget": "gratings+blobs",
        "merged": "gratings+blobs",
        "matched": "blobs",
        "sized": "blobs",
    }
    assert rows["role"].to_dict() == {
        "gratings": "source",
        "budget": "extra",
        "merged": "target",
        "matched": "target",
        "sized": "target",
    }
    assert rows["train_images"].to_dict() == {
        "gratings": 120,
        "budget": 40,
        "merged": 30,
        "matched": 27,
        "sized": 36,
    }
    evaluations = store.evaluations(["dataset", "evaluation", "images"])
    assert set(evaluations["dataset"]) == {"budget"}
    blobs = rows.loc["sized", "test_images"]
    assert set(evaluations["images"]) == {blobs}, "the union's own part of the test images"
    # Studies keep the labels of every base, so that they can be collected without the data.
    kept = {path.name for path in (tmp_path / "studies" / "unions" / "datasets").iterdir()}
    assert kept == {"gratings", "blobs"}


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ("datasets.budget.base=[gratings, digits]", "images of 'digits' have 8 pixels, those of"),
        ("datasets.budget.base=[gratings]", "a list of 2 or more different ones"),
        ("datasets.budget.base=[gratings, none]", "no dataset 'none' in "),
        ("datasets.budget.images=9999", "images: 9999, so 5000 of 'gratings', which has"),
        ("datasets.matched.match=none", "datasets.matched.match: no dataset `none` in this sweep"),
        ("datasets.sized.match=matched; datasets.sized.per_class=null", "has a match, too"),
        ("datasets.matched.per_class=3", "match and per_class: only one of them says how many"),
        ("datasets.matched.match=gratings", "match: there is no class 'one'; there are coarse"),
    ],
)
def test_what_is_refused(type_: Type, change: str, expected: str) -> None:
    for verb in (["run"], ["run", "--dry-run"]):
        told = type_(*verb, "unions.yaml", *change.split("; "))
        assert told.code == 2, told
        assert expected in told.line
