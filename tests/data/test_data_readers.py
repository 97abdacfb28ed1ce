"""Every layout is recognised by itself and read right, documented traps included."""

import shutil
from pathlib import Path

import numpy as np
import pytest
from miniatures import WRITERS, save, write_miniature
from reading import counts, read

from anynet_study.data.source.tree import tree_of_folder, tree_of_names
from anynet_study.errors import UserError

LAYOUTS = {
    "concrete": "Concrete",
    "mlc2008": "MLC (patches)",
    "insects": "Insects",
    "natural": "split/class/image",
    "imagenet": "split/class/image",
    "imagenet_kaggle": "ImageNet (Kaggle)",
    "ham10000": "HAM10000",
    "powerline": "Powerline",
    "cifar10": "CIFAR (binary)",
    "cifar100": "CIFAR (binary)",
}


@pytest.mark.parametrize("name", WRITERS)
@pytest.mark.parametrize("wrapped", [False, True])
def test_each_layout_is_recognised_also_inside_other_folders(tmp_path, name, wrapped):
    folder = tmp_path / "downloads" / "archive" if wrapped else tmp_path
    source = write_miniature(name, folder)
    (source / ".DS_Store").write_bytes(b"\0")
    listing = read(tmp_path / "downloads" if wrapped else source)
    assert listing.layout == LAYOUTS[name]
    assert listing.root == (f"archive/{name}" if wrapped else "")


@pytest.mark.parametrize("name", WRITERS)
@pytest.mark.parametrize("kind", ["zip", "tar"])
def test_an_archive_is_as_the_folder(tmp_path, name, kind):
    source = write_miniature(name, tmp_path)
    folder = read(source)
    listing = read(archived(tmp_path, name, kind))
    assert (listing.layout, listing.classes) == (folder.layout, folder.classes)
    for split in ("train", "test"):
        found, expected = getattr(listing, split), getattr(folder, split)
        assert [(e.label, e.group) for e in found or []] == [
            (e.label, e.group) for e in expected or []
        ]


def archived(folder: Path, name: str, kind: str) -> Path:
    return Path(shutil.make_archive(str(folder / "archive"), kind, folder, name))


@pytest.mark.parametrize("name", WRITERS)
def test_examples_are_sorted_and_there(tmp_path, name):
    listing = read(write_miniature(name, tmp_path))
    for split in (listing.train, listing.test or []):
        found = [example.name for example in split]
        assert found == sorted(found)
        assert len(set(found)) == len(found)
        assert all(e.pixels is not None or (tmp_path / name / e.name).is_file() for e in split)


def test_class_folders(tmp_path):
    source = write_miniature("concrete", tmp_path)
    (source / "readme.txt").write_text("hello")
    (source / "Positive" / "Thumbs.db").write_bytes(b"")
    (source / "Positive" / "notes.csv").write_text("a,b")
    save(source / "__MACOSX" / "Positive" / "00001.jpg", np.random.default_rng(0), 0)
    listing = read(source)
    assert listing.classes == ("Negative", "Positive")
    assert counts(listing, listing.train) == {"Negative": 15, "Positive": 15}
    assert listing.test is None
    assert listing.ignored == 3


def test_class_names_are_sorted_as_strings(tmp_path):
    classes = read(write_miniature("insects", tmp_path)).classes
    assert classes == tuple(sorted(classes))
    assert classes != tuple(sorted(classes, key=int))


def test_suffixes_of_any_case_and_images_deep_in_a_class(tmp_path):
    random = np.random.default_rng(0)
    for name in ("a/1.JPG", "a/deep/er/2.Png", "b/1.jpeg", "b/2.TIF"):
        save(tmp_path / name, random, 0)
    assert counts(read(tmp_path), read(tmp_path).train) == {"a": 2, "b": 2}


@pytest.mark.parametrize("name", ["val", "valid", "validation", "Validation", "test"])
def test_validation_is_the_test_split_where_there_is_none(tmp_path, name):
    source = write_miniature("imagenet", tmp_path)
    (source / "val").rename(source / name)
    listing = read(source)
    assert listing.layout == "split/class/image"
    assert set(counts(listing, listing.test).values()) == {4}


def test_a_labelled_test_split_comes_before_validation(tmp_path):
    source = write_miniature("imagenet", tmp_path)
    shutil.copytree(source / "val", source / "test")
    (next((source / "val").iterdir()) / "x.jpg").touch()
    listing = read(source)
    assert listing.test is not None
    assert all(example.name.startswith("test/") for example in listing.test)
    assert listing.ignored == 49


def test_an_unlabelled_test_folder_leaves_a_holdout_to_make(tmp_path):
    source = write_miniature("imagenet", tmp_path)
    shutil.rmtree(source / "val")
    save(source / "test" / "1.jpg", np.random.default_rng(0), 0)
    listing = read(source)
    assert listing.test is None
    assert len(listing.train) == 144
    assert listing.ignored == 1


def test_doubled_folders_and_unlabelled_images(tmp_path):
    listing = read(write_miniature("natural", tmp_path))
    assert len(listing.classes) == 6
    assert counts(listing, listing.train)["sea"] == 9
    assert set(counts(listing, listing.test).values()) == {4}
    assert listing.ignored == 5


def test_an_empty_class_folder(tmp_path):
    source = write_miniature("concrete", tmp_path)
    (source / "Unsure").mkdir()
    with pytest.raises(UserError, match="Unsure: the class folder is empty"):
        read(source)


@pytest.mark.parametrize(("split", "side"), [("train", "not"), ("val", "only")])
def test_classes_of_one_split_only(tmp_path, split, side):
    source = write_miniature("imagenet", tmp_path)
    shutil.rmtree(source / split / "n01448683")
    with pytest.raises(UserError, match=f"'n01448683' is {'only' if side == 'not' else 'not'} in"):
        read(source)


def test_splits_without_class_folders_are_not_two_classes(tmp_path):
    random = np.random.default_rng(0)
    for name in ("train_images/1.jpg", "test_images/2.jpg"):
        save(tmp_path / name, random, 0)
    with pytest.raises(UserError, match="part of a dataset, not a class"):
        read(tmp_path)


def test_two_training_folders(tmp_path):
    source = write_miniature("natural", tmp_path)
    shutil.copytree(source / "seg_train", source / "train")
    with pytest.raises(UserError, match="'seg_train' and 'train' are the same split"):
        read(source)


def test_an_unknown_layout_says_what_was_seen(tmp_path):
    for name in ("x.jpg", "y.jpg", "z.json", ".DS_Store"):
        (tmp_path / name).touch()
    (tmp_path / "empty").mkdir()
    with pytest.raises(UserError) as caught:
        read(tmp_path)
    line = str(caught.value)
    assert "saw 1 folder (empty), 2 images and 1 other file; known" in line
    assert "split/class/image" in line
    assert "\n" not in line


def test_images_of_a_kind_that_is_not_read(tmp_path):
    for name in ("a/1.gif", "a/2.gif", "b/1.heic"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    with pytest.raises(UserError, match=r"no file below it is called like an image \(\.jpg, "):
        read(tmp_path)


def test_files_that_are_not_taken_for_images_are_named(tmp_path):
    for name in ("train/a/1.png", "train/b/1.png", "val/a/1.png", "val/b/1.png", "val/b/2.gif"):
        save(tmp_path / name, np.random.default_rng(0), 0)
    note = "in class folders, but not called like images: 1 file (val/b/2.gif)"
    assert note in read(tmp_path).notes
    for name in ("1.txt", "2.txt", "photo", "Thumbs.db"):
        (tmp_path / "train/a" / name).touch()
    notes = read(tmp_path / "train").notes
    assert notes == (
        "in class folders, but not called like images: 3 files (a/1.txt, a/2.txt, a/photo)",
    )


def test_folders_that_would_be_recognised_are_named(tmp_path):
    write_miniature("cifar10", tmp_path).rename(tmp_path / "cifar-10-batches-bin")
    write_miniature("concrete", tmp_path)
    (tmp_path / "papers").mkdir()
    told = r"give a folder in it: cifar-10-batches-bin \(CIFAR \(binary\)\), concrete \(Concrete\);"
    with pytest.raises(UserError, match=told):
        read(tmp_path)


def test_the_tree_of_names_is_the_tree_of_the_folder(tmp_path):
    for name in ("b/2.jpg", "b/.DS_Store", "a/x/1.PNG", "a/notes.txt", "z.csv", "__MACOSX/b/2.jpg"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    tree = tree_of_names(path.relative_to(tmp_path).as_posix() for path in files)
    assert tree == tree_of_folder(tmp_path)
    assert tree.images() == ["a/x/1.PNG", "b/2.jpg"]
    assert tree.count() == 5
    assert list(tree.folders) == ["a", "b"]


def test_links_are_followed_but_not_in_circles(tmp_path):
    source = write_miniature("imagenet", tmp_path / "real")
    (tmp_path / "linked").mkdir()
    for split in ("train", "val"):
        (tmp_path / "linked" / split).symlink_to(source / split)
    (source / "train" / "n01440764" / "circle").symlink_to(source / "train")
    listing = read(tmp_path / "linked")
    assert len(listing.train) == 144
    assert len(listing.test or []) == 48
