"""Packed datasets: built-in ones, labels of several classes, damage on the disk."""

import csv
import json
import multiprocessing
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from miniatures import write_miniature
from miniatures_transfer import hpa

from anynet_study.core.errors import UserError
from anynet_study.data import BUILT_IN, Choices, Variant, add_dataset, load_dataset, make_view
from anynet_study.data.packed import digests
from anynet_study.data.packed.dataset import PackedDataset
from anynet_study.data.packed.meta import read_meta
from anynet_study.data.packing.packing import Origin, pack
from anynet_study.data.readers.listing import Example, Listing

GOLDEN = {
    "digits": "ce699ea32829a0eb32d3024a7069ab225105bff16c3a799a619d0b1a82b4906e",
    "gratings": "02851697094dab53c61f8998a14b14dea9e2d7e8d9aa79c309c258f21dccaf55",
    "blobs": "f5c918d6d10837296e94ca5620ef74ac9deb6f8b52e95ac0afbf68e6f566974e",
}


@pytest.mark.parametrize("name", BUILT_IN)
def test_content_is_pinned(data_home, name):
    """Runs on built-in data are compared across machines by this hash."""
    assert load_dataset(name).content_hash == GOLDEN[name]


def _load(name: str) -> str:
    return load_dataset(name).content_hash


@pytest.mark.slow
def test_several_processes_at_once_are_harmless(data_home):
    with multiprocessing.get_context("spawn").Pool(2) as pool:
        assert set(pool.map(_load, ["blobs"] * 4, chunksize=1)) == {GOLDEN["blobs"]}
    assert [path.name for path in data_home.iterdir()] == ["blobs"]


def test_an_unknown_dataset_says_what_there_is(data_home):
    with pytest.raises(UserError) as caught:
        load_dataset("digit")
    line = str(caught.value)
    assert "did you mean 'digits'" in line
    assert "blobs, digits, gratings" in line
    assert "anynet-study data add digit --from" in line
    assert "\n" not in line


CLASSES = ("nucleus", "membrane", "cytosol")


def examples(split: str, *classes: tuple[int, ...]) -> list[Example]:
    """One flat image for each tuple of its classes, the first of which is its label."""
    return [
        Example(f"{split}/{n}", of[0], pixels=np.full((4, 4, 3), 10 * n, np.uint8), also=of[1:])
        for n, of in enumerate(classes)
    ]


def listing(*classes: tuple[int, ...], multi_label: bool = True) -> Listing:
    train, test = examples("train", *classes), examples("test", (0, 1), (2,))
    return Listing("made", "", CLASSES, train, test, multi_label=multi_label)


def test_several_labels_are_a_matrix(tmp_path):
    pack(None, listing((0,), (1, 2), (2, 0, 1)), Origin("cells", "made"), 4, tmp_path / "cells")
    dataset = PackedDataset.open(tmp_path / "cells")
    assert dataset.multi_label
    assert dataset.labels("train").tolist() == [[1, 0, 0], [0, 1, 1], [1, 1, 1]]
    assert dataset.labels("train").dtype == np.uint8
    assert dataset.counts("train").per_class == (2, 2, 2)
    assert dataset.counts("train").images == 3
    dataset.verify()
    with (tmp_path / "cells" / "split.csv").open(newline="") as file:
        assert [row["class"] for row in csv.DictReader(file)][1] == "membrane|cytosol"


def test_a_class_that_only_others_have_beside_theirs_is_there(tmp_path):
    with pytest.raises(UserError, match="class 'cytosol' has no readable image in the train"):
        pack(None, listing((0,), (1,)), Origin("cells", "made"), 4, tmp_path / "few")
    pack(None, listing((0,), (1, 2)), Origin("cells", "made"), 4, tmp_path / "cells")


def test_meta_data_of_before_there_were_several_labels_can_be_read(tmp_path):
    pack(None, listing((0,), (1,), (2,)), Origin("cells", "made"), 4, tmp_path / "cells")
    meta = read_meta(tmp_path / "cells" / "meta.json")
    old = meta.model_dump_json(exclude={"multi_label", "superclasses"})
    (tmp_path / "meta.json").write_text(old)
    read = read_meta(tmp_path / "meta.json")
    assert (read.multi_label, read.superclasses) == (False, {})


@pytest.fixture
def cells(tmp_path) -> PackedDataset:
    made = listing((0,), (1, 2), (2, 0, 1), (2,), (1,), (0, 2))
    pack(None, made, Origin("cells", "made"), 4, tmp_path / "cells")
    return PackedDataset.open(tmp_path / "cells")


def variant(**fields: object) -> Variant:
    return Variant(base="cells", **fields)


def test_views_of_several_labels_have_their_columns(cells):
    view = make_view(cells, variant(classes=["nucleus", "cytosol"]))
    assert view.multi_label
    assert view.train_index.tolist() == [0, 1, 2, 3, 5]  # the image of membrane alone is left out
    assert view.train_labels.tolist() == [[1, 0], [0, 1], [1, 1], [0, 1], [1, 1]]
    assert view.test_labels.tolist() == [[1, 0], [0, 1]]


def test_an_image_of_any_of_its_classes_has_the_group(cells):
    groups = {"outside": ["membrane", "cytosol"], "inside": ["nucleus"]}
    view = make_view(cells, variant(groups=groups))
    assert view.classes == ("inside", "outside")
    assert view.train_labels.tolist() == [[1, 0], [0, 1], [1, 1], [0, 1], [0, 1], [1, 1]]


@pytest.mark.parametrize("fields", [{"balanced": True}, {"per_class": 1}, {"label_noise": 0.1}])
def test_what_needs_one_class_an_image_is_refused(cells, fields):
    with pytest.raises(UserError, match="the images of this dataset have several classes each"):
        make_view(cells, variant(**fields))


def test_a_share_of_all_images_is_nested(cells):
    third, half = (make_view(cells, variant(fraction=f)).train_index for f in (1 / 3, 0.5))
    assert len(third) == 2
    assert len(half) == 3
    assert set(third) <= set(half)


@pytest.fixture(scope="module")
def packed(tmp_path_factory) -> dict[str, Path]:
    """A dataset of each kind: pixels, JPEG files, several labels."""
    home = tmp_path_factory.mktemp("packed")
    natural = write_miniature("natural", home / "sources")
    (home / "hpa").mkdir()
    hpa(home / "hpa", np.random.default_rng(0))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ANYNET_DATA", str(home / "data"))
        return {
            "raw": add_dataset("raw", natural, size=8).folder,
            "jpeg": add_dataset("jpeg", natural, size=8, store="jpeg").folder,
            "several": add_dataset(
                "several", home / "hpa", size=8, choices=Choices(layout="hpa")
            ).folder,
        }


@pytest.fixture(params=["raw", "jpeg", "several"])
def kind(request) -> str:
    return str(request.param)


@pytest.fixture
def folder(packed, kind, data_home) -> Path:
    """A copy of one of them; the times of change are those of the original."""
    return Path(shutil.copytree(packed[kind], data_home / "mine"))


def flip(path: Path, place: int) -> None:
    """Change one bit."""
    content = bytearray(path.read_bytes())
    content[place // 8 % len(content)] ^= 1 << place % 8
    path.write_bytes(content)


def rewrite(path: Path, change: Callable[[np.ndarray], np.ndarray]) -> None:
    np.save(path, change(np.load(path)))


def edit_meta(folder: Path, **changes: object) -> None:
    meta = json.loads((folder / "meta.json").read_text())
    (folder / "meta.json").write_text(json.dumps(meta | changes))


#: What is done to a dataset, and the file that is named then.
DAMAGE = {
    "pixel": (lambda f: flip(next(f.glob("train_images*")), -4000), "train_images"),
    "labels": (lambda f: rewrite(f / "train_labels.npy", lambda a: a[::-1]), "train_labels.npy"),
    "sums": (lambda f: rewrite(f / "train_moments.npy", lambda a: 2 * a), "train_moments.npy"),
    "classes": (lambda f: edit_meta(f, classes=["x", *"abcde"]), "meta.json"),
    "superclasses": (lambda f: edit_meta(f, superclasses={"x": ["sea"]}), "meta.json"),
    "layout": (lambda f: edit_meta(f, layout="HPA"), "meta.json"),
    "split": (lambda f: flip(f / "split.csv", 500), "split.csv"),
    "shorter": (lambda f: next(f.glob("test_images*")).open("r+b").truncate(300), "test_images"),
    "missing": (lambda f: (f / "test_labels.npy").unlink(), "test_labels.npy"),
    "digest": (lambda f: flip(f / "digests.json", 300), "digests.json"),
}


@pytest.mark.parametrize("damage", DAMAGE)
@pytest.mark.filterwarnings("ignore::ResourceWarning")
def test_what_has_changed_is_refused_by_name(folder, damage):
    harm, name = DAMAGE[damage]
    load_dataset("mine")
    harm(folder)
    with pytest.raises(UserError, match=rf"{name}.*: damaged dataset .*\(data add\)") as caught:
        load_dataset("mine")
    assert "\n" not in str(caught.value)


def test_files_are_read_once_where_they_are_new(folder, monkeypatch):
    """As copies are, which have other times."""
    for path in folder.iterdir():
        os.utime(path)
    read = []
    digest = digests._digest
    monkeypatch.setattr(
        digests, "_digest", lambda path, *rest: read.append(path.name) or digest(path, *rest)
    )
    load_dataset("mine")
    assert set(read) == {path.name for path in folder.iterdir()} - {"digests.json", "checked.json"}
    read.clear()
    load_dataset("mine")
    assert not read


class TestOfAnOlderVersion:
    """It has no digests, only the hash of its content."""

    @pytest.fixture(autouse=True)
    def old(self, folder) -> None:
        for name in ("digests.json", "checked.json"):
            (folder / name).unlink()

    @pytest.mark.filterwarnings("ignore::ResourceWarning")
    @pytest.mark.parametrize("damage", ["pixel", "labels", "sums", "classes", "shorter", "missing"])
    def test_all_of_it_is_compared_once(self, folder, damage, capsys):
        harm, _ = DAMAGE[damage]
        before = {path: path.read_bytes() for path in folder.iterdir()}
        harm(folder)
        with pytest.raises(UserError, match="damaged dataset"):
            load_dataset("mine")
        for path, content in before.items():
            path.write_bytes(content)
        load_dataset("mine")
        assert "packed by an older version; its data agree" in capsys.readouterr().err
        load_dataset("mine")
        assert not capsys.readouterr().err
        harm(folder)
        with pytest.raises(UserError, match="damaged dataset"):
            load_dataset("mine")

    def test_where_nothing_can_be_written(self, folder, capsys, monkeypatch):
        def refuse(*arguments: object) -> None:
            raise PermissionError(13, "Permission denied")

        monkeypatch.setattr(digests, "write_text", refuse)
        load_dataset("mine")
        assert "as no digests can be written" in capsys.readouterr().err
        assert not (folder / "digests.json").exists()

    @pytest.mark.parametrize(
        ("version", "reason"),
        [
            (3, "schema version 3, but this version reads versions 1 to 2; update anynet-study"),
            (0, "schema version 0, .* add the dataset again"),
            ("1", "schema version '1', "),
        ],
    )
    def test_or_of_another_one(self, folder, version, reason):
        edit_meta(folder, schema_version=version)
        with pytest.raises(UserError, match=rf"meta.json: {reason}"):
            load_dataset("mine")
