import json
import os
import shutil
from collections.abc import Callable
from functools import partial
from pathlib import Path

import h5py
import numpy as np
import pytest
from honest import collect_honest, honest, honest_study
from store_factory import failed, make_store, record, write_journal
from tiny_study import typing_in

from anynet_study.errors import UserError
from anynet_study.store import JournalWriter
from anynet_study.store.verify import Finding, verify, verify_journals

FAILED = {
    name: getattr(failed(18), name) for name in ("status", "failure_kind", "message", "error")
}
NO_ARRAYS = {"curves": {}, "predictions": np.empty(0, np.uint16)}
RUNS = [*(honest(number) for number in range(18)), honest(18, **FAILED, **NO_ARRAYS)]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("made")
    honest_study(folder, RUNS[:10], RUNS[10:])
    return folder


@pytest.fixture
def store(made: Path, tmp_path: Path) -> Path:
    shutil.copytree(made, tmp_path, dirs_exist_ok=True)
    return tmp_path / "results.h5"


def test_nothing_is_wrong_with_what_collect_wrote(store: Path) -> None:
    assert verify(store) == []
    assert verify_journals(store.parent / "journals", store) == []


def replaced(file: h5py.File, path: str, values: object) -> None:
    del file[path]
    file[path] = values


def set_at(path: str, place: object, value: object) -> Callable[[h5py.File], None]:
    def change(file: h5py.File) -> None:
        file[path][place] = value

    return change


def remove(path: str) -> Callable[[h5py.File], None]:
    return lambda file: file.__delitem__(path)


def change_seed(file: h5py.File) -> None:
    file["architectures"].attrs["sampling"] = "{}"


def wrong_labels(file: h5py.File) -> None:
    file["predictions/digits/labels"] = np.zeros(11, np.uint16)


def claim_all_memory(file: h5py.File) -> None:
    del file["curves/train_loss"]
    file.create_dataset("curves/train_loss", (1 << 42,), np.float32, chunks=(1 << 14,))


@pytest.mark.parametrize(
    ("change", "where", "what"),
    [
        (set_at("runs/error", 3, 50.0), "/curves/test_top1", "does not end with the error of"),
        (set_at("runs/error", 3, 150.0), "/runs/error", "not in 0..100"),
        (set_at("runs/error", 3, np.nan), "/runs/error", "not in 0..100"),
        (set_at("runs/status", 3, 7), "/runs/status", "beyond the 2 labels"),
        (set_at("runs/metric", 3, -1), "/runs/metric", "beyond the 1 labels"),
        (set_at("runs/failure_kind", 3, 1), "/runs/failure_kind", "does not fit the status"),
        (set_at("labels/status", 0, b"done"), "/runs/status", "legal: ('completed'"),
        (set_at("labels/host", 0, b"elsewhere"), "", ""),
        (set_at("runs/planned", 3, 4), "/runs/planned", "neither 0 nor 1"),
        (set_at("runs/replicate", 3, -4), "/runs/replicate", "negative"),
        (set_at("runs/epochs", 3, 9), "/curves/offsets", "contradicts the epochs"),
        (set_at("runs/images", 3, 3), "/predictions/digits-2/classes", "other images"),
        (set_at("runs/run_id", 3, b"0" * 16), "/runs/run_id", "not the hash of the spec"),
        (set_at("runs/architecture", slice(None), 0), "/runs/architecture", "of the spec"),
        (set_at("specs/text", 300, 32), "/runs/run_id", "not the hash of the spec"),
        (set_at("specs/offsets", 1, 1 << 40), "/specs/offsets", "does not ascend"),
        (set_at("curves/offsets", -1, 3), "/curves/offsets", "does not ascend"),
        (set_at("curves/offsets", -2, 60), "/curves/offsets", "contradicts"),
        (set_at("curves/train_top5", 5, 101), "/curves/train_top5", "not in 0..100"),
        (set_at("predictions/digits-2/classes", (0, 0), 2), "/predictions", "beyond the 2"),
        (set_at("predictions/digits/run", -1, 18), "/predictions/digits/run", "other datasets"),
        (set_at("predictions/digits/run", 0, 99), "/predictions/digits/run", "does not ascend"),
        (remove("predictions/digits"), "/predictions", "lacks runs 6"),
        (wrong_labels, "/predictions/digits/classes", "labels give another error"),
        (remove("runs/error"), "/runs/error", "is missing"),
        (remove("curves"), "/curves", "is missing"),
        (lambda f: replaced(f, "runs/error", np.zeros(3)), "/runs/error", "has 3 rows where"),
        (lambda f: replaced(f, "runs/error", np.zeros(19, int)), "/runs/error", "is int64"),
        (lambda f: replaced(f, "architectures/d1", np.ones(2)), "/architectures/d1", "has 2 rows"),
        (claim_all_memory, "/curves/train_loss", "claims 17592186044416 bytes"),
        (set_at("architectures/flops", 1, 1), "/architectures/flops", "not what the network costs"),
        (set_at("architectures/d1", 1, 3), "/architectures", "not the hash of the network"),
        (set_at("architectures/architecture", 1, b"x"), "/labels/architecture", "the rows of"),
        (set_at("datasets/chance", 1, -1), "/datasets/chance", "not in 0..100"),
        (set_at("datasets/role", 1, b"main"), "/datasets/role", "legal: source"),
        (set_at("journals/records", 1, 7), "/journals", "worker-1.arrow gave 7 records"),
        (set_at("runs/replicate", 0, 5), "/runs", "is not ordered by"),
        (change_seed, "/", "the seal does not fit"),
        (lambda f: replaced(f, "provenance", "[]"), "/provenance", "not a JSON object"),
    ],
)  # fmt: skip
def test_what_is_changed_is_found(
    store: Path, change: Callable[[h5py.File], None], where: str, what: str
) -> None:
    with h5py.File(store, "r+") as file:
        change(file)
    found = verify(store)
    assert [f for f in found if f.where.startswith(where) and what in f.what] or not what, found
    # Whatever a store can be made to say, it is not what the journals say.
    assert found or verify_journals(store.parent / "journals", store)


def test_a_number_in_place_of_another_is_found_by_the_journals(store: Path) -> None:
    with h5py.File(store, "r+") as file:
        file["curves/test_loss"][5] = 0.25
        file["runs/seconds"][2] = 0.25
    assert verify(store) == []
    found = verify_journals(store.parent / "journals", store)
    assert [finding.where for finding in found] == ["/runs/seconds", "results.h5"]
    assert "test_loss is not what the journals say of runs 1 (" in found[1].what
    assert {finding.repair for finding in found} == {"collect"}
    collect_honest(store.parent, anew=True)
    assert verify_journals(store.parent / "journals", store) == []


def test_every_flipped_bit_of_an_array_is_found(store: Path) -> None:
    with h5py.File(store) as file:
        places = {
            path: file[path].id.get_chunk_info(0)
            for path in ("curves/test_loss", "labels/host", "runs/started", "architectures/w2")
        }
    whole = store.read_bytes()
    for path, chunk in places.items():
        data = bytearray(whole)
        data[chunk.byte_offset + chunk.size // 2] ^= 1
        store.write_bytes(data)
        (finding,) = verify(store)
        assert finding.where == f"/{path}"
        assert "cannot be read" in finding.what


def test_old_stores_and_those_of_runs_without_specification(tmp_path: Path) -> None:
    out, _ = make_store(tmp_path, [record(0)])
    assert verify(out) == [
        Finding("/runs/run_id", f"is not the hash of the spec of runs 1 ({record(0).run_id})")
    ]
    with h5py.File(out, "r+") as file:
        del file.attrs["seal"]
    assert len(verify(out)) == 1


def test_what_is_no_store_is_refused(tmp_path: Path) -> None:
    (tmp_path / "x.h5").write_text("hello")
    for name in ("x.h5", "nowhere.h5"):
        with pytest.raises(UserError, match=name):
            verify(tmp_path / name)


def said(found: list[Finding]) -> dict[str, str]:
    return {finding.where: finding.what for finding in found}


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
    assert [f.repair for f in found if f.where == "results.h5"] == ["keep"]
    assert {f.where for f in found if f.note} == {"journals/worker-1.arrow", "journals/notes.txt"}


def test_runs_that_are_not_collected_yet(store: Path) -> None:
    folder = store.parent / "journals"
    with JournalWriter(folder / "late.arrow") as journal:
        journal.append(honest(30))
        (finding,) = verify_journals(folder, store)
    assert f"lacks runs of the journals: 1 ({honest(30).run_id})" in finding.what
    collect_honest(store.parent)
    assert verify_journals(folder, store) == []


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


def test_the_command_says_what_and_what_to_do(
    store: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = store.parent
    verify = partial(typing_in(folder, monkeypatch, capsys), "verify")
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
