"""Every layout is recognised by itself and read right; how another is forced."""

import shutil
from collections import defaultdict
from pathlib import Path

import numpy as np
import pytest
from miniatures import WRITERS, binary_to_python, dump, save, write_miniature, write_table
from reading import counts, read, refused

from anynet_study.core.errors import UserError
from anynet_study.data import add_dataset, inspect_source
from anynet_study.data.readers.recognition import READERS
from anynet_study.data.source.tree import tree_of_folder, tree_of_names

LAYOUTS = {
    "concrete": "class/image",
    "mlc2008": "MLC (patches)",
    "insects": "class/image",
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
def test_each_layout_is_read_under_its_name_also_inside_other_folders(tmp_path, name, wrapped):
    folder = tmp_path / "downloads" / "archive" if wrapped else tmp_path
    source = write_miniature(name, folder)
    (source / ".DS_Store").write_bytes(b"\0")
    asked = name.removesuffix("_kaggle")
    listing = read(tmp_path / "downloads" if wrapped else source, asked)
    assert listing.layout == LAYOUTS[name]
    assert listing.root == (f"archive/{name}" if wrapped else "")


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


def test_an_unknown_layout_says_what_was_seen(tmp_path):
    for name in ("x.jpg", "y.jpg", "z.json", ".DS_Store"):
        (tmp_path / name).touch()
    (tmp_path / "empty").mkdir()
    with pytest.raises(UserError) as caught:
        read(tmp_path)
    line = str(caught.value)
    assert "saw 1 folder (empty), 2 images and 1 other file; z.json is not read" in line
    assert "split/class/image" in line
    assert "\n" not in line


def test_images_of_a_kind_that_is_not_read(tmp_path):
    for name in ("a/1.heic", "a/2.svg", "b/1.heic"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    refused(r"a/1\.heic and 1 more: HEIC photos are not read: convert them to JPEG", tmp_path)
    shutil.rmtree(tmp_path / "a")
    (tmp_path / "b/1.heic").rename(tmp_path / "b/1.xcf")
    refused(r"no file below it is called like an image \(\.jpg, ", tmp_path)


def test_files_that_are_not_taken_for_images_are_named(tmp_path):
    for name in ("train/a/1.png", "train/b/1.png", "val/a/1.png", "val/b/1.png"):
        save(tmp_path / name, np.random.default_rng(0), 0)
    (tmp_path / "val/b/2.svg").touch()
    note = "in class folders, but not called like images: 1 file (val/b/2.svg)"
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
    refused(r"give a folder in it: concrete \(class/image\);", tmp_path)


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


def test_keys_and_names_are_each_one_reader():
    for names in ([reader.key for reader in READERS], [reader.layout for reader in READERS]):
        assert len(set(names)) == len(names)


@pytest.mark.parametrize("layout", ["class-folders", "class/image", "Class/Image"])
def test_a_layout_can_be_forced(tmp_path, layout):
    source = write_miniature("concrete", tmp_path)
    assert read(source, layout=layout).layout == "class/image"


def test_a_known_layout_is_asked_for_and_never_found(tmp_path):
    """Its folders are anybody's, unless its dataset or its layout is named; inspect tells of it."""
    source = write_miniature("powerline", tmp_path)
    assert read(source).layout == "class/image"
    assert read(source, layout="powerline").layout == "Powerline"
    assert read(source, "powerline").layout == "Powerline"
    assert read(source, "powerline-2").layout == "class/image"
    assert "looks like Powerline: --layout powerline" in inspect_source(source).notes
    cifar = write_miniature("cifar10", tmp_path)
    refused(r"looks like CIFAR \(binary\): --layout cifar-binary", cifar, "mine")
    assert read(cifar, "mine", layout="cifar-binary").layout == "CIFAR (binary)"


def test_chosen_columns_make_a_table_of_it(tmp_path):
    source = write_miniature("concrete", tmp_path)
    rows = [(f"Positive/{number:05d}.jpg", "xy"[number % 2]) for number in range(1, 9)]
    write_table(source / "mine.csv", ("photo", "kind"), rows)
    assert read(source, layout="class-folders").layout == "class/image"
    listing = read(source, image_column="photo", label_column="kind")
    assert listing.layout == "table of images"
    assert counts(listing, listing.train) == {"x": 4, "y": 4}


@pytest.mark.parametrize("form", ["binary", "python"])
def test_cifar100_has_coarse_labels_too(tmp_path, form):
    source = write_miniature("cifar100", tmp_path, classes=40)
    if form == "python":
        names = (source / "coarse_label_names.txt").read_text().encode().split()
        source = binary_to_python(source, tmp_path / "python")
        fine = [f"fine{n:02d}".encode() for n in range(40)]
        dump(source / "meta", {b"fine_label_names": fine, b"coarse_label_names": names})
    fine, coarse = read(source, "cifar100"), read(source, "cifar100", labels="coarse")
    assert coarse.classes == tuple(f"coarse{n}" for n in range(20))
    assert set(counts(coarse, coarse.train).values()) == {8}
    groups = defaultdict(set)
    for example, other in zip(fine.train, coarse.train, strict=True):
        groups[coarse.classes[other.label]].add(fine.classes[example.label])
    assert {name: set(members) for name, members in fine.superclasses.items()} == groups
    assert not coarse.superclasses
    refused("--labels 'both': legal: coarse, fine", source, "cifar100", labels="both")


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
    assert read(source, "cifar100").superclasses == {}
    refused(r"python/train: ", source, "cifar100", labels="coarse")


def test_the_rar_inside_concrete_is_pointed_to(tmp_path):
    folder = tmp_path / "concrete"
    folder.mkdir()
    (folder / "Concrete Crack Images for Classification.rar").write_bytes(b"Rar!\x1a\x07\x01\0")
    archive = shutil.make_archive(str(tmp_path / "5y9wdsg2zt"), "zip", folder)
    for path in (folder, Path(archive)):
        refused(r"Concrete Crack .*\.rar: extract it yourself", path)


def test_species_keys_are_sorted_as_strings_and_the_map_is_kept(data_home, tmp_path):
    source = write_miniature("insects", tmp_path)
    dataset = add_dataset("insects", source, size=8)
    keys = dataset.classes
    assert keys == tuple(sorted(keys)) != tuple(sorted(keys, key=int))
    lines = (dataset.folder / "split.csv").read_text().splitlines()[1:]
    train = [line for line in lines if ",train," in line]
    for line, label in zip(train, dataset.labels("train"), strict=True):
        assert line.split("/")[0] == keys[label]


KAGGLE_TABLE = "LOC_val_solution.csv"
HAM_TABLE = "HAM10000_metadata.csv"
#: A miniature, what is done to it, how it is read, and what is said then.
WRONG = [
    ("concrete", lambda f: (f / "Unsure").mkdir(), {}, "Unsure: the class folder is empty; --ign"),
    (
        "natural",
        lambda f: shutil.copytree(f / "seg_train", f / "train"),
        {},
        "'seg_train' and 'train' are the same split",
    ),
    (
        "imagenet",
        lambda f: shutil.rmtree(f / "train/n01448683"),
        {},
        "'n01448683' is only in this split; --ignore val/n01448683 leaves it out",
    ),
    (
        "imagenet_kaggle",
        lambda f: next((f / "ILSVRC/Data/CLS-LOC/val").glob("*0007.JPEG")).unlink(),
        {},
        "ILSVRC2012_val_00000007 is not in",
    ),
    (
        "imagenet_kaggle",
        lambda f: (f / KAGGLE_TABLE).write_text("ImageId,PredictionString\n../../x,n01440764 1\n"),
        {},
        r"image \.\./\.\./x is not in ",
    ),
    (
        "ham10000",
        lambda f: shutil.rmtree(f / "HAM10000_images_part_2"),
        {},
        r"of its 88 images are not below .*, the first is ISIC_",
    ),
    ("ham10000", lambda f: (f / HAM_TABLE).unlink(), {}, "part of a dataset, not a class"),
    *(
        ("ham10000", lambda f, text=text: (f / HAM_TABLE).write_bytes(text), {}, rf"{HAM_TABLE}: ")
        for text in (b"lesion_id,dx\na,b\n", b"", b"lesion_id,image_id,dx\n", b"\xff\xfe\0", b'"a')
    ),
    *(
        ("cifar10", lambda f, b=b: (f / "data_batch_3.bin").write_bytes(b), {}, r"batch_3\.bin: ")
        for b in (b"", bytes(3072), bytes(3073 * 2 - 1), bytes([10]) * 3073)
    ),
    ("powerline", lambda f: (f / "zebra.bmp").touch(), {}, r"zebra\.bmp: no label"),
    ("concrete", None, {"layout": "ham10000"}, "not of layout 'HAM10000': saw 2 folders"),
    ("concrete", None, {"layout": "folders"}, "--layout 'folders': no such layout; legal: cifar-b"),
    ("cifar10", None, {"labels": "coarse"}, "CIFAR-10 has one kind of labels"),
    (
        "concrete",
        None,
        {"labels": "fine"},
        "--labels means nothing to layout 'class/image'; legal: ",
    ),
    ("natural", None, {"patch_size": 100}, "--patch-size means nothing to layout"),
    ("concrete", None, {"label_column": "dx"}, "no table for --label-column 'dx': there: none"),
    ("powerline", None, {"classes_of": "imagenet"}, "--classes-of means nothing to layout"),
]


@pytest.mark.parametrize(("name", "damage", "choices", "told"), WRONG)
def test_what_is_wrong_is_named(tmp_path, name, damage, choices, told):
    source = write_miniature(name, tmp_path)
    if damage is not None:
        damage(source)
    refused(told, source, name.removesuffix("_kaggle"), **choices)


def test_a_class_without_test_images_is_told_of(tmp_path):
    source = write_miniature("imagenet", tmp_path)
    shutil.rmtree(source / "val/n01448683")
    listing = read(source)
    assert len(listing.test) == 44
    assert "no test image of n01448683" in listing.notes
