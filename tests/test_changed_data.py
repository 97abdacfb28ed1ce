"""Data or code that changed are noticed: by launch and run, by a worker, and by verify."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from command import in_this_process, train
from tiny_study import TINY, Type, typing_in

from anynet_study.core.errors import UserError
from anynet_study.core.files import put_folder
from anynet_study.core.provenance import PACKAGE
from anynet_study.data.packed.digests import write_digests
from anynet_study.engine.dispatch.opened import OpenStudy, open_sweep
from anynet_study.engine.dispatch.snapshot import check, take
from anynet_study.engine.dispatch.worker import train_runs
from anynet_study.engine.dispatch.worker_state import WorkerState


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the study, trained and collected; verify finds nothing."""
    folder = tmp_path_factory.mktemp("finished")
    (folder / "tiny.yaml").write_text(TINY)
    train(folder, "tiny.yaml")
    in_this_process(folder, "verify", "tiny")
    return folder


@pytest.fixture
def type_(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture) -> Type:
    """Commands in a folder with a sweep whose datasets are there."""
    (tmp_path / "tiny.yaml").write_text(TINY)
    return typing_in(tmp_path, monkeypatch, capsys)


@pytest.fixture
def study(type_: Type, tmp_path: Path) -> OpenStudy:
    """The study, begun."""
    opened = open_sweep(tmp_path / "tiny.yaml")
    opened.begin()
    opened.folder.journals.mkdir(exist_ok=True)
    return opened


def pixel(folder: Path) -> None:
    with (folder / "train_images.npy").open("r+b") as file:
        file.seek(-7, 2)
        file.write(b"\xaa")


def labels(folder: Path) -> None:
    path = folder / "train_labels.npy"
    np.save(path, np.random.default_rng(0).permutation(np.load(path)))


def sums(folder: Path) -> None:
    path = folder / "train_moments.npy"
    np.save(path, np.load(path) + 1)


def classes(folder: Path) -> None:
    path = folder / "meta.json"
    meta = json.loads(path.read_text())
    path.write_text(json.dumps(meta | {"classes": meta["classes"][::-1]}))


def truncated(folder: Path) -> None:
    with (folder / "test_images.npy").open("r+b") as file:
        file.truncate(1000)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("change", "file"),
    [
        (pixel, "train_images.npy"),
        (labels, "train_labels.npy"),
        (sums, "train_moments.npy"),
        (classes, "meta.json"),
        (truncated, "test_images.npy"),
    ],
)
def test_each_stage_names_the_file(
    study: OpenStudy, type_: Type, tmp_path: Path, change: Callable[[Path], None], file: str
) -> None:
    change(tmp_path / "data/digits")
    told = (
        rf"data/digits/{file}: damaged dataset \(it has changed since it was packed\); .*data add"
    )
    with pytest.raises(UserError, match=told):
        train_runs(study.folder, study.sweep, study.plan.ids()[:1], {}, WorkerState())
    for command in (("run", "tiny.yaml"), ("launch", "tiny.yaml"), ("retry", "tiny")):
        done = type_(*command)
        assert done.code == 2
        assert f"digits/{file}: damaged dataset" in done.line
    done = type_("verify", "tiny")
    assert done.code == 1
    assert f"digits: {tmp_path}/data/digits/{file}: damaged dataset" in done.out
    assert not list(study.folder.journals.iterdir())


def test_data_of_another_place_are_not_checked(study: OpenStudy, type_: Type) -> None:
    assert "all is well" in type_("verify", "tiny").out


@pytest.fixture
def trained(finished: Path, type_: Type, tmp_path: Path) -> Path:
    """A copy of the finished study."""
    shutil.copytree(finished, tmp_path, dirs_exist_ok=True)
    return tmp_path / "studies" / "tiny"


@pytest.mark.slow
def test_exchanged_datasets_are_told(trained: Path, type_: Type, tmp_path: Path) -> None:
    """Each is whole; but the runs say by their content which they were trained on."""
    data = tmp_path / "data"
    put_folder(data / "digits", data / "blobs")
    done = type_("verify", "tiny")
    assert done.code == 1
    for name in ("digits", "digits-2", "blobs"):
        assert f"{name}: its images or classes are not those of any recorded run on it" in done.out


def shuffled(folder: Path) -> None:
    """The labels of the test images in another order, under digests that were made again."""
    path = folder / "test_labels.npy"
    np.save(path, np.random.default_rng(0).permutation(np.load(path)))
    (folder / "digests.json").unlink()
    write_digests(folder)


def without_digests(folder: Path) -> None:
    """The same, and nothing says what they were."""
    shuffled(folder)
    (folder / "digests.json").unlink()


@pytest.mark.parametrize("change", [shuffled, without_digests])
def test_kept_labels_that_are_others_are_told(
    trained: Path, type_: Type, change: Callable[[Path], None]
) -> None:
    """The runs' own predictions and errors say what the labels were."""
    change(trained / "datasets" / "digits")
    collected = type_("collect", "tiny")
    said = "digits: the labels of its test images are not those that its runs were tested on"
    assert said in collected.err
    told = type_("verify", "tiny")
    assert told.code == 1
    assert "the labels of its test images are not those" in told.out


def test_exchanged_copies_of_labels_are_told(trained: Path, type_: Type) -> None:
    put_folder(trained / "datasets" / "digits", trained / "datasets" / "blobs")
    told = type_("verify", "tiny")
    assert told.code == 1
    for name in ("digits", "blobs"):
        assert f"datasets/{name}: is a copy of another dataset's labels" in told.out


def test_a_copy_of_labels_that_is_gone_is_told(trained: Path, type_: Type) -> None:
    shutil.rmtree(trained / "datasets" / "blobs")
    told = type_("verify", "tiny")
    assert told.code == 1
    assert "datasets/blobs: the study's copy of its labels is gone" in told.out


def test_an_edited_sweep_is_told_key_by_key(trained: Path, type_: Type) -> None:
    path = trained / "sweep.yaml"
    path.write_text(path.read_text().replace("source: digits", "source: blobs"))
    said = "edited since the last launch: source (digits before, blobs now)"
    assert said in type_("collect", "tiny").err
    told = type_("verify", "tiny")
    assert told.code == 1
    assert f"sweep.yaml: {said}" in told.out
    path.write_text((trained / "launched.yaml").read_text())
    assert type_("verify", "tiny").code == 0


def test_a_snapshot_that_changed_is_refused_and_made_again(
    tmp_path: Path, capsys: pytest.CaptureFixture
) -> None:
    code = tmp_path / "code"
    taken = take(code)
    package = taken.folder / PACKAGE.name
    check(code, package)
    check(code)  # not from a snapshot
    for name in ("engine/stages.py", "VERSION"):
        whole = (package / name).read_bytes()
        (package / name).write_bytes(whole.replace(b"a", b"b", 1) + b"\n")
        if name != "VERSION":  # which a process that runs from there reads itself
            with pytest.raises(UserError, match="the snapshot of the code has changed; launch"):
                check(code, package)
        assert take(code) == taken
        assert "the snapshot has changed; it is made again" in capsys.readouterr().err
        assert (package / name).read_bytes() == whole
