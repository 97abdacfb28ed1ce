import os
import random
import resource
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from store_factory import as_ordinary_user, failed, record, write_journal

from anynet_study.core.errors import UserError
from anynet_study.store import JournalWriter, RunRecord, read_journal, read_journals
from anynet_study.store.frames import encode
from anynet_study.store.records import RUN

THREE = [record(1), failed(2, "data"), record(3)]


def content(records: list[RunRecord]) -> list[bytes]:
    return [RUN.to_batch(one).serialize().to_pybytes() for one in records]


def poke(path: Path, place: int, value: int) -> None:
    with path.open("r+b") as file:
        file.seek(place)
        file.write(bytes([value]))


@pytest.fixture
def journal(tmp_path: Path) -> Path:
    return write_journal(tmp_path / "worker.arrow", THREE)


@pytest.fixture
def ends() -> list[int]:
    """Where the header and each record of `journal` end, in bytes."""
    sizes = [len(RUN.schema.serialize())] + [
        len(encode(RUN.to_batch(one), RUN.version)) for one in THREE
    ]
    return np.cumsum(sizes).tolist()


def test_what_was_appended_is_read_in_order(journal: Path) -> None:
    read = read_journal(journal)
    assert read.problem is None
    assert content(read.records) == content(THREE)


def test_every_record_is_fsynced_whole(journal: Path, ends: list[int], synced: list[int]) -> None:
    assert synced == [*ends, journal.stat().st_size]


def test_a_journal_is_an_ordinary_arrow_stream(journal: Path) -> None:
    with pa.ipc.open_stream(journal) as stream:
        batches = list(stream)
    assert content([RUN.from_batch(batch) for batch in batches]) == content(THREE)


@pytest.mark.slow
def test_every_prefix_yields_the_whole_records_in_it(tmp_path: Path, ends: list[int]) -> None:
    journal = write_journal(tmp_path / "short.arrow", THREE[:2])
    ends = ends[:3]
    length = journal.stat().st_size
    expected = content(THREE)
    inside = [*range(ends[1], ends[0], -7), *range(ends[0], -1, -7), 0]
    for size in [*range(length, ends[1], -1), *inside]:
        os.truncate(journal, size)
        read = read_journal(journal)
        whole = sum(end <= size for end in ends[1:])
        assert content(read.records) == expected[:whole], size
        clean = size in (0, *ends, length)
        # The eight bytes that end a stream hold no record: cut in two they may be reported.
        assert (read.problem is None) == clean or size > ends[-1], size


@pytest.mark.slow
def test_no_flipped_byte_is_believed_or_costs_another_record(
    journal: Path, ends: list[int]
) -> None:
    data = journal.read_bytes()
    contents = content(THREE)
    generator = random.Random(0)
    places = [*range(0, ends[-1], 11), *(end + shift for end in ends[:-1] for shift in range(12))]
    for place in places:
        poke(journal, place, data[place] ^ 1 << generator.randrange(8))
        hit = [number for number in range(3) if ends[number] <= place < ends[number + 1]]
        read = read_journal(journal)
        expected = [one for number, one in enumerate(contents) if number not in hit]
        assert content(read.records) == expected, place
        assert read.problem is not None or place < ends[0], place
        poke(journal, place, data[place])


@pytest.mark.parametrize("start", [0, 500, 1400])
def test_records_after_a_damaged_stretch_are_found(
    journal: Path, ends: list[int], start: int
) -> None:
    data = journal.read_bytes()
    stop = ends[1] + 17
    noise = random.Random(start).randbytes(stop - start + 3)  # nothing is where it was
    journal.write_bytes(data[:start] + noise + data[stop:])
    read = read_journal(journal)
    assert content(read.records) == content(THREE[2:])
    assert read.problem is not None
    assert "damaged" in read.problem


@pytest.mark.parametrize(
    "data",
    [b"x", b"hello\n" * 1000, bytes(5000), b"\xff" * 20_000, b"\xff\xff\xff\xff\x10\0\0\0" * 500],
)
def test_what_is_no_journal_is_said_to_be_none(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "x.arrow").write_bytes(data)
    read = read_journal(tmp_path / "x.arrow")
    assert read.records == []
    assert read.problem is not None
    assert "not a journal of runs" in read.problem


def test_an_empty_file_is_a_journal_that_was_just_begun(tmp_path: Path) -> None:
    (tmp_path / "x.arrow").touch()
    assert read_journal(tmp_path / "x.arrow").problem is None


def test_a_live_journal_is_readable(tmp_path: Path) -> None:
    with JournalWriter(tmp_path / "live.arrow") as journal:
        for number, one in enumerate(THREE):
            journal.append(one)
            read = read_journal(tmp_path / "live.arrow")
            assert len(read.records) == number + 1
            assert read.problem is None


def test_a_journal_has_one_writer_ever(journal: Path) -> None:
    with pytest.raises(FileExistsError):
        JournalWriter(journal)
    assert len(read_journal(journal).records) == 3


def test_a_full_disk_leaves_the_journal_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "full.arrow"
    journal = JournalWriter(path)
    journal.append(THREE[0])
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (path.stat().st_size + 100, hard))
    try:
        with pytest.raises(OSError, match="too large"):
            journal.append(THREE[1])
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert read_journal(path).problem is None
    journal.append(THREE[2])
    journal.close()
    assert content(read_journal(path).records) == content([THREE[0], THREE[2]])


def test_records_of_a_newer_version_are_refused_not_lost(tmp_path: Path) -> None:
    newer = encode(RUN.to_batch(record()), RUN.version + 1)
    (tmp_path / "new.arrow").write_bytes(RUN.schema.serialize().to_pybytes() + newer)
    with pytest.raises(UserError, match=r"new\.arrow.*version 5.*versions up to 4"):
        read_journal(tmp_path / "new.arrow")
    with pytest.raises(UserError):
        read_journals(tmp_path)


def test_an_unreadable_journal_is_not_taken_for_missing_runs(
    journal: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(journal.parent)
    journal.parent.chmod(0o755)
    journal.chmod(0)
    with as_ordinary_user(), pytest.raises(PermissionError, match="worker"):
        read_journals(Path())
