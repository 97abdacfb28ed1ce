"""Which layout is taken, how another is forced, and what a layout can be told."""

import shutil
from collections import defaultdict
from pathlib import Path

import numpy as np
import pytest
from miniatures import binary_to_python, dump, save, write_miniature, write_table
from miniatures_transfer import aptos
from reading import counts, read

from anynet_study.data import add_dataset
from anynet_study.data.readers.recognition import READERS
from anynet_study.data.source.source import Choices
from anynet_study.errors import UserError

RANDOM = np.random.default_rng(0)


def test_keys_and_names_are_each_one_reader():
    for names in ([reader.key for reader in READERS], [reader.layout for reader in READERS]):
        assert len(set(names)) == len(names)


@pytest.mark.parametrize("layout", ["class-folders", "class/image", "Class/Image"])
def test_a_layout_can_be_forced(tmp_path, layout):
    source = write_miniature("concrete", tmp_path)
    assert read(source).layout == "Concrete"
    assert read(source, layout=layout).layout == "class/image"


def test_what_else_it_could_be_is_said(tmp_path):
    listing = read(write_miniature("powerline", tmp_path))
    note = "read as Powerline; it could also be read by --layout class-folders (class/image)"
    assert note in listing.notes


@pytest.mark.parametrize("name", ["concrete", "insects", "ham10000", "mlc2008", "imagenet_kaggle"])
def test_what_it_cannot_be_or_is_anyway_is_not_said(tmp_path, name):
    """As folders or as a table they give the same images of the same classes, or an error."""
    notes = read(write_miniature(name, tmp_path)).notes
    assert not any("could also be read" in note for note in notes)


def test_chosen_columns_make_a_table_of_it(tmp_path):
    source = write_miniature("concrete", tmp_path)
    rows = [(f"Positive/{number:05d}.jpg", "xy"[number % 2]) for number in range(1, 9)]
    write_table(source / "mine.csv", ("photo", "kind"), rows)
    assert read(source).layout == "Concrete"
    listing = read(source, image_column="photo", label_column="kind")
    assert listing.layout == "table of images"
    assert counts(listing, listing.train) == {"x": 4, "y": 4}


def test_what_more_is_known_of_is_said(tmp_path):
    """As a table it has the same images and classes, but not the metric of its competition."""
    aptos(tmp_path / "aptos", RANDOM)
    listing = read(tmp_path / "aptos", table="train.csv")
    assert listing.layout == "table of images"
    assert "could also be read by --layout aptos (APTOS 2019)" in listing.notes[-1]


def test_a_forced_layout_that_does_not_fit(tmp_path):
    source = write_miniature("concrete", tmp_path)
    with pytest.raises(UserError, match="concrete: not of layout 'HAM10000': saw 2 folders"):
        read(source, layout="ham10000")


def test_an_unknown_layout_lists_them(tmp_path):
    source = write_miniature("concrete", tmp_path)
    with pytest.raises(UserError, match=r"--layout 'folders': no such layout; legal: cifar-binary"):
        read(source, layout="folders")


def test_choices_are_kept_with_the_dataset(data_home, tmp_path):
    source = write_miniature("concrete", tmp_path)
    dataset = add_dataset("x", source, size=8, choices=Choices(layout="class-folders"))
    assert dataset.meta.choices == {"layout": "class-folders"}


@pytest.mark.parametrize(
    ("name", "choice"),
    [
        ("concrete", {"labels": "fine"}),
        ("natural", {"patch_size": 100}),
        ("ham10000", {"labels": "fine"}),
        ("concrete", {"label_column": "dx"}),
        ("powerline", {"classes_of": "imagenet"}),
    ],
)
def test_a_choice_that_means_nothing_is_refused(tmp_path, name, choice):
    option = f"--{next(iter(choice)).replace('_', '-')}"
    with pytest.raises(UserError, match=f"{option} means nothing to layout"):
        read(write_miniature(name, tmp_path), **choice)


@pytest.mark.parametrize("form", ["binary", "python"])
def test_cifar100_has_coarse_labels_too(tmp_path, form):
    source = write_miniature("cifar100", tmp_path, classes=40)
    if form == "python":
        names = (source / "coarse_label_names.txt").read_text().encode().split()
        source = binary_to_python(source, tmp_path / "python")
        fine = [f"fine{n:02d}".encode() for n in range(40)]
        dump(source / "meta", {b"fine_label_names": fine, b"coarse_label_names": names})
    fine, coarse = read(source), read(source, labels="coarse")
    assert coarse.classes == tuple(f"coarse{n}" for n in range(20))
    assert set(counts(coarse, coarse.train).values()) == {8}
    groups = defaultdict(set)
    for one, other in zip(fine.train, coarse.train, strict=True):
        groups[coarse.classes[other.label]].add(fine.classes[one.label])
    assert {name: set(members) for name, members in fine.superclasses.items()} == groups
    assert not coarse.superclasses
    with pytest.raises(UserError, match="--labels 'both': legal: coarse, fine"):
        read(source, labels="both")


def test_cifar10_has_one_kind_of_labels(tmp_path):
    with pytest.raises(UserError, match="CIFAR-10 has one kind of labels"):
        read(write_miniature("cifar10", tmp_path), labels="coarse")


@pytest.mark.parametrize("labels", [[10**30] * 120, [-1] * 120, ["x"] * 120, None, [0]])
def test_coarse_labels_that_lie(tmp_path, labels):
    """Read as fine labels they do not matter; chosen, they are refused by name."""
    binary = write_miniature("cifar100", tmp_path, classes=30)
    source = binary_to_python(binary, tmp_path / "python")
    names = [f"coarse{n}".encode() for n in range(20)]
    fine = [f"fine{n:02d}".encode() for n in range(30)]
    dump(source / "meta", {b"fine_label_names": fine, b"coarse_label_names": names})
    rows = np.zeros((120, 3072), np.uint8)
    good = [n % 30 for n in range(120)]
    dump(source / "train", {b"data": rows, b"fine_labels": good, b"coarse_labels": labels})
    assert read(source).superclasses == {}
    with pytest.raises(UserError, match=r"python/train: "):
        read(source, labels="coarse")


def test_patches_of_concrete_leak_and_it_is_said(tmp_path):
    listing = read(write_miniature("concrete", tmp_path))
    assert any("patches of one photo are on both sides" in note for note in listing.notes)
    names = [example.name for example in listing.train]
    assert "Negative/00001.jpg" in names
    assert "Positive/00001.jpg" in names


def test_the_rar_inside_concrete_is_pointed_to(tmp_path):
    folder = tmp_path / "concrete"
    folder.mkdir()
    (folder / "Concrete Crack Images for Classification.rar").write_bytes(b"Rar!\x1a\x07\x01\0")
    archive = shutil.make_archive(str(tmp_path / "5y9wdsg2zt"), "zip", folder)
    for path in (folder, Path(archive)):
        with pytest.raises(UserError, match=r"extract Concrete Crack .*\.rar yourself"):
            read(path)


def test_species_keys_are_sorted_as_strings_and_the_map_is_kept(data_home, tmp_path):
    source = write_miniature("insects", tmp_path)
    dataset = add_dataset("insects", source, size=8)
    keys = dataset.classes
    assert keys == tuple(sorted(keys)) != tuple(sorted(keys, key=int))
    lines = (dataset.folder / "split.csv").read_text().splitlines()[1:]
    train = [line for line in lines if ",train," in line]
    for line, label in zip(train, dataset.labels("train"), strict=True):
        assert line.split("/")[0] == keys[label]


def test_unlabelled_images_are_ignored_with_a_word(tmp_path):
    notes = read(write_miniature("natural", tmp_path)).notes
    assert notes == ("seg_pred: 5 images not read, neither of train nor of test",)


def test_kaggle_layout_comes_before_a_table_of_images(tmp_path):
    source = write_miniature("imagenet_kaggle", tmp_path)
    write_table(source / "notes.csv", ("image", "label"), [("a.jpg", "b")])
    assert read(source).layout == "ImageNet (Kaggle)"


def test_a_hint_of_litter_changes_nothing(tmp_path):
    source = write_miniature("concrete", tmp_path)
    for name in ("Thumbs.db", ".DS_Store", "desktop.ini", "._x.jpg"):
        (source / "Positive" / name).write_bytes(b"\0")
    save(source / "__MACOSX" / "Positive" / "._1.jpg", RANDOM, 0)
    assert read(source).layout == "Concrete"
    assert counts(read(source), read(source).train) == {"Negative": 15, "Positive": 15}
