"""Collect again: what becomes of the store that is there."""

from pathlib import Path
from typing import Any

import h5py
import pytest
from store_factory import DATASETS, datasets, population, record, write_journal

from anynet_study.errors import UserError
from anynet_study.store import CollectReport, ResultStore, collect, stores_equal


def gather(folder: Path, out: str = "results.h5", **options: Any) -> CollectReport:
    planned = options.pop("planned", None)
    place = folder / out
    return collect(folder / "journals", place, population(), datasets(), planned, {}, **options)


@pytest.mark.slow
def test_names_that_the_sweep_changes_and_changes_back(tmp_path: Path) -> None:
    runs = [record(number) for number in range(12)]
    write_journal(tmp_path / "journals" / "a.arrow", runs)
    plain = {run.run_id: (run.dataset, run.recipe, run.replicate) for run in runs}
    other = {run.run_id: (DATASETS[0], "renamed", run.replicate + 5) for run in runs[::2]}
    for planned in (plain, other, None, plain):
        gather(tmp_path, planned=planned)
        (tmp_path / "anew.h5").unlink(missing_ok=True)
        gather(tmp_path, "anew.h5", planned=planned)
        assert stores_equal(tmp_path / "results.h5", tmp_path / "anew.h5") == []
    assert ResultStore(tmp_path / "results.h5").recipes == ["basic"]


@pytest.mark.slow
def test_a_damaged_store_is_built_anew_from_the_journals(tmp_path: Path) -> None:
    write_journal(tmp_path / "journals" / "a.arrow", [record(number) for number in range(30)])
    gather(tmp_path)
    out = tmp_path / "results.h5"
    whole = out.read_bytes()
    (tmp_path / "before.h5").write_bytes(whole)
    for path in ("curves/test_top1", "runs/error", "labels/host", "predictions/digits/classes"):
        with h5py.File(out) as file:
            chunk = file[path].id.get_chunk_info(0)
        data = bytearray(whole)
        data[chunk.byte_offset + chunk.size // 2] ^= 1
        out.write_bytes(data)
        assert gather(tmp_path).runs == 30
        assert stores_equal(out, tmp_path / "before.h5") == []
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
