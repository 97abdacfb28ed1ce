"""Tables of single images: predictions on own and changed test images, and fewer classes."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from small_study import evaluation_of, run_records, small_study, write_store

from anynet_study import apr
from anynet_study.analysis.analyses import load
from anynet_study.analysis.study import Study
from anynet_study.core.errors import UserError
from anynet_study.store import ResultStore

IMAGES = 200
LABELS = np.arange(IMAGES, dtype=np.uint16) % 10
CONTENT = "ab" * 8
#: What determines the evaluations: turned own images, fewer own classes, and other images.
OWN = {
    "turned": {"content_hash": CONTENT, "transform": {"name": "rotation"}},
    "five": {"content_hash": CONTENT, "classes": [*"abcde"]},
    "elsewhere": {"content_hash": "cd" * 8},
}
NAMES = ("significance", "label-sets", "gaps", "shifts")


def guesses(number: int, wrong: int) -> np.ndarray:
    """Predictions of run `number`, so many of them the next class."""
    guessed = LABELS.copy()
    places = np.random.default_rng([number, wrong]).permutation(IMAGES)[:wrong]
    guessed[places] = (guessed[places] + 1) % 10
    return guessed


@pytest.fixture(scope="module")
def analysis(tmp_path_factory: pytest.TempPathFactory) -> Study:
    """The better an architecture is on its own images, the worse it is on turned ones."""
    folder, study = tmp_path_factory.mktemp("images"), small_study(12, replicates=1)
    records, evaluations = [], []
    for number, record in enumerate(r for r in run_records(study) if r.dataset == "base"):
        guessed, wrong = guesses(number, 10 + 10 * number), 160 - 12 * number
        error = 100 * float((guessed != LABELS).mean())
        records.append(replace(record, predictions=guessed, error=error))
        for name, identity in OWN.items():
            more = {"images": IMAGES // 2 if name == "five" else IMAGES}
            more |= {"predictions": guesses(number, wrong)} if name == "turned" else {}
            evaluations.append(evaluation_of(record.run_id, name, identity, wrong / 2, **more))
    told = replace(study, datasets=study.datasets.assign(test_images=IMAGES))
    write_store(folder, told, records, evaluations=evaluations, truths={"base": LABELS})
    with load(folder / "results.h5", resamples=200) as loaded:
        loaded.make(NAMES)
        loaded.read_all()
    return loaded


@pytest.mark.slow
def test_pairs_that_change_their_order(analysis: Study) -> None:
    table = analysis.table("significance")
    known = table[table["note"] == ""].set_index(["test_set", "a", "b"])
    assert set(known.index.unique("test_set")) == {"test", "turned"}
    own, turned = known.loc["test"], known.loc["turned"]
    assert list(own.index) == list(turned.index)
    assert len(turned) == 45
    sure = turned["order"] == "changed, significant"
    assert sure.any()
    assert (own.loc[sure, "p_holm"] < 0.05).all()
    assert (turned.loc[sure, "p_holm"] < 0.05).all()
    assert own["order"].isna().all()
    assert (own["difference"] >= 0).all()  # the better one is named first
    assert (turned["difference"] <= 0).all()
    notes = table.loc[table["test_set"] == "elsewhere", "note"]
    assert notes.str.contains("their true classes are not stored").all()


def test_label_sets_of_both_kinds(analysis: Study) -> None:
    table = analysis.table("label-sets").dropna(subset="accuracy")
    assert set(table["dataset"]) == {"base"}
    every = table[table["chosen_among"] == "all classes"]
    assert list(dict.fromkeys(every["classes"])) == [10, 5, 2]
    assert table[["classes", "images"]].dtypes.eq("Int64").all()  # 2 classes, not 2.0
    best = every["architecture"].iloc[0]
    whole = every[(every["architecture"] == best) & (every["classes"] == 10)].iloc[0]
    assert whole["accuracy"] == pytest.approx(100 - analysis.errors.loc[best, "base"])
    fewer = table[table["chosen_among"] == "the set"]
    assert set(fewer["label_set"]) == {"five"}
    assert set(fewer["images"]) == {IMAGES // 2}
    assert fewer["accuracy"].iloc[0] == pytest.approx(20)
    low, high = apr.binomial_interval(80.0, IMAGES // 2)
    assert tuple(fewer[["low", "high"]].iloc[0]) == pytest.approx((100 - high, 100 - low))


def test_shifts_alone_are_further_test_sets_unless_told(analysis: Study) -> None:
    kinds = {"turned": "transform", "five": "label set", "elsewhere": "shift"}
    assert analysis.kinds == {"base": kinds}
    assert list(analysis.evaluated["base"]) == ["test", *OWN]
    assert list(analysis.test_sets["base"]) == ["test", "elsewhere"]
    (used, left) = analysis.table("gaps").attrs["remarks"]
    assert used == "Further test sets of base: elsewhere."
    assert left.endswith("do not count: turned (transform) and five (label set).")


def test_other_evaluations_count_when_they_are_named(analysis: Study) -> None:
    assert analysis.store is not None
    path = analysis.store.path
    told = load(path, resamples=200, evaluations=("turned", "five"))
    assert list(told.test_sets["base"]) == ["test", "turned", "five"]
    mean = 100 - told.evaluated["base"][["turned", "five"]].mean(axis=1)
    averages = pd.DataFrame(told.table("effective-robustness").attrs["averages"])
    assert list(averages["accuracy"]) == pytest.approx(list(mean))
    with pytest.raises(UserError, match="no evaluation blue; there are turned, five, elsewhere"):
        load(path, evaluations=("blue",)).table("shifts")


def test_what_the_sweep_declares_comes_first(
    analysis: Study, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert analysis.store is not None
    evaluations = ResultStore.evaluations

    def declared(store: ResultStore, columns: list[str]) -> pd.DataFrame:
        kinds = {"turned": "shift", "elsewhere": "own images"}
        table = evaluations(store, columns)
        if "kind" in columns:
            table["kind"] = table["evaluation"].map(kinds).fillna("")
        return table

    monkeypatch.setattr(ResultStore, "evaluations", declared)
    told = load(analysis.store.path, resamples=200)
    assert told.kinds["base"] == {"turned": "shift", "five": "label set", "elsewhere": "own images"}
    monkeypatch.undo()
    assert list(told.test_sets["base"]) == ["test", "turned"]


def test_a_drop_beyond_sampling_error(analysis: Study) -> None:
    assert analysis.store is not None
    told = load(analysis.store.path, resamples=200, evaluations=tuple(OWN))
    table = told.table("gaps")
    assert set(table["test_set"]) == set(OWN)
    zero = (table["gap_low"] <= 0) & (table["gap_high"] >= 0)  # of both test sets
    assert (table["beyond"] != zero).all()
    assert table["beyond"].any()
