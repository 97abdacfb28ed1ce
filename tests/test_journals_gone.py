"""Journals that are gone, damaged or may not be read are told of before anything is trained."""

import errno
import os
import shutil
from pathlib import Path

import pytest
from command import train
from tiny_study import RUNS, TINY, Type

from anynet_study.store import ResultStore, restore_journals, stores_equal

pytestmark = pytest.mark.slow
STUDY = Path("studies/tiny")
SWEEP = TINY + "evaluations: {blur: {transform: blur}}\nlaunch: {scores: true}\n"
LOST = f"{RUNS} runs and {RUNS} evaluations"


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("trained")
    (folder / "tiny.yaml").write_text(SWEEP)
    train(folder, "tiny.yaml")
    return folder


@pytest.fixture
def here(trained: Path, type_: Type, tmp_path: Path) -> Path:
    """A copy of the study, in the current folder."""
    shutil.copytree(trained, tmp_path, dirs_exist_ok=True)
    return tmp_path


def test_a_store_that_knows_more_stops_what_would_train_again(here: Path, type_: Type) -> None:
    shutil.rmtree(STUDY / "journals")
    told = type_("status", "tiny").out
    assert f"results.h5 has what is in no journal: {LOST}" in " ".join(told.split())
    assert "launch (or run) again" not in told
    assert f"in no journal: {LOST}" in type_("list", "--json").out
    dry = type_("run", "tiny.yaml", "--dry-run").out
    assert f"this would be refused: studies/tiny/journals: {LOST}" in dry
    for command in (["run", "tiny.yaml"], ["launch", "tiny.yaml"], ["collect", "tiny"]):
        done = type_(*command)
        assert done.code == 2, done
        assert "are in no journal" in done.line
        assert "--restore" in done.line
    assert not (STUDY / "journals").exists()


@pytest.mark.parametrize("how", ["cut short", "a disk that fails"])
def test_a_store_that_cannot_be_read_stops_it_as_well(
    how: str, here: Path, type_: Type, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It may have what journals lack; where they lack nothing, it does not matter."""
    store = STUDY / "results.h5"

    def fails(*_: object, **__: object) -> None:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    if how == "cut short":
        store.write_bytes(store.read_bytes()[:3000])
    else:
        monkeypatch.setattr("anynet_study.store.opening.h5py.File", fails)
    assert f"{RUNS} completed" in type_("status", "tiny").out
    shutil.rmtree(STUDY / "journals")
    for command in (["status", "tiny"], ["run", "tiny.yaml"], ["launch", "tiny.yaml"]):
        done = type_(*command)
        assert done.code == 2, done
        assert str(store) in done.line
        assert ("damaged" in done.line or "not an HDF5" in done.line) == (how == "cut short")
    assert f"this would be refused: {store}" in type_("run", "tiny.yaml", "--dry-run").out
    assert str(store) in type_("list", "--json").out
    assert not (STUDY / "journals").exists()


def test_journals_are_written_again_from_the_store(here: Path, type_: Type) -> None:
    before = (STUDY / "results.h5").read_bytes()
    shutil.rmtree(STUDY / "journals")
    done = type_("collect", "tiny", "--restore")
    assert (done.code, f"restored {LOST}" in done.err) == (0, True), done.err
    (here / "before.h5").write_bytes(before)
    assert stores_equal(here / "before.h5", STUDY / "results.h5") == []
    verified = type_("verify", "tiny")
    assert (verified.code, "all is well" in verified.out) == (0, True)
    assert "nothing: its journals have all" in type_("collect", "tiny", "--restore").err
    assert "left: 0" in type_("run", "tiny.yaml", "--dry-run").out


def test_what_a_restore_did_not_write_before_a_kill_is_written_by_the_next(here: Path) -> None:
    journals = STUDY / "journals"
    one = min(journals.glob("*.evaluations.arrow"))
    one.write_bytes(one.read_bytes()[: one.stat().st_size // 2])
    lost = restore_journals(STUDY / "results.h5", journals, "again")
    assert (lost.runs, 0 < lost.evaluations < RUNS) == (0, True)
    assert not restore_journals(STUDY / "results.h5", journals, "more")
    assert not (journals / "again.arrow").exists()
    assert not list(journals.glob("more*"))


def test_a_damaged_store_is_not_made_the_truth(here: Path, type_: Type) -> None:
    shutil.rmtree(STUDY / "journals")
    content = bytearray((STUDY / "results.h5").read_bytes())
    with ResultStore(STUDY / "results.h5").opened() as file:
        place = file["runs/error"].id.get_chunk_info(0).byte_offset
    content[place] ^= 1
    (STUDY / "results.h5").write_bytes(content)
    done = type_("collect", "tiny", "--restore")
    assert done.code == 2
    assert "/runs/error" in done.line
    assert not (STUDY / "journals").exists()


def test_a_folder_that_may_not_be_listed_is_not_empty(
    here: Path, type_: Type, monkeypatch: pytest.MonkeyPatch
) -> None:
    journals, listed = STUDY / "journals", os.listdir

    def refuse(folder: object) -> list[str]:
        if str(folder) == str(journals):
            raise PermissionError(errno.EACCES, "Permission denied", str(folder))
        return listed(folder)  # type: ignore[call-overload]

    monkeypatch.setattr("anynet_study.store.records.os.listdir", refuse)
    for command in (
        *(["status", "tiny"], ["run", "tiny.yaml", "--dry-run"], ["run", "tiny.yaml"]),
        *(["collect", "tiny"], ["verify", "tiny"]),
    ):
        done = type_(*command)
        assert done.code == 1, done
        assert f"{journals}: Permission denied" in done.err
    assert "Permission denied" in type_("list", "--json").out


def test_damage_in_a_journal_is_told_where_runs_are_missing_for_it(here: Path, type_: Type) -> None:
    (one,) = (path for path in (STUDY / "journals").iterdir() if "evaluations" not in path.name)
    content = bytearray(one.read_bytes())
    content[len(content) // 3 : len(content) // 3 + 4000] = bytes(4000)
    one.write_bytes(content)
    said = f"{one.name}: bytes "
    # Also where the store still has what was lost.
    assert said in "".join(type_("status", "tiny").out.split("\n"))
    assert "in no journal" in type_("list", "--json").out
    (STUDY / "results.h5").unlink()
    assert said in "".join(type_("status", "tiny").out.split("\n"))
    assert "are damaged" in type_("run", "tiny.yaml", "--dry-run").out
    assert f"damaged: {one.name}" in type_("list", "--json").out
    assert f"warning: {said}" in type_("run", "tiny.yaml", "--resamples", 100).err
