"""Bad input as a new user gives it: one line on stderr, exit code 2, nothing half-written."""

import subprocess
from pathlib import Path

import h5py
import pytest
from command import SWEEPS, anynet_study
from PIL import Image

TINY = """
name: tiny
population:
  space: {base: anynetx, depths: [1, 2], widths: [8, 32], stem: cifar, stem_width: 8}
  count: 4
  flops: [0.1e6, 0.3e6]
  resolution: 8
  classes: 10
source: digits
datasets: {digits: {}, digits-2: {base: digits, classes: 2}, gratings: {}}
recipes: {basic: {epochs: 1, batch_size: 64}}
"""


def complaint(done: "subprocess.CompletedProcess[str]") -> str:
    """The one line of a refused command."""
    lines = [line for line in done.stderr.splitlines() if line]
    assert len(lines) == 1, done.stderr
    return lines[0]


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the finished study `tiny`."""
    folder = tmp_path_factory.mktemp("finished")
    (folder / "tiny.yaml").write_text(TINY)
    anynet_study(folder, "run", "tiny.yaml", "--resamples", 100)
    return folder


@pytest.mark.parametrize(
    ("override", "expected"),
    [
        ("populaton.count=3", "did you mean `population`?"),
        ("population.flops=[1e15, 2e15]", "at resolution 8 and 10 classes this space reaches"),
        ("datasets.nothing.base=nothing", "no dataset 'nothing'"),
        ("datasets.digits-2.classes=11", "classes: 11, but 'digits' has 10"),
        ("recipes.basic.overrides.digits-2.metric=top5", "top5 needs more than 5 classes"),
        ("recipes.basic.resolution=64", "resolution 64 exceeds the images' 8 pixels"),
        ("datasets.gratings.per_class=100000", "per_class: 100000"),
        ("launch.workers=0", "`launch.workers` = 0"),
    ],
)
def test_a_sweep_with_a_mistake_begins_nothing(
    tmp_path: Path, finished: Path, override: str, expected: str
) -> None:
    (tmp_path / "tiny.yaml").write_text(TINY)
    (tmp_path / "data").symlink_to(finished / "data")
    done = anynet_study(tmp_path, "run", "tiny.yaml", override, expect=2)
    assert expected in complaint(done)
    assert not (tmp_path / "studies").exists()


def test_the_band_that_is_empty_says_what_was_seen(tmp_path: Path) -> None:
    done = anynet_study(
        tmp_path, "sample", SWEEPS / "paper.yaml", "population.flops=[1, 2]", "-o", "p", expect=2
    )
    line = complaint(done)
    assert "0 of 1,048,576 candidates are in the band" in line
    assert "this space reaches" in line
    assert not (tmp_path / "p").exists()


def test_two_studies_of_one_name(finished: Path) -> None:
    before = (finished / "studies/tiny/population.parquet").read_bytes()
    done = anynet_study(finished, "run", "tiny.yaml", "population.seed=1", expect=2)
    assert "study of another population" in complaint(done)
    assert (finished / "studies/tiny/population.parquet").read_bytes() == before


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["run", "none.yaml"], "none.yaml: no such sweep file"),
        (["run", "studies"], "studies"),
        (["status", "none"], "none: no such study; there are: tiny"),
        (["query", "tiny", "--where", "erorr < 5"], "error"),
        (["query", "tiny", "--where", "__import__('os').system('true')"], "no column '__import__'"),
        (["analyze", "none.csv"], "none.csv"),
        (["data", "info", "none"], "no dataset 'none'"),
        (["data", "add", "mine", "--from", "none", "--size", "8"], "none"),
        (["complexity", "{}"], "depths"),
    ],
)
def test_a_command_with_a_mistake(finished: Path, arguments: list[str], expected: str) -> None:
    assert expected in complaint(anynet_study(finished, *arguments, expect=2))


def images(folder: Path, classes: dict[str, int]) -> Path:
    for name, count in classes.items():
        (folder / name).mkdir(parents=True)
        for number in range(count):
            Image.new("RGB", (9, 9), (number, 0, 0)).save(folder / name / f"{number}.png")
    return folder


def test_a_folder_with_an_empty_class(tmp_path: Path) -> None:
    images(tmp_path / "mine", {"cat": 5, "dog": 0})
    done = anynet_study(tmp_path, "data", "add", "mine", "--from", "mine", "--size", 8, expect=2)
    assert "dog" in complaint(done)
    assert not (tmp_path / "data" / "mine").exists()


def test_a_folder_with_broken_images(tmp_path: Path) -> None:
    images(tmp_path / "mine", {"cat": 5, "dog": 5})
    (tmp_path / "mine" / "dog" / "3.png").write_bytes(b"not an image")
    add = ["data", "add", "mine", "--from", "mine", "--size", 8]
    refused = anynet_study(tmp_path, *add, expect=2)
    assert "3.png" in refused.stderr
    assert not (tmp_path / "data" / "mine").exists()
    accepted = anynet_study(tmp_path, *add, "--max-broken", "0.2")
    assert "3.png" in accepted.stdout + accepted.stderr


def test_a_store_from_a_newer_version(finished: Path, tmp_path: Path) -> None:
    store = tmp_path / "results.h5"
    store.write_bytes((finished / "studies/tiny/results.h5").read_bytes())
    with h5py.File(store, "r+") as file:
        file.attrs["schema_version"] = 99
    assert "99" in complaint(anynet_study(tmp_path, "query", "results.h5", expect=2))


@pytest.mark.parametrize("content", [b"", b"not HDF5"])
def test_a_file_that_is_no_store(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "results.h5").write_bytes(content)
    assert "results.h5" in complaint(anynet_study(tmp_path, "query", "results.h5", expect=2))


def test_a_garbled_journal_is_named_and_the_rest_is_kept(finished: Path) -> None:
    garbled = finished / "studies/tiny/journals/garbled.arrow"
    garbled.write_bytes(b"\0" * 100)
    try:
        done = anynet_study(finished, "collect", "tiny")
        assert "garbled.arrow" in done.stderr
        kept = anynet_study(finished, "query", "tiny", "--json", "--columns", "run_id")
        assert kept.stdout.count("run_id") == 12
    finally:
        garbled.unlink()


def test_a_folder_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "tiny.yaml").write_text(TINY)
    (tmp_path / "studies").write_text("a file where the studies should be")
    done = anynet_study(tmp_path, "run", "tiny.yaml", expect=1)
    assert "studies" in [line for line in done.stderr.splitlines() if line][-1]
