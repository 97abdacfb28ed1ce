"""Evaluations are collected: whatever happens to journals, the store is what they say."""

import shutil
from collections.abc import Mapping
from pathlib import Path

import h5py
import pytest
from evaluation_factory import evaluation, write_evaluations
from evaluation_study import COLUMNS, EVALUATIONS, NONE, RUNS, gather, make_evaluated
from store_factory import (
    record,
    write_journal,
)

from anynet_study.errors import UserError
from anynet_study.store import (
    ResultStore,
    stores_equal,
)


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
    assert (report.evaluations, report.new_evaluations) == (len(EVALUATIONS), 0)
    assert (report.duplicate_evaluations, report.waiting_evaluations) == (2, 1)
    assert report.problems == ["journals: 1 evaluations of runs without a record wait for it"]
    found = ResultStore(folder / "results.h5").evaluations([*COLUMNS, "host"])
    assert found["host"].value_counts().to_dict() == {"node1": len(EVALUATIONS) - 1, "early": 1}
    assert found[COLUMNS].drop(columns="seconds").equals(before[COLUMNS].drop(columns="seconds"))
    write_journal(journals / "late.arrow", [record(15)])
    report = gather(folder)
    assert (report.new, report.new_evaluations, report.problems) == (1, 1, [])


def test_a_store_with_evaluations_that_are_in_no_journal_any_more_is_kept(folder: Path) -> None:
    (folder / "journals" / "1.evaluations.arrow").unlink()
    told = "journals: 5 evaluations of the store before are in none any more; kept: "
    assert gather(folder).problems == [f"{told}results-kept-1.h5"]
    assert len(ResultStore(folder / "results-kept-1.h5").evaluations()) == len(EVALUATIONS)
    assert len(ResultStore(folder / "results.h5").evaluations()) == 5
    assert gather(folder).problems == []


@pytest.mark.slow
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
@pytest.mark.slow
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
