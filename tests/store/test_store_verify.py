import json
import os
import shutil
from functools import partial
from pathlib import Path

import h5py
import numpy as np
import pytest
from evaluation_factory import evaluation, write_evaluations
from h5_changes import Change, at, edited, gone, put
from honest import collect_honest, honest, honest_study, population
from store_factory import failed, record, write_journal
from tiny_study import TINY, typing_in

from anynet_study.store import JournalWriter
from anynet_study.store.integrity import Finding, verify, verify_journals

FAILED = {
    name: getattr(failed(18), name) for name in ("status", "failure_kind", "message", "error")
}
BLUR = "evaluations/predictions/digits/blur"
NO_ARRAYS = {"curves": {}, "predictions": np.empty(0, np.uint16)}
RUNS = [*(honest(number) for number in range(18)), honest(18, **FAILED, **NO_ARRAYS)]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("made")
    some = [
        evaluation(number, name, run_id=RUNS[number].run_id)
        for number in range(4)
        for name in ("blur", "fog")
    ]
    write_evaluations(folder / "journals" / "x.evaluations.arrow", some)
    honest_study(folder, RUNS[:10], RUNS[10:])
    return folder


@pytest.fixture
def store(made: Path, tmp_path: Path) -> Path:
    shutil.copytree(made, tmp_path, dirs_exist_ok=True)
    return tmp_path / "results.h5"


@pytest.mark.slow
def test_nothing_is_wrong_with_what_collect_wrote(store: Path) -> None:
    assert verify(store) == []
    assert verify_journals(store.parent / "journals", store) == []


#: Changes to what is of the records, in every table, and where they are found; what is changed is
#: as the layout says.
OF_RECORDS = [
    (at("runs/error", 3, 50.0), "/runs/error"),
    (at("runs/run_id", 3, b"0" * 16), "/runs/run_id"),
    (at("runs/images", 3, 3), "/runs/images"),
    (at("runs/host", 0, b"other"), "/runs/host"),
    (at("specs/text", 300, 32), "/specs/text"),
    (at("curves/test_loss", 5, 0.25), "/curves/test_loss"),
    (at("predictions/digits-2/classes", (0, 0), 2), "/predictions/digits-2/classes"),
    (gone("predictions/digits"), "/predictions/digits/classes"),
    (put("runs/error", np.zeros(19, int)), "/runs/error"),
    (at("evaluations/run", slice(0, 2), 5), "/evaluations/run"),
    (at("evaluations/evaluation_id", 3, b"17"), "/evaluations/evaluation_id"),
    (at("evaluations/top1", 3, 50.0), "/evaluations/top1"),
    (at("evaluations/predicted", 3, 0), "/evaluations/predicted"),
    (at(f"{BLUR}/classes", (0, 0), 11), f"/{BLUR}/classes"),
    (gone(BLUR), f"/{BLUR}/classes"),
]
#: Others: to the tables of the study, and to what its sweep says; and what no store can hold.
OTHERS = [
    (at("runs/status", 3, b"fine"), "/runs/status"),
    (at("specs/offsets", 1, 1 << 40), "/specs/offsets"),
    (at("curves/offsets", -2, 60), "/curves/offsets"),
    (at("predictions/digits/run", 0, 99), "/predictions/digits/run"),
    (gone("curves"), "/curves/test_loss"),
    (at(f"{BLUR}/row", 0, 7), f"/{BLUR}/row"),
    (gone("evaluations/identity"), "/evaluations/identity"),
    (at("runs/planned", 3, 4), "/runs/planned"),
    (at("datasets/role", 1, b"main"), "/datasets/role"),
    (at("journals/records", 1, 7), "/journals/records"),
    (put("architectures/d1", np.ones(2)), "/architectures/d1"),
    (lambda f: f["predictions/digits"].update(labels=np.zeros(11)), "/predictions/digits/labels"),
    (lambda f: f["architectures"].attrs.update(sampling="{}"), "/architectures@sampling"),
    (put("provenance", b"[]"), "/provenance"),
]


@pytest.mark.slow
def test_what_is_changed_is_found(made: Path, tmp_path: Path) -> None:
    path = tmp_path / "results.h5"
    for change, where in [*OF_RECORDS, *OTHERS]:
        shutil.copy(made / "results.h5", path)
        with h5py.File(path, "r+") as file:
            change(file)
        assert where in {finding.where for finding in verify(path)}, where


def test_an_array_that_claims_all_memory_is_not_read(store: Path) -> None:
    with h5py.File(store, "r+") as file:
        del file["curves/train_loss"]
        file.create_dataset("curves/train_loss", (1 << 42,), np.float32, chunks=(1 << 14,))
    (found,) = verify(store)
    assert found.where == "/curves/train_loss"
    assert "claims 17592186044416 bytes" in found.what


@pytest.mark.slow
@pytest.mark.parametrize("change", [change for change, _ in OF_RECORDS])
def test_whatever_a_store_is_made_to_say_it_is_not_what_the_journals_say(
    store: Path, change: Change
) -> None:
    edited(store, store.read_bytes(), change)
    assert verify(store) == []
    assert verify_journals(store.parent / "journals", store)


@pytest.mark.slow
def test_a_number_in_place_of_another_is_found_by_the_journals(store: Path) -> None:
    with h5py.File(store, "r+") as file:
        file["curves/test_loss"][5] = 0.25
        file["runs/seconds"][2] = 0.25
    found = verify_journals(store.parent / "journals", store)
    assert [finding.where for finding in found] == ["/runs/seconds", "/runs/curves"]
    assert "is not what the journals say of runs 1 (" in found[1].what
    assert {finding.repair for finding in found} == {"collect"}
    collect_honest(store.parent, anew=True)
    assert verify_journals(store.parent / "journals", store) == []


def test_every_flipped_bit_of_an_array_is_found(store: Path) -> None:
    with h5py.File(store) as file:
        places = {
            path: file[path].id.get_chunk_info(0)
            for path in ("curves/test_loss", "runs/host", "runs/started", "architectures/w2")
        }
    whole = store.read_bytes()
    for path, chunk in places.items():
        data = bytearray(whole)
        data[chunk.byte_offset + chunk.size // 2] ^= 1
        store.write_bytes(data)
        (finding,) = verify(store)
        assert finding.where == f"/{path}"
        assert "cannot be read" in finding.what


def said(found: list[Finding]) -> dict[str, str]:
    return {finding.where: finding.what for finding in found[::-1]}


def test_what_is_wrong_with_journals(store: Path) -> None:
    folder = store.parent / "journals"
    data = (folder / "worker-0.arrow").read_bytes()
    (folder / "worker-0.arrow").write_bytes(data[:9000] + b"x" * 50 + data[9050:])
    os.truncate(folder / "worker-1.arrow", (folder / "worker-1.arrow").stat().st_size - 500)
    (folder / "foreign.arrow").write_bytes(b"hello" * 100)
    (folder / "notes.txt").write_text("mine")
    found = verify_journals(folder, store)
    texts = said(found)
    assert "damaged and were skipped" in texts["journals/worker-0.arrow"]
    assert "ends inside a record" in texts["journals/worker-1.arrow"]
    assert "not a journal" in texts["journals/foreign.arrow"]
    assert "ignored" in texts["journals/notes.txt"]
    assert "has runs that are in no journal: 2 (" in texts["results.h5"]
    assert {f.repair for f in found if f.where == "results.h5"} == {"keep"}
    assert {f.where for f in found if f.note} == {"journals/worker-1.arrow", "journals/notes.txt"}


@pytest.mark.slow
def test_runs_that_are_not_collected_yet(store: Path) -> None:
    folder = store.parent / "journals"
    with JournalWriter(folder / "late.arrow") as journal:
        journal.append(honest(30))
        (finding,) = verify_journals(folder, store)
    assert finding.what.endswith(
        f"runs that were recorded since it was collected: 1 ({honest(30).run_id})"
    )
    assert finding.note
    collect_honest(store.parent)
    assert verify_journals(folder, store) == []


@pytest.mark.slow
def test_evaluations_that_are_not_collected_yet_or_in_no_journal_any_more(store: Path) -> None:
    journals = store.parent / "journals"
    late = evaluation(4, run_id=honest(4).run_id)
    write_evaluations(journals / "y.evaluations.arrow", [late])
    (found,) = verify_journals(journals, store)
    assert found.what == (
        "lacks evaluations that were recorded since it was collected: "
        f"1 ({late.run_id} {late.evaluation_id})"
    )
    assert found.note
    (journals / "x.evaluations.arrow").unlink()
    kept = [finding for finding in verify_journals(journals, store) if finding.repair == "keep"]
    assert ["evaluations that are in no journal: 8 (" in finding.what for finding in kept] == [True]


@pytest.mark.slow
def test_duplicates_that_disagree_and_false_specifications(store: Path) -> None:
    folder = store.parent / "journals"
    write_journal(folder / "twice.arrow", [honest(3, error=1.0, started=2e9), honest(5)])
    write_journal(folder / "untrue.arrow", [record(77)])
    collect_honest(store.parent)
    found = verify_journals(folder, store)
    assert f"1 ({honest(3).run_id}) were recorded twice with different errors" in found[0].what
    assert found[0].note
    assert (
        f"the run_id is not the hash of the spec of runs 1 ({record(77).run_id})" in found[1].what
    )
    assert len(found) == 2


@pytest.mark.slow
def test_the_command_says_what_and_what_to_do(
    store: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = store.parent
    (folder / "sweep.yaml").write_text(TINY)
    verify = partial(typing_in(folder, monkeypatch, capsys), "verify")
    lacking = verify(".")
    assert ("population.parquet: there is no such" in lacking.out, lacking.code) == (True, 1)
    population().write(folder / "population.parquet")
    done = verify(".")
    assert ("all is well" in done.out, done.code) == (True, 0)
    with h5py.File(store, "r+") as file:
        file["runs/error"][3] = 150.0
    done = verify(folder, "--json")
    answer = json.loads(done.out)
    assert (answer["fine"], done.code) == (False, 1)
    (one,) = [each for each in answer["findings"] if each["where"] == "/runs/error"]
    assert f"anynet-study collect {folder} --anew" in one["remedy"]
    assert "failed:" in done.err
    alone = verify(store)
    assert ("/runs/error" in alone.out, alone.code) == (True, 1)
    nowhere = verify("nowhere")
    assert ("nowhere" in nowhere.err, nowhere.code) == (True, 2)
    store.write_bytes(store.read_bytes()[:999])  # what is no store has a remedy if it is a study's
    cut = verify(store)
    assert ("results.h5" in cut.err, cut.code) == (True, 2)
    told = verify(folder)
    assert told.out.startswith("results.h5: ")
    assert (f"anynet-study collect {folder} --anew" in told.out, told.code) == (True, 1)
