"""Collect again: only what is new is read, and the result is that of reading all."""

import os
import random
from pathlib import Path
from typing import Any

import h5py
import pytest
from store_factory import DATASETS, datasets, failed, population, record, write_journal

from anynet_study.errors import UserError
from anynet_study.store import CollectReport, JournalWriter, ResultStore, collect, stores_equal
from anynet_study.store.frames import encode
from anynet_study.store.records import RECORD_VERSION, SCHEMA, to_batch


@pytest.fixture
def fetched(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many bytes each reading of a journal brought."""
    sizes: list[int] = []
    pread = os.pread

    def counted(handle: int, length: int, offset: int) -> bytes:
        data = pread(handle, length, offset)
        sizes.append(len(data))
        return data

    monkeypatch.setattr(os, "pread", counted)
    return sizes


def gather(folder: Path, out: str = "results.h5", **options: Any) -> CollectReport:
    planned = options.pop("planned", None)
    place = folder / out
    return collect(folder / "journals", place, population(), datasets(), planned, {}, **options)


def assert_as_anew(folder: Path, **options: Any) -> None:
    """The store is the one that reading all journals gives, to the last column."""
    report = gather(folder, "anew.h5", anew=True, **options)
    assert stores_equal(folder / "results.h5", folder / "anew.h5") == []
    ours, anew = (ResultStore(folder / name) for name in ("results.h5", "anew.h5"))
    assert ours.runs().equals(anew.runs())
    assert ours.journals().equals(anew.journals())
    assert ours.recipes == anew.recipes
    assert report.runs == len(ours.runs())


def test_only_what_is_new_is_read(tmp_path: Path, fetched: list[int]) -> None:
    journals = tmp_path / "journals"
    write_journal(journals / "a.arrow", [record(number) for number in range(200)])
    with JournalWriter(journals / "b.arrow") as journal:
        journal.append(record(300))
        assert gather(tmp_path).new == 201
        whole = sum(fetched)
        fetched.clear()
        assert gather(tmp_path).new == 0
        last = len(encode(to_batch(record(199)), RECORD_VERSION))
        assert sum(fetched) <= 4 * last < whole / 50  # the last record of each, to know them again
        fetched.clear()
        journal.append(record(301))
        report = gather(tmp_path)
        assert (report.new, report.runs) == (1, 202)
        assert sum(fetched) <= 8 * last
        assert_as_anew(tmp_path)


def change(journals: Path, moments: random.Random) -> None:
    """Something that happens to a study's journals."""
    paths = sorted(journals.glob("*.arrow"))
    some = [record(moments.randrange(60), started=moments.uniform(0, 9)) for _ in range(4)]
    what = moments.choice(["new", "new", "failed", "torn", "damage", "gone", "grown", "foreign"])
    path = moments.choice(paths) if paths else journals / "none"
    name = f"{moments.randbytes(4).hex()}.arrow"
    if what == "new" or not paths:
        write_journal(journals / name, some)
    elif what == "failed":
        write_journal(journals / name, [failed(one.replicate) for one in some])
    elif what == "torn":
        os.truncate(path, max(0, path.stat().st_size - moments.randrange(1, 5000)))
    elif what == "damage":  # of what was not collected yet: from then on the store has it
        path = write_journal(journals / name, some)
        data = bytearray(path.read_bytes())
        place = moments.randrange(len(data))
        data[place : place + 40] = moments.randbytes(40)
        path.write_bytes(data[: moments.choice([len(data), len(data) - 900])])
    elif what == "gone":
        path.unlink()
    elif what == "grown":
        frames = b"".join(encode(to_batch(one), RECORD_VERSION) for one in some)
        path.write_bytes((path.read_bytes() or SCHEMA.serialize().to_pybytes()) + frames)
    else:
        (journals / name).write_bytes(moments.randbytes(500))


@pytest.mark.parametrize("seed", range(3))
def test_whatever_happens_to_the_journals(tmp_path: Path, seed: int) -> None:
    moments = random.Random(seed)
    (tmp_path / "journals").mkdir()
    for _ in range(8):
        for _ in range(moments.randrange(1, 3)):
            change(tmp_path / "journals", moments)
        gather(tmp_path)
        assert_as_anew(tmp_path)


def test_names_that_the_sweep_changes_and_changes_back(tmp_path: Path) -> None:
    runs = [record(number) for number in range(12)]
    write_journal(tmp_path / "journals" / "a.arrow", runs)
    plain = {run.run_id: (run.dataset, run.recipe, run.replicate) for run in runs}
    other = {run.run_id: (DATASETS[0], "renamed", run.replicate + 5) for run in runs[::2]}
    for planned in (plain, other, None, plain):
        gather(tmp_path, planned=planned)
        assert_as_anew(tmp_path, planned=planned)
    assert ResultStore(tmp_path / "results.h5").recipes == ["basic"]


def test_a_damaged_store_is_built_anew_from_the_journals(tmp_path: Path) -> None:
    write_journal(tmp_path / "journals" / "a.arrow", [record(number) for number in range(30)])
    gather(tmp_path)
    out = tmp_path / "results.h5"
    whole = out.read_bytes()
    for path in ("curves/test_top1", "runs/error", "labels/host", "predictions/digits/classes"):
        with h5py.File(out) as file:
            chunk = file[path].id.get_chunk_info(0)
        data = bytearray(whole)
        data[chunk.byte_offset + chunk.size // 2] ^= 1
        out.write_bytes(data)
        assert gather(tmp_path).runs == 30
        assert_as_anew(tmp_path)
        whole = out.read_bytes()


def test_a_store_with_runs_that_are_in_no_journal_any_more_is_kept(tmp_path: Path) -> None:
    write_journal(tmp_path / "journals" / "a.arrow", [record(0), record(1)])
    gone = write_journal(tmp_path / "journals" / "b.arrow", [record(2), record(1, started=0.0)])
    gather(tmp_path)
    gone.unlink()
    report = gather(tmp_path)
    kept = "results-kept-1.h5"
    told = f"journals: 1 runs of the store before are in none any more; kept: {kept}"
    assert report.problems == [told]
    assert (report.runs, len(ResultStore(tmp_path / kept).runs())) == (2, 3)
    assert_as_anew(tmp_path)
    assert gather(tmp_path).problems == []
    (tmp_path / "journals" / "a.arrow").unlink()
    assert gather(tmp_path).problems[0].endswith("2.h5")
    assert len(ResultStore(tmp_path / kept).runs()) == 3


@pytest.mark.parametrize("content", [b"", b"hello", b"\x89HDF\r\n\x1a\n" + bytes(500)])
def test_what_cannot_be_read_is_replaced_only_by_collecting_anew(
    tmp_path: Path, content: bytes
) -> None:
    write_journal(tmp_path / "journals" / "a.arrow", [record(0), record(1)])
    out = tmp_path / "results.h5"
    out.write_bytes(content)
    with pytest.raises(UserError, match=r"results\.h5"):
        gather(tmp_path)
    assert out.read_bytes() == content
    report = gather(tmp_path, anew=True)
    assert (report.runs, report.new) == (2, 2)
    assert report.problems == ["the store before could not be read; kept: results-kept-1.h5"]
    assert (tmp_path / "results-kept-1.h5").read_bytes() == content


def test_a_store_without_memory_is_collected_anew(tmp_path: Path) -> None:
    write_journal(tmp_path / "journals" / "a.arrow", [record(0), record(1)])
    gather(tmp_path)
    with h5py.File(tmp_path / "results.h5", "r+") as file:
        del file["collected"]
    assert gather(tmp_path).runs == 2
    assert_as_anew(tmp_path)
