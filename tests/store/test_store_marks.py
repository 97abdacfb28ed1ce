"""Records that a store has of journals are believed only while these journals are the same."""

from collections.abc import Callable
from pathlib import Path

import h5py
import numpy as np
import pyarrow as pa
import pytest
from evaluation_factory import evaluation, write_evaluations
from store_factory import failed, gather, record, write_journal

from anynet_study.store import JournalWriter, collected_records, read_journals
from anynet_study.store.records import RECORDS

COLUMNS = [
    *("run_id", "status", "error", "evaluation_id", "device", "engine", "seconds", "started"),
    *("backend", "threads", "failure_kind", "host", "message"),
]
ENDS = ["run_id", "evaluation_id"]


@pytest.fixture
def study(tmp_path: Path) -> Path:
    """Two journals of runs, of which one failed, and one of evaluations, collected."""
    journals = tmp_path / "journals"
    write_journal(journals / "one.arrow", [*map(record, range(5)), failed(5)])
    write_journal(journals / "two.arrow", map(record, range(6, 10)))
    write_evaluations(journals / "one.evaluations.arrow", map(evaluation, range(4)))
    gather(tmp_path)
    return tmp_path


def taken(study: Path) -> tuple[pa.Table, dict[str, int]]:
    table, ends = collected_records(study / "results.h5", study / "journals", COLUMNS)
    assert table.schema.equals(RECORDS)
    return table, dict(ends)


def rows(table: pa.Table) -> list[str]:
    """What there is, whatever its order; NaN is equal to itself here, but not to null."""
    return sorted(map(str, table.select([*COLUMNS, "record_kind", "journal"]).to_pylist()))


def test_a_store_has_what_reading_its_journals_gives(study: Path) -> None:
    found, ends = taken(study)
    read = read_journals(study / "journals")
    assert rows(found) == rows(read)
    lasts = zip(read["journal"].to_pylist(), read["end"].to_pylist(), strict=True)
    assert ends == dict(lasts)


def test_what_was_written_since_is_left_to_be_read(study: Path) -> None:
    one = study / "journals" / "one.arrow"
    one.write_bytes(one.read_bytes() + write_journal(study / "x.arrow", [record(20)]).read_bytes())
    write_journal(study / "journals" / "three.arrow", [record(21)])
    found, ends = taken(study)
    assert "three.arrow" not in ends
    later = read_journals(study / "journals", ends)
    assert sorted(later["run_id"].to_pylist()) == [record(20).run_id, record(21).run_id]
    assert rows(pa.concat_tables([found, later])) == rows(read_journals(study / "journals"))


def test_a_journal_that_is_not_the_same_is_not_taken_from_the_store(study: Path) -> None:
    path = study / "journals" / "one.arrow"
    whole = path.read_bytes()
    end = taken(study)[1]["one.arrow"]
    places = np.random.default_rng(0).integers(end, size=20).tolist()
    flipped = (whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :] for at in places)
    for content in (whole[: end - 1], whole[: end // 2], b"", bytes(len(whole)), *flipped):
        path.write_bytes(content)
        found, ends = taken(study)
        assert sorted(ends) == ["one.evaluations.arrow", "two.arrow"]
        assert "one.arrow" not in found["journal"].to_pylist()
    path.write_bytes(whole[:end])  # what comes behind the last record is no record
    assert "one.arrow" in taken(study)[1]
    path.unlink()
    assert sorted(taken(study)[1]) == ["one.evaluations.arrow", "two.arrow"]


def test_a_journal_of_which_the_store_left_out_a_record_is_read(study: Path) -> None:
    with JournalWriter(study / "journals" / "again.arrow") as journal:
        journal.append(record(5))  # after its failure, which the store then has no more
        journal.append(record(6, started=2e9))  # as it was lost and trained again
    write_evaluations(study / "journals" / "w.evaluations.arrow", [evaluation(11)])  # of no run
    gather(study)
    assert sorted(taken(study)[1]) == ["one.evaluations.arrow", "two.arrow"]


def test_a_journal_that_was_damaged_is_read(study: Path) -> None:
    path = study / "journals" / "one.arrow"
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)
    gather(study, anew=True)
    assert "one.arrow" not in taken(study)[1]


def _changed(file: h5py.File) -> None:
    file["runs/error"][3] += 1


def _longer(file: h5py.File) -> None:
    end = file["journals/end"]
    end[:] = end[:] + 1


def _without(file: h5py.File) -> None:
    del file["journals/crc32"]


@pytest.mark.parametrize("change", [_changed, _longer, _without])
def test_a_store_that_is_not_as_it_was_written_is_not_believed(
    study: Path, change: Callable[[h5py.File], None]
) -> None:
    with h5py.File(study / "results.h5", "r+") as file:
        change(file)
    found, ends = taken(study)
    assert (len(found), ends) == (0, {})


def test_without_a_store_all_is_left_to_be_read(study: Path) -> None:
    (study / "results.h5").write_bytes(b"no store")
    assert taken(study)[1] == {}
    (study / "results.h5").unlink()
    assert taken(study)[1] == {}
