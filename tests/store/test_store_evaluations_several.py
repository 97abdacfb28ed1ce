"""Evaluations of several stores, read as one and imported into one."""

import shutil
from pathlib import Path

import pandas as pd
import pytest
from evaluation_factory import evaluation, write_evaluations
from evaluation_study import COLUMNS, EVALUATIONS, gather, make_evaluated
from store_factory import (
    failed,
    make_store,
    record,
)

from anynet_study.store import (
    ResultStore,
    ResultStores,
    run_sql,
)
from anynet_study.store.importing import Files, ImportOptions, import_results
from anynet_study.store.integrity import verify


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_evaluated(tmp_path_factory.mktemp("made"))


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
    import_results(Files([mine, other, plain]), out, ImportOptions(), {})
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
