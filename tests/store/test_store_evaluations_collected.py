"""Evaluations are collected: whatever happens to journals, the store is what they say.

And evaluations of several stores, read as one and imported into one.
"""

import shutil
from collections.abc import Mapping
from pathlib import Path

import pandas as pd
import pytest
from evaluation_factory import (
    COLUMNS,
    EVALUATIONS,
    NONE,
    RUNS,
    evaluation,
    make_evaluated,
    write_evaluations,
)
from store_factory import failed, gather, make_store, record, write_journal

from anynet_study.core.errors import UserError
from anynet_study.store import ResultStore, ResultStores, run_sql, stores_equal
from anynet_study.store.importing import Files, ImportOptions, import_results
from anynet_study.store.integrity import verify


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_evaluated(tmp_path_factory.mktemp("made"))


@pytest.fixture
def folder(made: Path, tmp_path: Path) -> Path:
    shutil.copytree(made, tmp_path, dirs_exist_ok=True)
    return tmp_path


def test_of_several_records_the_first_is_kept_and_none_without_its_run(folder: Path) -> None:
    journals = folder / "journals"
    before = ResultStore(folder / "results.h5").evaluations()
    more = [
        evaluation(0, "blur", started=1.0, host="early"),
        evaluation(0, "blur", started=2e9, host="late"),
        evaluation(15, "blur"),
    ]
    write_evaluations(journals / "x.evaluations.arrow", more)
    report = gather(folder)
    assert report.evaluations == len(EVALUATIONS)
    assert report.problems == ["journals: 1 evaluations of runs without a record wait for it"]
    found = ResultStore(folder / "results.h5").evaluations([*COLUMNS, "host"])
    assert found["host"].value_counts().to_dict() == {"node1": len(EVALUATIONS) - 1, "early": 1}
    assert found[COLUMNS].drop(columns="seconds").equals(before[COLUMNS].drop(columns="seconds"))
    write_journal(journals / "late.arrow", [record(15)])
    report = gather(folder)
    assert (report.new, report.evaluations, report.problems) == (1, len(EVALUATIONS) + 1, [])


def test_a_store_with_evaluations_that_are_in_no_journal_stays(
    folder: Path,
) -> None:
    (folder / "journals" / "1.evaluations.arrow").unlink()
    told = "journals: 5 evaluations of the store before are in none any more; kept: "
    with pytest.raises(UserError, match=r"5 evaluations of results.h5 are in no journal"):
        gather(folder)
    assert gather(folder, anew=True).problems == [f"{told}results-kept-1.h5"]
    assert len(ResultStore(folder / "results-kept-1.h5").evaluations()) == len(EVALUATIONS)
    assert len(ResultStore(folder / "results.h5").evaluations()) == 5
    assert gather(folder).problems == []


@pytest.mark.slow
def test_the_sweep_says_which_are_asked_for_and_what_they_are_called(folder: Path) -> None:
    def names(*wanted: tuple[str, str]) -> Mapping[str, tuple[str, str]]:
        """By dataset, the name in the records: what it is called now, and its kind."""
        found = {}
        kinds = {"blur": "transform", "shifted": "shift", "fog": "shift"}
        for old, new in wanted:
            found |= {evaluation(n, old).evaluation_id: (new, kinds[old]) for n in (0, 1)}
        return found

    called = names(("shifted", "moved"), ("fog", "fog"), ("blur", "blur"))
    for evaluations in (called, names(("blur", "haze")), None, called):
        gather(folder, evaluations=evaluations)
    store = ResultStore(folder / "results.h5")
    assert store.evaluation_errors("digits").columns.tolist() == ["test", "moved", "blur"]
    said = store.evaluations()
    assert set(zip(said["evaluation"], said["kind"], strict=True)) == {
        ("moved", "shift"),
        ("blur", "transform"),
    }
    gather(folder, evaluations=names(("blur", "blur")))
    assert store.evaluation_errors("digits").columns.tolist() == ["test", "blur"]
    assert store.evaluations()["planned"].sum() == 6
    gather(folder, evaluations=names(("blur", "both"), ("shifted", "both")))
    with pytest.raises(UserError, match="both on digits is several evaluations"):
        store.evaluation_errors("digits")
    gather(folder, planned=[RUNS[0].run_id])
    assert store.evaluations().query("planned")["run_id"].unique().tolist() == [RUNS[0].run_id]


def test_one_changed_value_is_a_difference(folder: Path) -> None:
    (folder / "journals" / "1.evaluations.arrow").unlink()
    changed = [evaluation(9, "shifted", top1=1.0), evaluation(9, loss=1.0, predictions=NONE)]
    write_evaluations(folder / "journals" / "y.evaluations.arrow", changed)
    made = folder / "results.h5"
    gather(folder, "other.h5")
    lines = stores_equal(made, folder / "other.h5")
    assert [line.split(":")[1].split(" ")[1] for line in lines][:3] == ["only"] * 3
    text = "\n".join(lines)
    assert f"{evaluation(9).run_id} {evaluation(9, 'shifted').evaluation_id}: top1 " in text
    for name in ("loss", "predicted", "predictions"):
        assert f"{evaluation(9).run_id} {evaluation(9).evaluation_id}: {name} " in text


@pytest.mark.slow
def test_several_stores_are_one(tmp_path: Path, made: Path) -> None:
    """Two sweeps share a run, and have evaluated it on different test sets."""
    one, _ = make_store(tmp_path / "one", [record(0), failed(3)])
    shutil.copytree(made / "journals", tmp_path / "two" / "journals")
    extra = [evaluation(0, "fog"), evaluation(3, "fog"), evaluation(0, "blur", top1=77.0)]
    write_evaluations(tmp_path / "one" / "journals" / "z.evaluations.arrow", extra)
    gather(tmp_path / "one")
    gather(tmp_path / "two")
    both = ResultStores([one, tmp_path / "two" / "results.h5"])
    found = both.evaluations()
    assert found.columns.tolist() == ["store", *COLUMNS, "planned"]
    assert found["store"].value_counts().to_dict() == {"two": len(EVALUATIONS) - 1, "one": 3}
    assert found.set_index("run_id").loc[record(0).run_id, "top1"].max() == max(
        extra[0].top1, 77.0, evaluation(0, "shifted").top1
    )
    table = both.evaluation_errors("digits", replicates="first")
    assert sorted(table.columns) == ["blur", "fog", "shifted", "test"]
    assert table.loc[record(0).architecture, "blur"] == 77.0
    assert table.loc[record(3).architecture, "test"] == record(3).error
    rows, classes = both.evaluation_predictions("digits", "blur")
    assert len(rows) == len(classes) == 5
    assert rows["store"].tolist().count("one") == 1
    for row, line in zip(rows.to_dict("records"), classes, strict=True):
        number = int(row["run_id"], 16)
        assert line.tolist() == evaluation(number, "blur").predictions.tolist()
    assert both.evaluations(["evaluation", "host"]).shape == (len(found), 2)
    assert len(run_sql(both, "select store, top1 from evaluations")) == len(found)


@pytest.mark.slow
def test_stores_that_are_imported_together_keep_theirs(tmp_path: Path, made: Path) -> None:
    other, _ = make_store(tmp_path / "other", [record(20, architecture="ffff")])
    write_evaluations(
        tmp_path / "other" / "journals" / "z.evaluations.arrow",
        [evaluation(20, "fog", host="far"), evaluation(20, "blur")],
    )
    gather(tmp_path / "other")
    plain = tmp_path / "errors.csv"
    plain.write_text("architecture,cars\nffff,12.5\n")
    mine, out = made / "results.h5", tmp_path / "all.h5"
    import_results(Files([mine, other, plain]), out, ImportOptions(quantity="error"), {})
    store, parts = ResultStore(out), [ResultStore(mine), ResultStore(other)]
    key = ["run_id", "evaluation_id"]
    found = store.evaluations(store.columns("evaluations")).sort_values(key)
    expected = pd.concat([part.evaluations(part.columns("evaluations")) for part in parts])
    pd.testing.assert_frame_equal(
        found.reset_index(drop=True), expected.sort_values(key).reset_index(drop=True)
    )
    rows, classes = store.evaluation_predictions("digits", "blur")
    for row, line in zip(rows["run_id"], classes, strict=True):
        assert line.tolist() == evaluation(int(row, 16)).predictions.tolist()
    assert store.evaluation_errors("gratings").columns.tolist() == ["test", "blur", "fog"]
    assert not [found for found in verify(out) if "evaluation" in found.where]


def test_numbers_of_an_identity_are_columns(tmp_path: Path) -> None:
    """The epoch and the step between two networks; an epoch that no run can have is missing."""
    make_store(tmp_path, [record(0)])
    identities = {
        "late": '{"base":"digits","epoch":90,"interpolate":0.5}',
        "plain": '{"base":"digits"}',
        "wrong": '{"base":"digits","epoch":4000000000}',
    }
    tests = [evaluation(0, name, identity=told) for name, told in identities.items()]
    write_evaluations(tmp_path / "journals" / "tests.evaluations.arrow", tests)
    gather(tmp_path)
    table = ResultStore(tmp_path / "results.h5").evaluations(["evaluation", "epoch", "interpolate"])
    found = table.astype({"evaluation": str}).set_index("evaluation")
    assert found["epoch"].dropna().to_dict() == {"late": 90}
    assert found["interpolate"].dropna().to_dict() == {"late": 0.5}
