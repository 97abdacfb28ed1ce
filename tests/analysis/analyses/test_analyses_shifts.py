"""Further test sets and predictions of a study: its tables, figures, sections and sentences."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from small_study import SmallStudy, evaluation_of, run_records, small_study, write_store

from anynet_study import apr
from anynet_study.analysis.analyses import findings, load
from anynet_study.analysis.study import Study
from anynet_study.store import ResultStore

IMAGES = 60
LABELS = np.arange(IMAGES, dtype=np.uint16) % 10
NONE = np.empty(0, np.uint16)
SHIFTS = {"blur": 5.0, "new": 12.0}


def predictions(number: int) -> np.ndarray:
    """Of run `number`: the more of its images wrong the higher its number."""
    guessed = LABELS.copy()
    wrong = np.random.default_rng(number).permutation(IMAGES)[: 5 + number]
    guessed[wrong] = (guessed[wrong] + 1) % 10
    return guessed


def evaluated(study: SmallStudy, folder: Path, other: str = "") -> ResultStore:
    """A store whose runs on `base` have predictions and two further test sets.

    Runs of the `other` recipe have one of these, on which they err by three points less.
    """
    first = [
        replace(record, predictions=predictions(i) if record.dataset == "base" else NONE)
        for i, record in enumerate(run_records(study))
    ]
    again = [replace(r, run_id=f"a{r.run_id[1:]}", recipe=other) for r in first if other]
    errors = [(run, name, run.error + more) for run in first for name, more in SHIFTS.items()]
    errors += [(run, "new", run.error + SHIFTS["new"] - 3) for run in again]
    evaluations = [
        evaluation_of(run.run_id, name, {"content_hash": name}, error, images=IMAGES)
        for run, name, error in errors
        if run.dataset == "base"
    ]
    told = replace(study, datasets=study.datasets.assign(test_images=IMAGES))
    runs = [*first, *again]
    return write_store(folder, told, runs, evaluations=evaluations, truths={"base": LABELS})


@pytest.fixture(scope="module")
def analysis(tmp_path_factory: pytest.TempPathFactory) -> Study:
    store = evaluated(small_study(14, replicates=1), tmp_path_factory.mktemp("shifts"))
    names = ("shifts", "gaps", "effective-robustness")
    with load(store, resamples=200) as loaded:
        loaded.make((*names, "significance"))
        loaded.read_all()
    return loaded


@pytest.mark.slow
def test_the_line_of_a_constant_drop(analysis: Study) -> None:
    lines = analysis.table("shifts")
    assert list(lines["dataset"].unique()) == ["base"]
    for name, harder in SHIFTS.items():
        row = lines[(lines["test_set"] == name) & (lines["scale"] == "linear")].iloc[0]
        assert row["slope"] == pytest.approx(1)
        assert row["intercept"] == pytest.approx(-harder)
        lost = analysis.table("gaps")
        assert lost.loc[lost["test_set"] == name, "gap"].abs().mean() == pytest.approx(harder)
    said = [sentence for finding in findings(analysis) for sentence in finding.sentences]
    # Of so few test images a drop of 12 points may be theirs.
    may = "On new, networks trained on base may be more or less accurate (−12.00 [−31.96, 7.96]"
    assert any(s.startswith(may) for s in said)


def test_further_tables_are_those_of_apr(analysis: Study) -> None:
    errors = analysis.test_sets["base"]
    assert list(errors.columns) == ["test", *SHIFTS]
    robust = analysis.table("effective-robustness")
    expected = apr.effective_robustness(100 - errors, "test", images=analysis.images["base"])
    pd.testing.assert_frame_equal(robust.drop(columns=["dataset", "scale"]), expected)
    assert {*robust["shift"]} == {*SHIFTS}
    means = pd.DataFrame(robust.attrs["averages"]).set_index("architecture")
    for name in ("accuracy", "effective"):
        pd.testing.assert_series_equal(
            means[name], robust.groupby("architecture")[name].mean()[means.index]
        )
    assert (analysis.table("gaps")["gap"] > 0).all()
    ranks = analysis.figure_data("shift-ranks")
    pd.testing.assert_frame_equal(ranks, apr.shift_ranks(errors, 200))
    lines = analysis.table("shifts")
    truth = apr.shift_agreement(errors, resamples=200).set_index("evaluation")
    assert (truth["estimate"] == 1).all()
    for name, rows in lines.groupby("test_set"):
        assert rows["scale"].tolist() == ["linear", "logit"]
        for column, own in {
            "rho": "estimate",
            "rho_low": "low",
            "rho_n": "n",
            "holds": "holds",
        }.items():
            assert (rows[column] == truth.loc[name, own]).all()
    [average] = lines.attrs["averages"]
    assert (average["rho"], average["rho_n"]) == (1, len(errors))


def test_the_best_are_compared_image_by_image(analysis: Study) -> None:
    table = analysis.table("significance")
    known = table[table["note"] == ""]
    assert len(known) == 45
    best = analysis.errors["base"].sort_values(kind="stable").index[:10]
    ids = list(analysis.errors.index)
    numbers = [ids.index(name) for name in best]  # on base, the runs' numbers are in this order
    right = pd.DataFrame([predictions(n) == LABELS for n in numbers], index=list(best))
    truth = apr.mcnemar(right)
    for name in ("a", "b", "only_a", "only_b"):
        assert list(known[name]) == list(truth[name])
    refused = table[table["note"] != ""]
    without = ("base-5", "base-2", "target-0")
    assert set(refused.loc[refused["test_set"] == "test", "note"]) == {
        f"no predictions on {name} are stored" for name in without
    }
    assert {*refused.loc[refused["dataset"] == "base", "test_set"]} == {*SHIFTS, "target-0"}


def test_other_recipes_are_compared_on_the_test_sets_of_both(tmp_path: Path) -> None:
    store = evaluated(small_study(14, replicates=1), tmp_path, other="texts")
    study = load(store, resamples=200)
    row = on_further_test_sets(study)
    assert (row["version"], row["dataset"], row["n"]) == ("texts", "base", 14)
    assert row["change"] == row["change_low"] == row["change_high"] == pytest.approx(-3)
    assert row["estimate"] == pytest.approx(1)
    back = on_further_test_sets(load(store, recipe="texts", resamples=200))
    assert back["change"] == pytest.approx(3)
    recipes = study.table("recipes").query("compared == 'recipe'")
    truth = apr.agreement(study.errors, study.recipes["texts"], study.roles.source, resamples=200)
    pd.testing.assert_frame_equal(recipes[[*truth]], truth)


def on_further_test_sets(study: Study) -> dict[str, object]:
    """The row on mean errors over the test sets."""
    table = study.table("recipes")
    (row,) = table[table["compared"] == "recipe, on further test sets"].to_dict("records")
    return row
