"""Evaluations of runs on further test sets: collected, read, compared."""

import json
import random
import re
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pandas as pd
import pytest
from evaluation_factory import evaluation, write_evaluations
from honest import honest, honest_study
from store_factory import (
    ARCHITECTURES,
    datasets,
    failed,
    make_store,
    population,
    record,
    write_journal,
)
from tiny_study import typing_in

from anynet_study.errors import UserError
from anynet_study.store import (
    CollectReport,
    EvaluationRecord,
    ResultStore,
    ResultStores,
    collect,
    query,
    run_sql,
    stores_equal,
)
from anynet_study.store.exporting import export
from anynet_study.store.importing import Files, ImportOptions, import_results
from anynet_study.store.verifying import verify, verify_journals

#: Every architecture twice on digits, but the last; once on the others.
RUNS = [record(n) for n in (0, 3, 6, 9, 12, 1, 2)]
NONE = np.empty(0, np.uint16)
#: Both of the runs on digits, but one; of another dataset one, without predictions.
EVALUATIONS = [
    *(evaluation(n, "shifted", error=50.0 + n) for n in (0, 3, 6, 9)),
    *(evaluation(n, "blur") for n in (0, 3, 6, 9, 12)),
    evaluation(1, "blur", predictions=NONE),
]
COLUMNS = [
    *("run_id", "architecture", "dataset", "recipe", "replicate", "evaluation", "evaluation_id"),
    *("images", "loss", "top1", "top5", "error", "seconds"),
]


def gather(folder: Path, out: str = "results.h5", **options: Any) -> CollectReport:
    planned = options.pop("planned", None)
    place = folder / out
    return collect(folder / "journals", place, population(), datasets(), planned, {}, **options)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("made")
    write_journal(folder / "journals" / "a.arrow", RUNS)
    for number in range(2):
        write_evaluations(
            folder / "journals" / f"{number}.evaluations.arrow", EVALUATIONS[number::2]
        )
    gather(folder)
    return folder


@pytest.fixture
def store(made: Path) -> ResultStore:
    return ResultStore(made / "results.h5")


@pytest.fixture
def folder(made: Path, tmp_path: Path) -> Path:
    shutil.copytree(made, tmp_path, dirs_exist_ok=True)
    return tmp_path


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
    with pytest.raises(UserError, match="on gratings; of none"):
        store.evaluation_predictions("gratings", "blur")


def test_the_documentation_suffices_to_read_them(store: ResultStore) -> None:
    """With h5py alone, as `layout` says (which travels in the file)."""
    by_key = {key(one): one for one in EVALUATIONS}
    with h5py.File(store.path) as file:
        group, labels = file["evaluations"], file["labels"]
        documented = set(re.findall(r"\w+", file.attrs["layout"].decode()))
        assert set(group) <= documented
        ids = [labels["evaluation_id"][i].decode() for i in group["evaluation_id"]]
        rows = [
            by_key[file["runs/run_id"][r].decode(), i]
            for r, i in zip(group["run"], ids, strict=True)
        ]
        for name in ("images", "loss", "top1", "top5", "seconds", "started"):
            assert group[name][:].tolist() == [getattr(one, name) for one in rows]
        for name in ("evaluation", "identity", "host"):
            texts = [labels[name][i].decode() for i in group[name]]
            assert texts == [getattr(one, name) for one in rows]
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
    some = query(store, "evaluations", "evaluation = blur and top1 > 60", ["run_id"], limit=3)
    assert len(some) == 3
    wide = query(store, "errors", evaluations="digits", metric="top5")
    assert wide.columns.tolist() == ["architecture", "test", "blur", "shifted"]


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
    assert (report.evaluations, report.new_evaluations) == (len(EVALUATIONS), 0)
    assert (report.duplicate_evaluations, report.waiting_evaluations) == (2, 1)
    assert report.problems == ["journals: 1 evaluations of runs without a record wait for it"]
    found = ResultStore(folder / "results.h5").evaluations([*COLUMNS, "host"])
    assert found["host"].value_counts().to_dict() == {"node1": len(EVALUATIONS) - 1, "early": 1}
    assert found[COLUMNS].drop(columns="seconds").equals(before[COLUMNS].drop(columns="seconds"))
    write_journal(journals / "late.arrow", [record(15)])
    report = gather(folder)
    assert (report.new, report.new_evaluations, report.problems) == (1, 1, [])
    assert as_anew(folder)


def as_anew(folder: Path, **options: Any) -> bool:
    """Whether the store is the one that reading all journals gives, to the last column."""
    gather(folder, "anew.h5", anew=True, **options)
    ours, anew = (ResultStore(folder / name) for name in ("results.h5", "anew.h5"))
    assert stores_equal(ours, anew) == []
    columns = ours.columns("evaluations")
    pd.testing.assert_frame_equal(ours.evaluations(columns), anew.evaluations(columns))
    pd.testing.assert_frame_equal(ours.journals(), anew.journals())
    return True


@pytest.mark.parametrize("seed", range(2))
def test_whatever_happens_to_the_journals(folder: Path, seed: int) -> None:
    moments, journals = random.Random(seed), folder / "journals"
    for step in range(6):
        paths = sorted(journals.glob("*.arrow"))
        what = moments.choice(["runs", "evaluations", "evaluations", "torn", "gone", "failed"])
        numbers = [moments.randrange(30) for _ in range(3)]
        if what in ("runs", "failed"):
            make = record if what == "runs" else failed
            write_journal(journals / f"{step}-{seed}.arrow", map(make, numbers))
        elif what == "evaluations":
            names = moments.choices(["blur", "shifted", "fog"], k=3)
            some = [
                evaluation(number, name, started=moments.uniform(0, 9), host=moments.choice("ab"))
                for number, name in zip(numbers, names, strict=True)
            ]
            write_evaluations(journals / f"{step}-{seed}.evaluations.arrow", some)
        elif what == "torn":
            path = moments.choice(paths)
            data = path.read_bytes()
            path.write_bytes(data[: -moments.randrange(1, 900)])
        else:
            moments.choice(paths).unlink()
        gather(folder)
        assert as_anew(folder)


def test_a_store_with_evaluations_that_are_in_no_journal_any_more_is_kept(folder: Path) -> None:
    (folder / "journals" / "1.evaluations.arrow").unlink()
    told = "journals: 5 evaluations of the store before are in none any more; kept: "
    assert gather(folder).problems == [f"{told}results-kept-1.h5"]
    assert len(ResultStore(folder / "results-kept-1.h5").evaluations()) == len(EVALUATIONS)
    assert len(ResultStore(folder / "results.h5").evaluations()) == 5
    assert gather(folder).problems == []


def test_the_sweep_says_which_are_asked_for_and_what_they_are_called(folder: Path) -> None:
    def names(*wanted: tuple[str, str]) -> Mapping[str, str]:
        """By dataset, the name in the records: what it is called now."""
        found = {}
        for old, new in wanted:
            found |= {evaluation(n, old).evaluation_id: new for n in (0, 1)}
        return found

    called = names(("shifted", "moved"), ("fog", "fog"), ("blur", "blur"))
    for evaluations in (called, names(("blur", "haze")), None, called):
        gather(folder, evaluations=evaluations)
        assert as_anew(folder, evaluations=evaluations)
    store = ResultStore(folder / "results.h5")
    assert store.evaluation_errors("digits").columns.tolist() == ["test", "moved", "blur"]
    assert set(store.evaluations()["evaluation"]) == {"moved", "blur"}
    gather(folder, evaluations=names(("blur", "blur")))
    assert store.evaluation_errors("digits").columns.tolist() == ["test", "blur"]
    assert store.evaluations()["planned"].sum() == 6
    gather(folder, evaluations=names(("blur", "both"), ("shifted", "both")))
    with pytest.raises(UserError, match="both on digits is several evaluations"):
        store.evaluation_errors("digits")
    gather(folder, planned=[RUNS[0].run_id])
    assert store.evaluations().query("planned")["run_id"].unique().tolist() == [RUNS[0].run_id]


@pytest.mark.parametrize(
    "path", ["evaluations/top1", "evaluations/predictions/digits/blur/classes"]
)
def test_a_damaged_store_is_built_anew_from_the_journals(folder: Path, path: str) -> None:
    out = folder / "results.h5"
    with h5py.File(out) as file:
        chunk = file[path].id.get_chunk_info(0)
    data = bytearray(out.read_bytes())
    data[chunk.byte_offset + chunk.size // 2] ^= 1
    out.write_bytes(data)
    with pytest.raises(UserError, match="damaged"):
        stores_equal(out, out)
    assert gather(folder).evaluations == len(EVALUATIONS)
    assert as_anew(folder)


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


@pytest.fixture(scope="module")
def verified(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A study in which nothing is wrong."""
    folder, runs = tmp_path_factory.mktemp("verified"), [honest(number) for number in range(6)]
    some = [
        evaluation(number, name, run_id=runs[number].run_id)
        for number in range(4)
        for name in ("blur", "fog")
    ]
    write_evaluations(folder / "journals" / "x.evaluations.arrow", some)
    honest_study(folder, runs)
    return folder / "results.h5"


def set_at(path: str, place: object, value: object) -> Callable[[h5py.File], None]:
    def change(file: h5py.File) -> None:
        file[f"evaluations/{path}"][place] = value

    return change


def remove(path: str) -> Callable[[h5py.File], None]:
    return lambda file: file.__delitem__(path)


@pytest.mark.parametrize(
    ("change", "where", "what"),
    [
        (set_at("run", 3, 17), "run", "beyond the 6 runs"),
        (set_at("evaluation_id", 3, 17), "evaluation_id", "beyond the"),
        (set_at("host", 3, -1), "host", "beyond the 1 labels"),
        (set_at("top5", 3, 100.5), "top5", "cannot be so of 1 ("),
        (set_at("images", 3, 0), "images", "cannot be so"),
        (set_at("planned", 3, 2), "planned", "cannot be so"),
        (set_at("predicted", 3, 5), "predicted", "cannot be so"),
        (set_at("predicted", 3, 0), "predictions/digits", "other numbers of predictions"),
        (set_at("run", slice(0, 2), 5), "", "not ordered by run, evaluation"),
        (set_at("evaluation", 0, 1), "", "not ordered"),
        (set_at("predictions/digits/blur/row", 0, 7), "predictions", "does not ascend"),
        (set_at("predictions/digits/blur/row", 0, 0), "predictions", "another dataset"),
        (remove("evaluations/predictions/digits/blur"), "predictions", "lacks 2 (blur of"),
        (remove("evaluations/top1"), "top1", "is missing"),
        (remove("evaluations"), "", "is missing"),
        (remove("labels/identity"), "", "is missing"),
        (set_at("top1", 3, 50.0), "", ""),
        (set_at("started", 3, 50.0), "", ""),
        (set_at("identity", 3, 0), "evaluation_id", "not the hash of the identity"),
        (set_at("predictions/digits/blur/classes", (0, 0), 11), "", ""),
    ],
)
def test_what_is_changed_is_found(
    verified: Path, tmp_path: Path, change: Callable[[h5py.File], None], where: str, what: str
) -> None:
    store = Path(shutil.copy(verified, tmp_path))
    with h5py.File(store, "r+") as file:
        change(file)
    found = verify(store)
    mine = [f for f in found if f.where.startswith(f"/evaluations/{where}".rstrip("/"))]
    mine += [f for f in found if f.where == "/labels/identity"]
    if what:
        assert [f for f in mine if what in f.what], found
    else:  # whatever a store can be made to say, it is not what the journals say
        assert found == []
        (one,) = verify_journals(verified.parent / "journals", store)
        assert "is not what the journals say of 1 (" in one.what


def test_store_and_journals_that_agree_and_that_do_not(verified: Path, tmp_path: Path) -> None:
    assert verify(verified) == verify_journals(verified.parent / "journals", verified) == []
    shutil.copytree(verified.parent, tmp_path, dirs_exist_ok=True)
    journals = tmp_path / "journals"
    late = evaluation(4, run_id=honest(4).run_id)
    write_evaluations(journals / "y.evaluations.arrow", [late])
    (found,) = verify_journals(journals, tmp_path / "results.h5")
    assert (
        f"lacks evaluations of the journals: 1 ({late.run_id} {late.evaluation_id})" in found.what
    )
    (journals / "x.evaluations.arrow").unlink()
    lost = verify_journals(journals, tmp_path / "results.h5")[-1]
    assert ("in no journal: 8 (" in lost.what, lost.repair) == (True, "keep")


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
    shown = typed("query", store.path, "--table", "evaluations", "--where", "evaluation = blur").out
    assert len(shown.splitlines()) == 7
    count = "select count(*) as n from evaluations"
    assert json.loads(typed("query", store.path, "--sql", count, "--json").out) == [{"n": 10}]
