"""Packed datasets that were damaged on the disk: one line that names the file, no traceback."""

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from miniatures import write_miniature
from miniatures_transfer import hpa

from anynet_study.data import Variant, add_dataset, load_dataset, make_view
from anynet_study.data.packed.dataset import PackedDataset
from anynet_study.errors import UserError


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
