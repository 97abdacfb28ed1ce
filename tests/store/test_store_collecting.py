import errno
import os
import resource
import time
from dataclasses import replace
from pathlib import Path

import h5py
import numpy as np
import pyarrow as pa
import pytest
from store_factory import (
    ARCHITECTURES,
    DATASETS,
    as_ordinary_user,
    datasets,
    failed,
    gather,
    make_store,
    population,
    record,
    write_journal,
)

from anynet_study.core.errors import UserError
from anynet_study.store import ResultStore, collect, stores_equal
from anynet_study.store.frames import encode
from anynet_study.store.records import RUN

RUNS = [record(number) for number in range(30)]


def test_every_run_is_in_the_store_bit_for_bit(tmp_path: Path) -> None:
    out, report = make_store(tmp_path, RUNS[::2], RUNS[1::2])
    assert (report.runs, report.new, report.duplicates, report.problems) == (30, 30, 0, [])
    with ResultStore(out) as store:
        runs = store.runs(["run_id", "error", "seconds", "spec", "replicate"]).set_index("run_id")
        curves = store.curves()
        predicted = {}
        for dataset in DATASETS:
            rows, classes = store.predictions(dataset)
            predicted |= dict(zip(rows["run_id"], classes, strict=True))
    for one in RUNS:
        row = runs.loc[one.run_id]
        assert (row["error"], row["seconds"], row["spec"]) == (one.error, one.seconds, one.spec)
        mine = curves[curves["run_id"] == one.run_id]
        assert mine["epoch"].tolist() == list(range(1, one.epochs + 1))
        for name, curve in one.curves.items():
            assert mine[name].to_numpy().tobytes() == curve.tobytes()
        assert (predicted[one.run_id] == one.predictions).all()


def test_order_does_not_depend_on_the_journals(tmp_path: Path) -> None:
    shuffled = [RUNS[i] for i in np.random.default_rng(0).permutation(30)]
    first, _ = make_store(tmp_path / "a", RUNS)
    second, _ = make_store(tmp_path / "b", shuffled[:4], shuffled[4:20], shuffled[20:])
    assert stores_equal(first, second) == []
    runs = ResultStore(second).runs()
    keys = list(
        zip(
            runs["architecture"].map(ARCHITECTURES.index),
            runs["dataset"].map(DATASETS.index),
            runs["replicate"],
            strict=True,
        )
    )
    assert keys == sorted(keys)
    assert runs["run_id"].tolist() == ResultStore(first).runs()["run_id"].tolist()


def test_small_blocks_give_the_same_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole, _ = make_store(tmp_path / "a", RUNS[:13], RUNS[13:])
    monkeypatch.setattr("anynet_study.store.journal.TOGETHER", 3)
    monkeypatch.setattr("anynet_study.store.write.BLOCK_BYTES", 7000)
    blocks, _ = make_store(tmp_path / "b", RUNS[13:], RUNS[:13])
    assert stores_equal(whole, blocks) == []


def test_texts_of_any_length_are_read_as_they_were_recorded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    texts = ["", "x" * 300, "ä" * 5, "tab\tand \n line", "last"]
    runs = [failed(number, message=text) for number, text in enumerate(texts)]
    wanted = {run.run_id: run.message for run in runs}

    def messages(folder: str) -> tuple[str, dict[str, str]]:
        out, _ = make_store(tmp_path / folder, runs)
        with h5py.File(out) as file:
            kind = file["runs/message"].dtype.kind
        found = ResultStore(out).runs(["run_id", "message"])
        return kind, dict(zip(found["run_id"], found["message"], strict=True))

    assert messages("whole") == ("S", wanted)
    monkeypatch.setattr("anynet_study.store.hdf5.BLOCK_BYTES", 700)
    assert messages("blocks") == ("S", wanted)
    monkeypatch.setattr("anynet_study.store.hdf5.MOST_PADDED", 1000)
    assert messages("own lengths") == ("O", wanted)


def test_collecting_again_changes_nothing(tmp_path: Path) -> None:
    out, _ = make_store(tmp_path, RUNS[:9])
    (tmp_path / "before.h5").write_bytes(out.read_bytes())
    report = gather(tmp_path)
    assert (report.runs, report.new) == (9, 0)
    assert stores_equal(tmp_path / "before.h5", out) == []
    write_journal(tmp_path / "journals" / "late.arrow", RUNS[9:12])
    report = gather(tmp_path)
    assert (report.runs, report.new) == (12, 3)


@pytest.mark.parametrize("order", [(0, 1, 2, 3), (1, 2, 3, 0), (2, 0, 1, 3), (3, 2, 1, 0)])
def test_one_record_of_a_run_is_kept(tmp_path: Path, order: tuple[int, ...]) -> None:
    later = replace(RUNS[0], started=2e9, host="later")
    early = replace(RUNS[0], started=1.8e9, host="early")
    bad = [failed(0, started=1.0), failed(0, "node", started=3e9)]
    records = [[later, early, *bad][i] for i in order]
    out, report = make_store(tmp_path, records[:2], records[2:])
    assert (report.runs, report.duplicates, report.failed) == (1, 3, 0)
    assert ResultStore(out).runs()["host"].tolist() == ["early"]


def test_of_equal_starts_the_first_journal_wins(tmp_path: Path) -> None:
    twins = [[replace(RUNS[0], host=f"node{i}")] for i in range(3)]
    out, _ = make_store(tmp_path, *twins)
    assert ResultStore(out).runs()["host"].tolist() == ["node0"]


def test_of_a_run_s_failures_the_last_is_the_row(tmp_path: Path) -> None:
    rows = {"b": failed(1, "node", started=100.0), "a": failed(1, "oom", started=200.0)}
    rows["c"] = failed(1, "node", started=150.0)
    kinds = []
    for name, row in rows.items():
        write_journal(tmp_path / "journals" / f"{name}.arrow", [row])
        gather(tmp_path)
        store = ResultStore(tmp_path / "results.h5")
        kinds += store.runs(["failure_kind"])["failure_kind"].tolist()
    assert kinds == ["node", "oom", "oom"]


def test_unplanned_runs_are_kept_but_not_analysed(tmp_path: Path) -> None:
    stranger = record(77, architecture="ffff", dataset="of/another.sweep", recipe="other")
    out, report = make_store(tmp_path, [*RUNS[:3], stranger], planned=[RUNS[0].run_id, "x"])
    assert (report.runs, report.unplanned) == (4, 3)
    store = ResultStore(out)
    assert store.runs().set_index("run_id")["planned"].sum() == 1
    assert store.planned_runs == 2
    errors = store.errors()
    assert errors.shape == (3, 3)
    assert errors.notna().sum().sum() == 1
    assert np.asarray(store.predictions("of/another.sweep")[1]).tolist() == [
        stranger.predictions.tolist()
    ]


def test_no_runs_yet_is_a_store_too(tmp_path: Path) -> None:
    out, report = make_store(tmp_path)
    assert (report.runs, report.problems) == (0, [])
    store = ResultStore(out)
    assert len(store.runs()) == len(store.curves()) == len(store.replicates()) == 0
    assert store.errors().shape == (3, 3)
    assert store.errors(metric="top5").isna().all(axis=None)
    assert store.exclusions().empty
    assert stores_equal(out, out) == []


def test_what_is_wrong_is_reported_by_name_and_good_records_kept(tmp_path: Path) -> None:
    journals = tmp_path / "journals"
    write_journal(journals / "good.arrow", RUNS[:2])
    torn = write_journal(journals / "torn.arrow", RUNS[2:4])
    torn.write_bytes(torn.read_bytes()[:-20])
    (journals / "foreign.arrow").write_bytes(b"hello" * 100)
    (journals / "notes.txt").write_text("mine")
    (journals / ".nfs001").write_text("not mine")
    _, report = make_store(tmp_path)
    assert report.runs == 3
    assert [line.split(":")[0] for line in report.problems] == [
        "foreign.arrow",
        "torn.arrow",
        "notes.txt",
    ]
    table = ResultStore(tmp_path / "results.h5").journals().set_index("journal")
    assert table["records"].to_dict() == {"foreign.arrow": 0, "good.arrow": 2, "torn.arrow": 1}
    assert "ends inside a record" in table.loc["torn.arrow", "problem"]


def test_text_that_hdf5_cannot_hold(tmp_path: Path) -> None:
    row = RUN.to_batch(failed(0)).to_pydict() | {"message": ["a\0b"]}
    frame = encode(pa.record_batch(pa.table(row, RUN.schema).to_batches()[0]), RUN.version)
    (tmp_path / "journals").mkdir()
    header = RUN.schema.serialize().to_pybytes()
    (tmp_path / "journals" / "x.arrow").write_bytes(header + frame)
    out, _ = make_store(tmp_path)
    assert ResultStore(out).runs()["message"].tolist() == ["a\\0b"]


def test_predictions_of_another_length_are_padded(tmp_path: Path) -> None:
    short = record(3, predictions=np.array([4, 5], np.uint16))
    out, _ = make_store(tmp_path, [record(0), short])
    runs, classes = ResultStore(out).predictions("digits")
    assert runs["images"].tolist() == [11, 2]
    assert classes.shape == (2, 11)
    assert classes[1].tolist() == [4, 5] + [65535] * 9


def test_the_main_recipe_is_the_first_of_the_sweep(tmp_path: Path) -> None:
    main = record(0, recipe="zeta", error=10.0)
    other = record(100, dataset="digits", architecture=ARCHITECTURES[0], recipe="alpha", error=20.0)
    out, _ = make_store(tmp_path, [main, other], recipes=("zeta", "alpha"))
    store = ResultStore(out)
    assert store.recipes == ["zeta", "alpha"]
    assert store.errors().loc[ARCHITECTURES[0], "digits"] == 10.0
    assert store.errors(recipe="alpha").loc[ARCHITECTURES[0], "digits"] == 20.0


def test_what_killed_collects_left_is_removed_when_old(tmp_path: Path) -> None:
    old, young = tmp_path / ".results.h5.1.tmp", tmp_path / ".results.h5.2.tmp"
    for path in (old, young):
        path.write_text("half")
    os.utime(old, (time.time() - 7200,) * 2)
    make_store(tmp_path, RUNS[:1])
    assert not old.exists()
    assert young.exists()


@pytest.mark.parametrize("part", [0.0, 0.6])
def test_a_full_disk_leaves_the_old_store_and_says_so_once(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], part: float
) -> None:
    out, _ = make_store(tmp_path, RUNS)
    before = out.read_bytes()
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (int(part * len(before)), hard))
    try:
        with pytest.raises(OSError, match=r"results\.h5") as full:
            gather(tmp_path)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert (full.value.errno, full.value.filename) == (errno.EFBIG, str(out))
    assert capfd.readouterr() == ("", "")
    assert out.read_bytes() == before
    assert sorted(path.name for path in tmp_path.iterdir()) == ["journals", "results.h5"]


def test_a_read_only_folder_leaves_the_old_store(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    out, _ = make_store(Path(), RUNS[:3])
    before = out.read_bytes()
    tmp_path.chmod(0o555)
    with as_ordinary_user(), pytest.raises(PermissionError, match=r"'results\.h5'"):
        gather(Path())
    tmp_path.chmod(0o755)
    assert out.read_bytes() == before


def test_readers_never_see_half_a_store(tmp_path: Path) -> None:
    out, _ = make_store(tmp_path, RUNS[:9])
    with ResultStore(out) as held:
        before = held.runs()
        write_journal(tmp_path / "journals" / "late.arrow", RUNS[9:12])
        gather(tmp_path)
        assert held.runs().equals(before)  # one state, although the file was swapped
        assert len(held.curves()["run_id"].unique()) == 9
    assert len(held.runs()) == 12


def test_planned_runs_are_called_what_the_sweep_calls_them_now(tmp_path: Path) -> None:
    """A label may be changed, and an old one given to other data, without training again."""
    old, new = DATASETS[0], DATASETS[1]
    mine = [run for run in RUNS if run.dataset == old]
    names = {run.run_id: (new, "renamed", run.replicate) for run in mine}
    others = [run for run in RUNS if run.dataset == new]  # of other test images, no longer planned
    write_journal(tmp_path / "journals" / "a.arrow", [*mine, *others])
    out = tmp_path / "results.h5"
    report = collect(
        tmp_path / "journals", out, population(), datasets(), names, {}, recipes=["renamed"]
    )
    store = ResultStore(out)
    assert (report.runs, report.unplanned) == (len(mine) + len(others), len(others))
    plain, _ = make_store(tmp_path / "plain", RUNS)
    expected = ResultStore(plain).errors()[old]
    assert store.errors()[new].tolist() == expected.tolist()
    assert store.errors()[old].isna().all()
    index, predictions = store.predictions(new)
    by_id = {run.run_id: run.predictions for run in [*mine, *others]}
    for row, run_id in enumerate(index["run_id"]):
        kept = by_id[run_id]
        assert predictions[row][: len(kept)].tolist() == kept.tolist()


def test_labels_stay_with_predictions_of_the_sweep_s_own_runs(tmp_path: Path) -> None:
    seen = np.array([1, 0, 2], np.uint16)
    runs = [record(number, dataset=DATASETS[0], predictions=seen) for number in range(2)]
    write_journal(tmp_path / "journals" / "a.arrow", runs)
    out, truth = tmp_path / "results.h5", {runs[0].dataset: np.array([1, 1, 2])}

    def labels(planned: list[str], truths: dict[str, np.ndarray]) -> list[int] | None:
        arguments = (population(), datasets(), planned, {})
        collect(tmp_path / "journals", out, *arguments, truths=truths)
        kept = ResultStore(out).labels(runs[0].dataset)
        return None if kept is None else kept.tolist()

    both = [run.run_id for run in runs]
    assert labels(both, truth) == [1, 1, 2]
    assert labels(both, {}) is None
    assert labels(both[:1], truth) is None
    assert labels(both, {runs[0].dataset: np.array([1, 1])}) is None


@pytest.mark.slow
def test_a_damaged_store_is_built_anew_from_the_journals(tmp_path: Path) -> None:
    write_journal(tmp_path / "journals" / "a.arrow", [record(number) for number in range(30)])
    gather(tmp_path)
    out = tmp_path / "results.h5"
    whole = out.read_bytes()
    (tmp_path / "before.h5").write_bytes(whole)
    for path in ("curves/test_top1", "runs/error", "runs/host", "predictions/digits/classes"):
        with h5py.File(out) as file:
            chunk = file[path].id.get_chunk_info(0)
        data = bytearray(whole)
        data[chunk.byte_offset + chunk.size // 2] ^= 1
        out.write_bytes(data)
        assert gather(tmp_path).runs == 30
        assert stores_equal(out, tmp_path / "before.h5") == []
        whole = out.read_bytes()
    with h5py.File(out, "r+") as file:
        del file["runs/run_id"]
    assert gather(tmp_path).runs == 30
    assert stores_equal(out, tmp_path / "before.h5") == []


def test_a_store_with_runs_that_are_in_no_journal_any_more_is_replaced_anew_alone_and_kept(
    tmp_path: Path,
) -> None:
    write_journal(tmp_path / "journals" / "a.arrow", [record(0), record(1)])
    gone = write_journal(tmp_path / "journals" / "b.arrow", [record(2), record(1, started=0.0)])
    gather(tmp_path)
    gone.unlink()
    before = (tmp_path / "results.h5").read_bytes()
    with pytest.raises(UserError, match=r"1 runs of results.h5 are in no journal .*--restore"):
        gather(tmp_path)
    assert (tmp_path / "results.h5").read_bytes() == before
    report = gather(tmp_path, anew=True)
    kept = "results-kept-1.h5"
    told = f"journals: 1 runs of the store before are in none any more; kept: {kept}"
    assert report.problems == [told]
    assert (report.runs, len(ResultStore(tmp_path / kept).runs())) == (2, 3)
    assert gather(tmp_path).problems == []
    (tmp_path / "journals" / "a.arrow").unlink()
    assert gather(tmp_path, anew=True).problems[0].endswith("2.h5")
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
