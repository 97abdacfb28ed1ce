"""Files of every format so far are read: journals, stores, releases, populations.

`formats/` has a small file of each, written by the code of its time. A format that changes needs a
further file there: see `NEWEST`.
"""

import gzip
import io
import re
import shutil
import tarfile
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pyarrow as pa
import pytest
from evaluation_factory import EVALUATIONS, make_evaluated
from quick import slow_but
from store_factory import failed, gather, make_store, record, write_journal

from anynet_study.core.errors import UserError
from anynet_study.core.metrics import CURVES
from anynet_study.design_space import Population
from anynet_study.store import (
    ResultStore,
    ResultStores,
    import_bundle,
    read_evaluations,
    read_journal,
    read_journals,
    run_sql,
    stores_equal,
    verify,
)
from anynet_study.store.frames import encode
from anynet_study.store.layout import COLUMNS, SCHEMA_VERSION
from anynet_study.store.records import EVALUATION, RUN

FORMATS = Path(__file__).parent / "formats"
#: What the journals and stores of each version hold, but for what it could not say.
RUNS = [*map(record, range(8)), failed(8)]
#: Versions of stores; those between the first and the newest are read in CI.
STORES = slow_but((1, SCHEMA_VERSION), range(1, SCHEMA_VERSION + 1))
#: The newest file of each kind. A format that changes needs another one, beside the old.
NEWEST = {
    "runs": "journal-4-functions.arrow",
    "evaluations": "evaluations-2-kind.arrow",
    "store": "version-7-functions.h5",
}


def unpacked(name: str, folder: Path, called: str = "") -> Path:
    """A file as the code of its time wrote it."""
    path = folder / (called or name)
    path.write_bytes(gzip.decompress((FORMATS / f"{name}.gz").read_bytes()))
    return path


def columns_of_store(path: Path) -> dict[str, str]:
    """Path and type of every array and attribute; a text is one whatever its length."""
    found: dict[str, str] = {}

    def note(name: str, item: h5py.Group | h5py.Dataset) -> None:
        if isinstance(item, h5py.Dataset):
            found[name] = "text" if item.dtype.kind in "SO" else str(item.dtype)
        found.update((f"{name}@{attribute}", "") for attribute in item.attrs)

    with h5py.File(path) as file:
        file.visititems(note)
        return found | {f"@{name}": "" for name in file.attrs}


def beginning(journal: Path) -> tuple[pa.Schema, set[str]]:
    """The schema of a journal, and how its frames are marked, without digits."""
    data = journal.read_bytes()
    marks = re.findall(rb"record v[ -~]*", data)
    return pa.ipc.read_schema(pa.py_buffer(data)), {
        re.sub("[0-9a-f]{8,}", "#", mark.decode()) for mark in marks
    }


def test_a_format_that_changes_has_a_file_of_its_own(tmp_path: Path) -> None:
    """Where this fails: keep the old files of `formats/`, and add one of the new format."""
    make_evaluated(tmp_path)
    for kind, name in (("runs", "a.arrow"), ("evaluations", "0.evaluations.arrow")):
        (schema, marks), (known, known_marks) = (
            beginning(path)
            for path in (tmp_path / "journals" / name, unpacked(NEWEST[kind], tmp_path))
        )
        assert schema.equals(known, check_metadata=True)
        assert marks == known_marks
    store = unpacked(NEWEST["store"], tmp_path)
    assert columns_of_store(tmp_path / "results.h5") == columns_of_store(store)


@pytest.mark.parametrize(
    "name",
    [
        "journal-4-marked",
        "journal-4-scores",
        "journal-4-spread",
        "journal-4-functions",
        "evaluations-2-marked",
        "evaluations-2-kind",
    ],
)
def test_marked_journals(name: str, tmp_path: Path) -> None:
    called = "x.evaluations.arrow" if name.startswith("evaluations") else "x.arrow"
    unpacked(f"{name}.arrow", tmp_path, called)
    problems: dict[str, str] = {}
    assert len(read_journals(tmp_path, problems=problems)) > 3
    assert problems == {}


@pytest.mark.parametrize("version", range(1, RUN.version + 1))
def test_journals_of_runs(version: int, tmp_path: Path) -> None:
    path = unpacked(f"journal-{version}.arrow", tmp_path)
    read = read_journal(path)
    assert read.problem is None
    assert [one.run_id for one in read.records] == [one.run_id for one in RUNS]
    for one, wanted in zip(read.records, RUNS, strict=True):
        for name in RUN.schema.names:
            if name not in CURVES:
                np.testing.assert_equal(getattr(one, name), getattr(wanted, name))
        for name in CURVES:
            unknown = np.full(wanted.epochs, np.nan, np.float32)
            np.testing.assert_array_equal(one.curves[name], wanted.curves.get(name, unknown))
    assert read_journals(tmp_path)["threads"].to_pylist() == [0] * len(RUNS)


@pytest.mark.parametrize("version", range(1, RUN.version + 1))
def test_the_header_of_an_old_journal_may_be_damaged(version: int, tmp_path: Path) -> None:
    path = unpacked(f"journal-{version}.arrow", tmp_path)
    data = bytearray(path.read_bytes())
    source = pa.BufferReader(bytes(data))
    pa.ipc.read_schema(source)
    for place in range(16, source.tell(), 97):
        flipped = bytearray(data)
        flipped[place] ^= 4
        path.write_bytes(flipped)
        errors = [one.error for one in read_journal(path).records]
        np.testing.assert_equal(errors, [one.error for one in RUNS])


@pytest.mark.parametrize("version", range(1, EVALUATION.version + 1))
def test_journals_of_evaluations(version: int, tmp_path: Path) -> None:
    name = f"evaluations-{version}.arrow"
    read = read_evaluations(unpacked(name, tmp_path, "old.evaluations.arrow"))
    assert read.problem is None
    assert len(read.records) > 3
    assert all(np.isnan(one.error) for one in read.records) or version > 1
    assert all(one.top1 > 0 and one.identity for one in read.records)


def with_further(one: pa.RecordBatch) -> pa.RecordBatch:
    """A record with a column that only a newer version knows, among the others."""
    columns = dict(zip(one.schema.names, one.columns, strict=True))
    names = [*one.schema.names[:5], "mood", *one.schema.names[5:]]
    fields = [one.schema.field(n) if n in columns else pa.field("mood", pa.string()) for n in names]
    schema = pa.schema(fields, metadata=one.schema.metadata)
    return pa.record_batch([columns.get(n, pa.array(["good"])) for n in names], schema=schema)


def test_columns_of_a_newer_version_are_named_and_cost_nothing(tmp_path: Path) -> None:
    batches = [with_further(RUN.to_batch(one)) for one in RUNS]
    header = batches[0].schema.serialize().to_pybytes()
    data = header + b"".join(encode(batch, RUN.version) for batch in batches)
    path = tmp_path / "journals" / "newer.arrow"
    path.parent.mkdir()
    path.write_bytes(data)
    report = gather(tmp_path)
    assert report.runs == len(RUNS)
    assert [line for line in report.problems if "does not know: mood" in line] == report.problems
    np.testing.assert_equal(
        [one.error for one in read_journal(path).records], [one.error for one in RUNS]
    )
    for place in range(16, len(header) - 8, 41):  # never believed where it is damaged
        path.write_bytes(data[:place] + bytes([data[place] ^ 4]) + data[place + 1 :])
        read = read_journal(path)
        assert all(one.spec == RUNS[i].spec for i, one in enumerate(read.records))
        assert len(read.records) == len(RUNS) or "header is damaged" in str(read.problem)


@pytest.mark.parametrize("version", STORES)
def test_stores(version: int, tmp_path: Path) -> None:
    path = unpacked(f"version-{version}.h5", tmp_path)
    with h5py.File(path) as file:
        assert file.attrs["schema_version"] == version
    same, _ = make_store(tmp_path, RUNS)
    labelled = 2 <= version <= 4  # those files have them
    if labelled:
        with h5py.File(same, "r+") as file:
            file["predictions/digits/labels"] = (np.arange(11) % 10).astype(np.uint16)
    old, new = ResultStore(path), ResultStore(same)
    assert stores_equal(old, new) == []
    for name in ("runs", "errors", "curves", "trials", "evaluations", "architectures", "datasets"):
        assert getattr(old, name)().equals(getattr(new, name)()), name
    assert old.provenance | {"created": ""} == new.provenance | {"created": ""}
    assert old.recipes == new.recipes
    assert run_sql(old, "select count(*) n from evaluations").to_pylist() == [{"n": 0}]
    assert ResultStores([path, same]).errors().equals(new.errors())
    assert old.evaluation_errors("digits").columns.tolist() == ["test"]
    with pytest.raises(UserError, match="there are none at all"):
        old.evaluation_predictions("digits", "blur")
    assert old.labels("digits") is None or labelled
    assert old.predictions("digits")[1].shape[1] == 11


@pytest.mark.parametrize("version", STORES)
def test_a_store_is_verified_and_collect_gives_the_store_of_today(
    version: int, tmp_path: Path
) -> None:
    path = unpacked(f"version-{version}.h5", tmp_path, "results.h5")
    wrong = [finding.repair for finding in verify(path) if not finding.note]
    # The labels in these files were made up, and no run was tested on them.
    assert wrong == ["labels"] * (2 <= version <= 4)
    journal = unpacked(f"journal-{min(version, RUN.version)}.arrow", tmp_path)
    (tmp_path / "journals").mkdir()
    journal.rename(tmp_path / "journals" / "a.arrow")
    write_journal(tmp_path / "journals" / "b.arrow", [record(9)])
    report = gather(tmp_path)
    assert (report.runs, report.new, report.problems) == (10, 1, [])
    with h5py.File(path) as file:
        assert file.attrs["schema_version"] == SCHEMA_VERSION
    fresh = tmp_path / "fresh"
    make_store(fresh, [*RUNS, record(9)])
    assert stores_equal(path, fresh / "results.h5") == []


EVALUATED = [f"{version}-evaluated" for version in range(4, SCHEMA_VERSION + 1)]


@pytest.mark.parametrize("name", [*EVALUATED, "6-kind", "7-scores", "7-spread", "7-marks"])
def test_evaluations_in_stores(name: str, tmp_path: Path) -> None:
    version, path = int(name[0]), unpacked(f"version-{name}.h5", tmp_path)
    assert [finding for finding in verify(path) if not finding.note] == []
    store = ResultStore(path)
    table = store.evaluations()
    assert table["top1"].notna().all()
    assert table["error"].isna().all() == (version == 4)
    names = store.evaluation_errors("digits").columns.tolist()
    assert sorted(names) == ["blur", "shifted", "test"]
    if version > 4:
        make_evaluated(tmp_path)
        assert stores_equal(path, tmp_path / "results.h5") == []
        assert len(table) == len(EVALUATIONS)


@pytest.mark.parametrize("code", [99, -1])
@pytest.mark.parametrize("column", ["architecture", "dataset", "host"])
def test_integers_that_stand_for_no_text_in_an_old_store_are_refused(
    tmp_path: Path, column: str, code: int
) -> None:
    path = unpacked("version-6.h5", tmp_path)
    with h5py.File(path, "r+") as file:
        file["runs"][column][0] = code
    with pytest.raises(UserError, match=f"/runs/{column} has integers beyond the"):
        ResultStore(path).runs()


def test_columns_of_a_newer_store_can_be_asked_for(tmp_path: Path) -> None:
    path, _ = make_store(tmp_path, RUNS)
    with h5py.File(path, "r+") as file:
        file["runs/mood"] = np.arange(len(RUNS))
    store = ResultStore(path)
    assert "mood" in store.columns("runs")
    assert store.runs(["mood", "error"])["mood"].tolist() == list(range(len(RUNS)))
    assert store.runs().columns.tolist() == list(COLUMNS["runs"])


def test_a_newer_store_is_one_clear_line(tmp_path: Path) -> None:
    path, _ = make_store(tmp_path, RUNS)
    with h5py.File(path, "r+") as file:
        file.attrs["schema_version"] = SCHEMA_VERSION + 1
    with pytest.raises(UserError, match=r"results\.h5: written by a newer anynet-study"):
        ResultStore(path)


def test_releases(tmp_path: Path) -> None:
    packed = gzip.decompress((FORMATS / "release-1.tar.gz").read_bytes())
    with tarfile.open(fileobj=io.BytesIO(packed)) as tar:
        tar.extractall(tmp_path, filter="data")
    store = import_bundle(tmp_path / "release", tmp_path / "results.h5")
    make_evaluated(tmp_path / "again")
    assert stores_equal(store, tmp_path / "again" / "results.h5") == []


@pytest.mark.parametrize("version", [1, 2, 3])
def test_populations(version: int) -> None:
    drawn = Population.read(FORMATS / f"population-{version}.parquet")
    # By the law of before, then by that of today.
    before = ["a090bf3ad1a5df42", "e252cc1d4edfccc8", "31e913fa5fd1742e"]
    today = ["18f2e6ec65b8413f", "49fde1538d076b5d", "5131a0de1b79c6fd"]
    assert [one.id for one in drawn] == (before if version < 3 else today)
    assert drawn.sampling["space"]["quantization"] == ("nearest" if version < 3 else "ceil")


def test_the_documentation_says_how_to_open_each_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    text = (Path(__file__).parents[2] / "docs" / "results.md").read_text(encoding="utf-8")
    store, journals, population = re.findall(r"^```py\n(.*?)^```", text, re.M | re.S)
    make_store(tmp_path, RUNS)
    shutil.copyfile(FORMATS / "population-3.parquet", tmp_path / "population.parquet")
    monkeypatch.chdir(tmp_path)
    means = ResultStore("results.h5").runs().groupby("dataset")["error"].mean()
    known: dict[str, Any] = {}
    exec(store, known)
    shown = capsys.readouterr().out
    assert all(f"'{name}': np.float64({mean})" in shown for name, mean in means.items())
    assert len(known["curve"]) == RUNS[0].epochs
    exec(journals, {})
    errors = [line.split()[-1] for line in capsys.readouterr().out.splitlines()]
    np.testing.assert_allclose(list(map(float, errors)), [one.error for one in RUNS])
    exec(population, known)
    assert len(known["population"]) == 3
    assert known["drawn"]["seed"] == 0
