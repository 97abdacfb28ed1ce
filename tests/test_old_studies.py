"""Studies, datasets and sweep files of earlier versions are read, and go on.

`store/formats/study-*.tar.xz` are folders as three versions left them: one architecture space, 9
runs on two datasets of random squares. A study folder that changes needs a further one.
"""

import tarfile
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
from tiny_study import TINY, typing_in

from anynet_study import ResultStore, Sweep
from anynet_study.engine.sweep.schema import json_schema

FORMATS = Path(__file__).parent / "store" / "formats"
#: The newest has all that a study folder has today.
STUDIES = ["study-1", "study-2", "study-3"]


@pytest.fixture(params=STUDIES)
def old(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """A folder with `data/` and `studies/old/`, as an earlier version left it."""
    with tarfile.open(FORMATS / f"{request.param}.tar.xz") as archive:
        archive.extractall(tmp_path, filter="data")
    return tmp_path


@pytest.fixture
def type_(old: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Any:
    return typing_in(old, monkeypatch, capsys)


def errors_of(store: Path) -> dict[str, float]:
    """The errors in a store by run, read without the package."""
    with h5py.File(store) as file:
        runs = file["runs"]
        return dict(zip(runs["run_id"].asstr()[:], runs["error"][:].tolist(), strict=True))


def test_an_old_study_is_collected_into_the_store_of_today(old: Path, type_: Any) -> None:
    results = old / "studies" / "old" / "results.h5"
    before = errors_of(results)
    results.unlink()
    told = type_("collect", "studies/old")
    assert told.code == 0
    assert "9 of 9 planned runs" in told.out + told.err
    with ResultStore(results) as store:
        runs = store.runs()
        assert dict(zip(runs["run_id"], runs["error"], strict=True)) == before
        assert set(runs["status"]) == {"completed"}
    assert len(before) == 9


def test_an_old_study_is_well_and_has_nothing_left_to_train(old: Path, type_: Any) -> None:
    results = old / "studies" / "old" / "results.h5"
    before = errors_of(results)
    assert type_("collect", "studies/old").code == 0
    assert errors_of(results) == before
    told = type_("verify", "studies/old")
    assert (told.code, "all is well" in told.out + told.err) == (0, True)
    # The first version drew architectures by a rule that sweep files of today must name.
    drawn = "population.space.quantization=nearest"
    first = not (old / "studies" / "old" / "jobs").exists()
    told = type_("run", "studies/old/sweep.yaml", "--dry-run", *([drawn] if first else []))
    assert told.code == 0
    assert "done: 9; left: 0" in told.out


@pytest.mark.parametrize("old", STUDIES[:1], indirect=True)
def test_data_of_the_first_version_are_compared_with_their_content_hash(
    old: Path, type_: Any
) -> None:
    folder = old / "data" / "dots"
    images = np.load(folder / "train_images.npy")
    images[0, 0, 0] ^= 1
    np.save(folder / "train_images.npy", images)
    told = type_("collect", "studies/old")
    assert told.code == 2
    assert "the data do not have the content hash of meta.json" in told.err


def test_a_study_of_the_kernels_that_went_is_read(tmp_path: Path) -> None:
    path = tmp_path / "sweep.yaml"
    path.write_text(TINY + "launch: {backend: compiled}\n")
    assert Sweep.load(path).launch.backend == "rewritten"


def legal_now() -> list[str]:
    """Each key of sweep files with its types, and each word that is legal for it."""
    schema = json_schema()
    found: list[str] = []

    def note(name: str, node: dict[str, Any]) -> None:
        for choice in node.get("anyOf", [node]):
            kind = choice.get("$ref", "").rpartition("/")[2] or choice.get("type", "")
            found.append(f"{name}: {kind}")
            found.extend(f"{name} = {value}" for value in choice.get("enum", [choice.get("const")]))

    for name, part in {"Sweep": schema, **schema["$defs"]}.items():
        for key, node in part.get("properties", {}).items():
            note(f"{name}.{key}", node)
        if "enum" in part:
            note(name, part)
    return sorted({line for line in found if not line.endswith("= None")})


def test_what_a_sweep_file_may_say_stays_legal() -> None:
    """Where this fails for a new key: add its lines. For one that goes: write a converter."""
    written = (FORMATS / "sweep-keys.txt").read_text().splitlines()
    now = legal_now()
    assert [line for line in written if line not in now] == [], "no longer read"
    assert now == written
