"""Release bundles: readable without this package, checked, and imported again."""

import hashlib
import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import h5py
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml
from command import in_this_process
from import_factory import imported, written
from store_factory import (
    as_ordinary_user,
    datasets,
    failed,
    make_store,
    population,
    record,
    write_journal,
)

from anynet_study.core.errors import UserError
from anynet_study.design_space import DesignSpace, Population
from anynet_study.store import ResultStore, collect, stores_equal
from anynet_study.store.exporting import export, import_bundle, verify_bundle
from anynet_study.store.publishing import Publication, keys_in

RUNS = [record(number) for number in range(12)]


@pytest.fixture(scope="module")
def exported(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a small trained study and its bundle."""
    folder = tmp_path_factory.mktemp("exported")
    out, _ = make_store(folder / "study", [*RUNS, failed(12)])
    export(ResultStore(out), folder / "release")
    return folder


@pytest.fixture
def bundle(exported: Path, tmp_path: Path) -> Path:
    """A copy of the bundle, beside one of the study."""
    shutil.copytree(exported, tmp_path, dirs_exist_ok=True)
    return tmp_path / "release"


@pytest.mark.slow
def test_a_bundle_comes_back_as_an_equal_store(bundle: Path, tmp_path: Path) -> None:
    back = import_bundle(bundle, tmp_path / "back.h5")
    study = ResultStore(tmp_path / "study/results.h5")
    assert stores_equal(study, back) == []
    assert back.provenance == study.provenance
    import_bundle(bundle, tmp_path / "back.h5")


@pytest.mark.slow
def test_its_tables_are_read_without_us(bundle: Path) -> None:
    store = ResultStore(bundle / "results.h5")
    errors = pd.read_parquet(bundle / "errors.parquet").set_index("architecture")
    pd.testing.assert_frame_equal(errors, store.errors(), check_column_type=False)
    runs = pd.read_parquet(bundle / "runs.parquet").set_index("run_id")
    curves = pd.read_parquet(bundle / "curves.parquet")
    for one in RUNS:
        assert runs.loc[one.run_id, "error"] == one.error
        mine = curves[curves["run_id"] == one.run_id]
        assert mine["test_top1"].to_numpy().tobytes() == one.curves["test_top1"].tobytes()
    assert runs.loc[failed(12).run_id, "status"] == "failed"
    assert pd.read_parquet(bundle / "datasets.parquet")["dataset"].tolist() == [
        *("digits", "digits-2", "gratings")
    ]
    assert (bundle / "sweep.yaml").read_text() == "x: 1"
    with h5py.File(bundle / "results.h5") as file:
        assert len(file["runs/error"]) == 13


@pytest.mark.slow
def test_the_dictionary_names_every_column(bundle: Path) -> None:
    described = json.loads((bundle / "schema.json").read_text())
    for name, table in described["tables"].items():
        frame = pd.read_parquet(bundle / name)
        assert [column["name"] for column in table["columns"]] == list(frame.columns)
        assert table["rows"] == len(frame)
    meanings = {c["name"]: c["meaning"] for c in described["tables"]["runs.parquet"]["columns"]}
    assert meanings["error"].startswith("test error in percent after the final epoch")


@pytest.mark.slow
def test_the_readme_says_what_is_there(bundle: Path) -> None:
    text = (bundle / "README.md").read_text()
    assert "Test errors of 3 models on 3 datasets: 13 runs." in text
    for path in bundle.iterdir():
        assert path.name in {"README.md", "SHA256SUMS"} or f"`{path.name}`" in text
    assert "anynet-study import release -o results.h5" in text


def test_checksums_are_those_of_sha256sum(bundle: Path) -> None:
    lines = (bundle / "SHA256SUMS").read_text().splitlines()
    sums = {line.split("  ")[1]: line.split("  ")[0] for line in lines}
    assert set(sums) | {"SHA256SUMS"} == {path.name for path in bundle.iterdir()}
    for name, digest in sums.items():
        assert hashlib.sha256((bundle / name).read_bytes()).hexdigest() == digest


@pytest.mark.slow
def test_the_same_store_gives_the_same_bytes(bundle: Path, tmp_path: Path) -> None:
    store = ResultStore(tmp_path / "study/results.h5")
    again = tmp_path / "elsewhere/release"
    export(store, again)
    for path in bundle.iterdir():
        assert (again / path.name).read_bytes() == path.read_bytes(), path.name


def test_the_population_is_one_again(tmp_path: Path) -> None:
    population = DesignSpace.anynetx().sample(3, flops=(360e6, 400e6), seed=0)
    one = record(0, architecture=population.ids[0])
    write_journal(tmp_path / "journals/w.arrow", [one])
    out = tmp_path / "results.h5"
    collect(tmp_path / "journals", out, population.table, datasets(), None, {})
    export(ResultStore(out), tmp_path / "release")
    population.write(tmp_path / "mine.parquet")
    back = Population.read(tmp_path / "release/population.parquet")
    assert back.table.equals(population.table)
    assert back.sampling == population.sampling


@pytest.mark.slow
def test_imported_results_are_exported_with_their_labels(tmp_path: Path) -> None:
    labels, classes = np.arange(8) % 4, np.arange(8) % 3
    np.savez(tmp_path / "p.npz", labels=labels, net=classes)
    table = written(tmp_path / "t.csv", "model,val\nnet,24\n")
    store = imported(tmp_path / "s.h5", table, predictions=[("x", tmp_path / "p.npz")])
    export(store, tmp_path / "release")
    assert "imported from `t.csv`, sha256" in (tmp_path / "release/README.md").read_text()
    back = import_bundle(tmp_path / "release", tmp_path / "back.h5")
    assert stores_equal(store, back) == []
    found = back.labels("x")
    assert found is not None
    assert found.tolist() == labels.tolist()
    extended = imported(
        tmp_path / "more.h5", tmp_path / "release", written(tmp_path / "u.csv", "model,y\nn,2\n")
    )
    assert extended.errors().shape == (2, 3)


@pytest.mark.slow
def test_an_older_export_is_replaced_and_nothing_else(bundle: Path, tmp_path: Path) -> None:
    out, _ = make_store(tmp_path / "larger", RUNS)
    export(ResultStore(out), bundle)
    assert len(pd.read_parquet(bundle / "runs.parquet")) == 12
    (tmp_path / "mine").mkdir()
    written(tmp_path / "mine/notes.txt", "keep")
    written(tmp_path / "file", "keep")
    for name in ("mine", "file", "larger"):
        with pytest.raises(UserError, match="exists and is not an export; choose another -o"):
            export(ResultStore(out), tmp_path / name)
    assert (tmp_path / "mine/notes.txt").read_text() == "keep"


def test_a_failed_export_leaves_nothing(
    bundle: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = {path.name: path.read_bytes() for path in bundle.iterdir()}

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(shutil, "copyfile", full)
    there = sorted(tmp_path.iterdir())
    for name in ("release", "new"):
        with pytest.raises(OSError, match=rf"No space left on device: .*{name}'"):
            export(ResultStore(tmp_path / "study/results.h5"), tmp_path / name)
    assert sorted(tmp_path.iterdir()) == there
    assert {path.name: path.read_bytes() for path in bundle.iterdir()} == before


def test_a_read_only_place(bundle: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    tmp_path.chmod(0o555)
    with as_ordinary_user(), pytest.raises(PermissionError):
        export(ResultStore("study/results.h5"), Path("new"))
    tmp_path.chmod(0o755)
    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (lambda b: (b / "README.md").write_text("mine"), "README.md was altered"),
        (lambda b: (b / "runs.parquet").unlink(), "runs.parquet is missing"),
        (lambda b: (b / "SHA256SUMS").unlink(), "has no readable SHA256SUMS"),
        (lambda b: (b / "SHA256SUMS").write_text("x"), "line 1 is not a checksum and a file name"),
        (lambda b: (b / "SHA256SUMS").write_text(""), "SHA256SUMS has no results.h5"),
        (
            lambda b: (b / "SHA256SUMS").write_text("0" * 64 + "  ../x\n"),
            "line 1 is not a checksum",
        ),
        (lambda b: (b / "schema.json").write_text("{}"), "not one that `anynet-study export` made"),
    ],
)
def test_an_altered_bundle_is_refused(bundle: Path, change: object, expected: str) -> None:
    change(bundle)  # type: ignore[operator]
    out = bundle.parent / "back.h5"
    with pytest.raises(UserError) as refused:
        import_bundle(bundle, out)
    assert expected in str(refused.value)
    assert not out.exists()
    assert expected in in_this_process(bundle.parent, "verify", bundle, expect=1).stdout


@pytest.mark.slow
def test_other_results_are_not_overwritten(bundle: Path, tmp_path: Path) -> None:
    other, _ = make_store(tmp_path / "other", RUNS[:2])
    before = other.read_bytes()
    with pytest.raises(UserError, match="holds other results; give another -o"):
        import_bundle(bundle, other)
    assert other.read_bytes() == before


SWEEP = """
name: tiny
question: see http://anna:hunter22@git.internal/x and /home/anna/notes/a.txt
datasets: {digits: {per_class: 20}}
launch:
  backend: rewritten
  workers: 3
  slurm:
    account: acct-42
    setup: ["export WANDB_API_KEY=abcdef123456", source /home/anna/env.sh]
"""
#: What nobody else should read of this store.
PRIVATE = ("anna", "hunter22", "acct-42", "abcdef123456", "node1", "worker-a-31-99")


@pytest.fixture
def private(tmp_path: Path) -> ResultStore:
    """A store that knows where and how its runs were made."""
    records = [
        replace(record(number), host="node1.lan", message="none at node1.lan:/scratch/anna/x")
        for number in range(3)
    ]
    write_journal(tmp_path / "journals" / "worker-a-31-99.arrow", records)
    out = tmp_path / "results.h5"
    told = {"sweep": SWEEP, "question": "see http://anna:hunter22@git.internal/x"}
    collect(tmp_path / "journals", out, population(), datasets(), None, told)
    return ResultStore(out)


def private_in(folder: Path) -> set[str]:
    """Which of PRIVATE stand in a file, as bytes or in a table of Parquet, which is compressed."""
    content = [path.read_bytes() for path in folder.iterdir()]
    content += [pq.read_table(path).to_pandas().to_csv().encode() for path in folder.glob("*.pa*")]
    return {word for word in PRIVATE if any(word.encode() in one for one in content)}


def test_where_and_how_jobs_ran_is_not_published(private: ResultStore, tmp_path: Path) -> None:
    left_out = export(private, tmp_path / "release").left_out
    assert private_in(tmp_path / "release") == set()
    assert left_out[0] == "launch options: workers, slurm.account, slurm.setup"
    assert len(left_out) == 4
    sweep = yaml.safe_load((tmp_path / "release" / "sweep.yaml").read_text())
    assert sweep["launch"] == {"backend": "rewritten"}
    assert sweep["question"] == "see http://git.internal/x and .../a.txt"
    published = ResultStore(tmp_path / "release" / "results.h5")
    assert stores_equal(private, published) == []
    assert set(published.runs()["message"]) == {"none at [host]:.../x"}
    assert list(verify_bundle(tmp_path / "release")) == []


def test_a_sweep_has_no_launch_options_where_none_is_kept() -> None:
    made = Publication()
    launch = {"workers": 3, "slurm": {"account": "acct-42"}}
    text = yaml.safe_dump({"name": "tiny", "launch": launch})
    assert yaml.safe_load(made.sweep(text)) == {"name": "tiny"}
    assert made.left_out() == ["launch options: slurm.account, workers"]


def test_all_is_published_where_that_is_asked_for_and_keys_are_found_then(
    private: ResultStore, tmp_path: Path
) -> None:
    release = tmp_path / "release"
    assert export(private, release, with_launch=True).left_out == []
    assert (release / "results.h5").read_bytes() == private.path.read_bytes()
    assert private_in(release) == set(PRIVATE)
    found = list(verify_bundle(release))
    assert {it.repair for it in found} == {"key"}
    assert {it.where for it in found} == {"README.md", "sweep.yaml", "results.h5/provenance"}
    assert not any("abcdef123456" in it.what or "hunter22" in it.what for it in found)


@pytest.mark.parametrize(
    "text",
    [
        *("export HF_TOKEN=abcdefgh", "password: correct-horse", "https://me:secret1@host/x"),
        *("AKIAIOSFODNN7EXAMPLE", "ghp_" + "a1" * 18, "-----BEGIN RSA PRIVATE KEY-----"),
    ],
)
def test_what_looks_like_a_key(text: str) -> None:
    assert len(keys_in(f"before {text} after")) == 1


@pytest.mark.parametrize(
    "text",
    [
        "tokens: 3",
        "password: null",
        "https://host/a:b",
        "content_hash: " + "ab" * 32,
        "monkey=banana1",
    ],
)
def test_what_does_not(text: str) -> None:
    assert keys_in(text) == []


def remade(bundle: Path) -> None:
    """Make the sums fit again, as anybody can."""
    names = sorted(path.name for path in bundle.iterdir() if path.name != "SHA256SUMS")
    lines = [f"{hashlib.sha256((bundle / it).read_bytes()).hexdigest()}  {it}\n" for it in names]
    (bundle / "SHA256SUMS").write_text("".join(lines))


def reversed_column(bundle: Path) -> str:
    table = pq.read_table(bundle / "errors.parquet")
    backwards = pa.array(table.column(1).to_pylist()[::-1])
    pq.write_table(table.set_column(1, table.column_names[1], backwards), bundle / "errors.parquet")
    return "errors.parquet"


def a_row_less(bundle: Path) -> str:
    pq.write_table(pq.read_table(bundle / "runs.parquet")[1:], bundle / "runs.parquet")
    return "runs.parquet"


def a_table_gone(bundle: Path) -> str:
    (bundle / "curves.parquet").unlink()
    return "curves.parquet"


def another_file(bundle: Path) -> str:
    (bundle / "more.parquet").write_bytes(b"x")
    return "more.parquet"


def another_sweep(bundle: Path) -> str:
    (bundle / "sweep.yaml").write_text("name: other\n")
    return "sweep.yaml"


def another_readme(bundle: Path) -> str:
    text = (bundle / "README.md").read_text()
    (bundle / "README.md").write_text(text.replace("Errors are in percent", "All errors are zero"))
    return "README.md"


@pytest.mark.parametrize(
    "change",
    [reversed_column, a_row_less, a_table_gone, another_file, another_sweep, another_readme],
)
def test_sums_made_again_do_not_hide_what_the_store_does_not_say(
    bundle: Path, change: Callable[[Path], str]
) -> None:
    assert list(verify_bundle(bundle)) == []
    changed = change(bundle)
    remade(bundle)
    assert {it.where for it in verify_bundle(bundle)} == {changed}


def test_a_file_without_a_sum_is_named(bundle: Path) -> None:
    sums = (bundle / "SHA256SUMS").read_text().splitlines(keepends=True)
    (bundle / "SHA256SUMS").write_text("".join(it for it in sums if "errors.parquet" not in it))
    reversed_column(bundle)
    found = {(it.where, it.what) for it in verify_bundle(bundle)}
    assert ("errors.parquet", "has no line in SHA256SUMS") in found
    assert len(found) == 2
