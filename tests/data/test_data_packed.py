"""Packed datasets: built-in ones, labels of several classes, damage on the disk."""

import csv
import json
import multiprocessing
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from miniatures import write_miniature
from miniatures_transfer import hpa

from anynet_study.data import BUILT_IN, Variant, add_dataset, load_dataset, make_view
from anynet_study.data.packed.dataset import PackedDataset
from anynet_study.data.packed.meta import read_meta
from anynet_study.data.packing.packing import Origin, pack
from anynet_study.data.readers.listing import Example, Listing
from anynet_study.errors import UserError

GOLDEN = {
    "digits": "ce699ea32829a0eb32d3024a7069ab225105bff16c3a799a619d0b1a82b4906e",
    "gratings": "9f966af68d3b780fcdf0636c8e7efb74f7aed6096e7c4f718d9c60752c4a05fa",
    "blobs": "e1a8cb80822ece055c97f0327ae5b9f1649621febdfb7c1f6623a4db1776323d",
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


@pytest.fixture
def natural(tmp_path) -> Path:
    return write_miniature("natural", tmp_path)


def damage_meta(folder: Path, **changes: object) -> None:
    meta = json.loads((folder / "meta.json").read_text())
    (folder / "meta.json").write_text(json.dumps(meta | changes))


@pytest.mark.parametrize(
    ("damage", "reason"),
    [
        (lambda f: (f / "meta.json").unlink(), "meta.json: damaged dataset .the file is missing"),
        (lambda f: (f / "meta.json").write_text("{"), "meta.json: damaged dataset"),
        (lambda f: (f / "meta.json").write_text("[]"), "meta.json: damaged dataset"),
        (lambda f: damage_meta(f, schema_version=3), "schema version 3, but this version reads 2"),
        (lambda f: damage_meta(f, schema_version=1), "schema version 1, .* remove the dataset's"),
        (lambda f: damage_meta(f, schema_version="1"), "meta.json: damaged dataset"),
        (lambda f: damage_meta(f, size=17), "train_images.npy: damaged dataset"),
        (lambda f: damage_meta(f, extra=17), "meta.json: damaged dataset"),
        (lambda f: (f / "test_labels.npy").unlink(), "test_labels.npy: damaged dataset"),
        (lambda f: (f / "test_labels.npy").write_bytes(b""), "test_labels.npy: damaged dataset"),
        (lambda f: (f / "test_images.npy").write_bytes(b"xyz"), "test_images.npy: damaged dataset"),
        (
            lambda f: (f / "train_images.npy").open("r+b").truncate(5000),
            "train_images.npy: damaged dataset",
        ),
    ],
)
@pytest.mark.filterwarnings("ignore::ResourceWarning")
def test_damaged_datasets_say_so_in_one_line(data_home, natural, damage, reason):
    folder = add_dataset("natural", natural, size=16).folder
    damage(folder)
    with pytest.raises(UserError, match=reason) as caught:
        load_dataset("natural")
    assert "\n" not in str(caught.value)


def test_verify_notices_a_changed_pixel(data_home, natural):
    dataset = add_dataset("natural", natural, size=16)
    dataset.verify()
    with (dataset.folder / "test_images.npy").open("r+b") as file:
        file.seek(-5, 2)
        byte = file.read(1)[0]
        file.seek(-5, 2)
        file.write(bytes([byte ^ 1]))
    with pytest.raises(UserError, match="do not have the content hash"):
        dataset.verify()


@pytest.fixture(scope="module")
def packed(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("packed")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ANYNET_DATA", str(folder))
        add_dataset("one", write_miniature("natural", folder / "sources"), size=8)
    return folder / "one"


FILES = [f"{split}_{kind}.npy" for split in ("train", "test") for kind in ("images", "labels")]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["meta.json", "train_moments.npy", *FILES])
@settings(max_examples=40, deadline=None)
@given(data=st.data())
def test_wrong_bytes_anywhere(packed, name, data):
    file = packed / name
    whole = file.read_bytes()
    content = bytearray(whole)
    place = data.draw(st.integers(0, min(len(content), 4000) - 1))
    wrong = data.draw(st.binary(min_size=1, max_size=6) | st.sampled_from([b"null", b"(", b"-1"]))
    content[place : place + len(wrong)] = wrong
    file.write_bytes(content)
    told = f"{packed}/: whole"
    try:
        make_view(PackedDataset.open(packed), Variant(base="one"))
    except UserError as error:
        told = str(error)
    finally:
        file.write_bytes(whole)
    assert told.startswith((f"{packed}/", "dataset 'one'"))
    assert len(told.splitlines()) == 1


@pytest.mark.parametrize("wrong", [-1, 6, 1 << 40, 3])
def test_labels_of_other_classes(data_home, natural, wrong):
    folder = add_dataset("natural", natural, size=8).folder
    labels = np.load(folder / "train_labels.npy")
    labels[np.flatnonzero(labels != 3)[0]] = wrong
    np.save(folder / "train_labels.npy", labels)
    with pytest.raises(UserError, match=r"train_labels\.npy: damaged dataset \(not what meta"):
        load_dataset("natural")


def test_several_labels_that_are_neither_zero_nor_one(data_home, tmp_path):
    (tmp_path / "source").mkdir()
    hpa(tmp_path / "source", np.random.default_rng(0))
    folder = add_dataset("hpa", tmp_path / "source", size=8).folder
    labels = np.load(folder / "train_labels.npy")
    labels[0] *= 2
    np.save(folder / "train_labels.npy", labels)
    with pytest.raises(UserError, match=r"train_labels\.npy: damaged dataset \(not what meta"):
        load_dataset("hpa")
