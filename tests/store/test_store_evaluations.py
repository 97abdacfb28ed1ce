"""Evaluations of runs on further test sets: read from a store, exported, shown."""

import json
import re
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pandas as pd
import pytest
from evaluation_factory import COLUMNS, EVALUATIONS, RUNS, make_evaluated
from store_factory import ARCHITECTURES
from tiny_study import typing_in

from anynet_study.core.errors import UserError
from anynet_study.store import EvaluationRecord, ResultStore, run_sql, select, to_pandas
from anynet_study.store.exporting import export


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_evaluated(tmp_path_factory.mktemp("made"))


@pytest.fixture
def store(made: Path) -> ResultStore:
    return ResultStore(made / "results.h5")


def key(one: EvaluationRecord) -> tuple[str, str]:
    return one.run_id, one.evaluation_id


def test_every_evaluation_is_a_row_as_it_was_recorded(store: ResultStore) -> None:
    found = store.evaluations([*COLUMNS, "identity", "started", "host", "predicted", "planned"])
    by_key = {key(one): one for one in EVALUATIONS}
    runs = {run.run_id: run for run in RUNS}
    assert len(found) == len(EVALUATIONS)
    for row in found.to_dict("records"):
        one = by_key.pop((row["run_id"], row["evaluation_id"]))
        for name in ("evaluation", "identity", "images", "loss", "top1", "top5", "seconds"):
            assert row[name] == getattr(one, name)
        assert (row["started"], row["host"]) == (one.started, one.host)
        assert (row["predicted"], row["planned"]) == (len(one.predictions), True)
        for name in ("architecture", "dataset", "recipe", "replicate"):
            assert row[name] == getattr(runs[one.run_id], name)
    assert store.evaluations().columns.tolist() == [*COLUMNS, "planned"]


def brute_force(metric: str, architecture: str, name: str, first: bool) -> float:
    runs = {run.run_id: run for run in RUNS}
    mine = sorted(
        (runs[one.run_id].replicate, getattr(one, metric))
        for one in EVALUATIONS
        if one.evaluation == name
        and (runs[one.run_id].architecture, runs[one.run_id].dataset) == (architecture, "digits")
    )
    errors = [error for _, error in mine]
    return float("nan") if not errors else errors[0] if first else float(np.mean(errors))


@pytest.mark.parametrize(("metric", "replicates"), [("top1", "mean"), ("top5", "first")])
def test_errors_are_those_of_the_records(store: ResultStore, metric: str, replicates: Any) -> None:
    table = store.evaluation_errors("digits", metric, replicates=replicates)
    assert table.columns.tolist() == ["test", "blur", "shifted"]  # the order in which they began
    assert table.index.tolist() == list(ARCHITECTURES)
    assert table["test"].equals(store.errors(metric, None, replicates)["digits"].rename("test"))
    for architecture in ARCHITECTURES:
        for name in ("blur", "shifted"):
            wanted = brute_force(metric, architecture, name, replicates == "first")
            np.testing.assert_allclose(table.loc[architecture, name], wanted, rtol=1e-15)
    assert store.evaluation_errors("gratings").columns.tolist() == ["test"]
    assert len(store.evaluation_errors("digits", replicates="each")) == 5


def test_predictions_are_read_as_they_are_indexed(store: ResultStore) -> None:
    for name in ("blur", "shifted"):
        rows, classes = store.evaluation_predictions("digits", name)
        wanted = {one.run_id: one for one in EVALUATIONS if one.evaluation == name}
        assert set(rows["run_id"]) == {run for run in wanted if wanted[run].images == 11}
        assert classes.shape == (len(rows), 11)
        for line, run_id in zip(classes, rows["run_id"], strict=True):
            assert line.tolist() == wanted[run_id].predictions.tolist()
    with pytest.raises(UserError, match="evaluation fog on digits; there are: blur, shifted"):
        store.evaluation_predictions("digits", "fog")
    with pytest.raises(UserError, match="on gratings; there are none at all"):
        store.evaluation_predictions("gratings", "blur")


def test_the_documentation_suffices_to_read_them(store: ResultStore) -> None:
    """With h5py alone, as `layout` says (which travels in the file)."""
    by_key = {key(one): one for one in EVALUATIONS}
    with h5py.File(store.path) as file:
        group = file["evaluations"]
        documented = set(re.findall(r"\w+", file.attrs["layout"].decode()))
        assert set(group) <= documented
        rows = [
            by_key[file["runs/run_id"][r].decode(), i]
            for r, i in zip(group["run"], group["evaluation_id"].asstr()[:], strict=True)
        ]
        for name in ("images", "loss", "top1", "top5", "seconds", "started"):
            assert group[name][:].tolist() == [getattr(one, name) for one in rows]
        for name in ("evaluation", "identity", "host"):
            assert group[name].asstr()[:].tolist() == [getattr(one, name) for one in rows]
        for each in group["predictions/digits"].values():
            assert each.attrs["dataset"].decode() == "digits"
            for row, classes in zip(each["row"], each["classes"], strict=True):
                assert rows[row].evaluation == each.attrs["evaluation"].decode()
                assert rows[row].predictions.tolist() == classes.tolist()


def test_what_is_not_there_is_said(store: ResultStore) -> None:
    for ask, answer in (
        (lambda: store.evaluation_errors("cars"), "no dataset cars; there are: digits, digits-2"),
        (lambda: store.evaluation_errors("digits", "top3"), "top1, top5"),
        (lambda: store.evaluation_errors("digits", recipe="x"), "there are: basic"),
        (lambda: store.evaluations(["top2"]), "no column 'top2'"),
    ):
        with pytest.raises(UserError, match=answer):
            ask()


def test_sql_and_queries_know_them(store: ResultStore) -> None:
    mean = "select evaluation, avg(top1) as a from evaluations where dataset = 'digits' group by 1"
    table = run_sql(store, f"{mean} order by 1").to_pandas().set_index("evaluation")["a"]
    found = store.evaluations()
    expected = found[found["dataset"] == "digits"].groupby("evaluation")["top1"].mean()
    np.testing.assert_allclose(table.loc[expected.index], expected, rtol=1e-12)
    joined = "select e.top1 - r.error as d from evaluations e join runs r using (run_id)"
    assert len(run_sql(store, joined)) == len(EVALUATIONS)
    some = to_pandas(
        select(store, "evaluations", "evaluation = 'blur' and top1 > 60", ["run_id"], limit=3)
    )
    assert len(some) == 3
    wide = to_pandas(select(store, "errors", evaluations="digits", metric="top5"))
    assert wide.columns.tolist() == ["architecture", "test", "blur", "shifted"]


@pytest.mark.slow
def test_exported_and_shown_on_the_command_line(
    made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    store = ResultStore(made / "results.h5")
    report = export(store, tmp_path / "release")
    assert "evaluations.parquet" in report.files
    table = pd.read_parquet(tmp_path / "release" / "evaluations.parquet")
    assert table[COLUMNS].equals(store.evaluations(COLUMNS))
    described = json.loads((tmp_path / "release" / "schema.json").read_text())
    columns = described["tables"]["evaluations.parquet"]["columns"]
    assert not [each for each in columns if each["meaning"].startswith("as the source")]
    assert "evaluations.parquet" in (tmp_path / "release" / "README.md").read_text()

    typed = typing_in(tmp_path, monkeypatch, capsys)
    asked = ("query", store.path, "--table", "errors", "--evaluations", "digits", "--json")
    rows = json.loads(typed(*asked).out)
    assert [*rows[0]] == ["architecture", "test", "blur", "shifted"]
    shown = typed(
        "query", store.path, "--table", "evaluations", "--where", "evaluation = 'blur'"
    ).out
    assert len(shown.splitlines()) == 7
    count = "select count(*) as n from evaluations"
    assert json.loads(typed("query", store.path, "--sql", count, "--json").out) == [{"n": 10}]
