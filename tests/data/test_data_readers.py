"""Every layout is recognised by itself and read right, documented traps included."""

import csv
import pickle
import shutil
from collections import defaultdict
from pathlib import Path

import numpy as np
import pytest
from miniatures import HAM, WRITERS, binary_to_python, dump, picture, save, write_miniature

from anynet_study.data.readers import Listing, read_source
from anynet_study.data.source import Source, opened
from anynet_study.data.tree import tree_of_folder, tree_of_names
from anynet_study.errors import UserError


def read(path: Path) -> Listing:
    return read_source(Source(path, tree_of_folder(path, path.name)))[1]


def counts(listing: Listing, split: str) -> dict[str, int]:
    found: dict[str, int] = defaultdict(int)
    for example in getattr(listing, split):
        found[listing.classes[example.label]] += 1
    return dict(found)


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
    with opened(archived(tmp_path, name, kind), tmp_path) as archive:
        listing = read_source(archive)[1]
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
    assert counts(listing, "train") == {"Negative": 15, "Positive": 15}
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
    assert counts(read(tmp_path), "train") == {"a": 2, "b": 2}


@pytest.mark.parametrize("name", ["val", "valid", "validation", "Validation", "test"])
def test_validation_is_the_test_split_where_there_is_none(tmp_path, name):
    source = write_miniature("imagenet", tmp_path)
    (source / "val").rename(source / name)
    listing = read(source)
    assert listing.layout == "split/class/image"
    assert set(counts(listing, "test").values()) == {4}


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
    assert counts(listing, "train")["sea"] == 9
    assert set(counts(listing, "test").values()) == {4}
    assert listing.ignored == 5


def test_kaggle_labels_come_from_the_table(tmp_path):
    source = write_miniature("imagenet_kaggle", tmp_path)
    listing = read(source)
    with (source / "LOC_val_solution.csv").open() as file:
        truth = {row["ImageId"]: row["PredictionString"][:9] for row in csv.DictReader(file)}
    assert listing.test is not None
    assert {Path(e.name).stem: listing.classes[e.label] for e in listing.test} == truth


def test_kaggle_table_of_other_images(tmp_path):
    source = write_miniature("imagenet_kaggle", tmp_path)
    next((source / "ILSVRC/Data/CLS-LOC/val").glob("*0007.JPEG")).unlink()
    with pytest.raises(UserError, match="ILSVRC2012_val_00000007 is not in"):
        read(source)


def test_kaggle_table_that_names_another_folder(tmp_path):
    source = write_miniature("imagenet_kaggle", tmp_path)
    table = source / "LOC_val_solution.csv"
    table.write_text("ImageId,PredictionString\n../../x,n01440764 1 2 3 4\n")
    with pytest.raises(UserError, match=r"'../../x' is not an image id"):
        read(source)


def test_kaggle_without_its_table(tmp_path):
    source = write_miniature("imagenet_kaggle", tmp_path)
    (source / "LOC_val_solution.csv").unlink()
    with pytest.raises(UserError, match=r"LOC_val_solution.csv"):
        read(source)


@pytest.mark.parametrize("form", ["csv", "tab", "bare", "quoted"])
def test_ham10000_lesions_are_groups(tmp_path, form):
    source = write_miniature("ham10000", tmp_path)
    table = source / "HAM10000_metadata.csv"
    if form == "tab":
        table.write_text(table.read_text().replace(",", "\t"))
        table.rename(table.with_suffix(".tab"))
    elif form == "bare":
        table.rename(table.with_suffix(""))
    elif form == "quoted":
        lines = table.read_text().split()
        table.write_text("\r\n".join(",".join(f'"{v}"' for v in x.split(",")) for x in lines))
    listing = read(source)
    assert counts(listing, "train") == HAM
    labels = defaultdict(set)
    for example in listing.train:
        labels[example.group].add(example.label)
    assert all(len(found) == 1 for found in labels.values())
    assert len(labels) < len(listing.train)


def test_ham10000_without_one_part(tmp_path):
    source = write_miniature("ham10000", tmp_path)
    shutil.rmtree(source / "HAM10000_images_part_2")
    with pytest.raises(UserError, match=r"of its 88 images are not below .*, the first is ISIC_"):
        read(source)


def test_ham10000_without_its_table_is_not_two_classes(tmp_path):
    source = write_miniature("ham10000", tmp_path)
    (source / "HAM10000_metadata.csv").unlink()
    with pytest.raises(UserError, match="part of a dataset, not a class"):
        read(source)


@pytest.mark.parametrize(
    "content", ["lesion_id,dx\na,b\n", "", "lesion_id,image_id,dx\n", "\xff\xfe\0", '"a']
)
def test_ham10000_with_a_damaged_table(tmp_path, content):
    source = write_miniature("ham10000", tmp_path)
    (source / "HAM10000_metadata.csv").write_bytes(content.encode("latin-1"))
    with pytest.raises(UserError, match=r"HAM10000_metadata.csv: "):
        read(source)


def test_powerline_labels_are_in_the_names(tmp_path):
    listing = read(write_miniature("powerline", tmp_path))
    assert listing.classes == ("no powerline", "powerline")
    for example in listing.train:
        assert listing.classes[example.label] == (
            "powerline" if "TV" in example.name else "no powerline"
        )
    assert counts(listing, "train") == {"no powerline": 16, "powerline": 16}


def test_powerline_image_without_a_label(tmp_path):
    source = write_miniature("powerline", tmp_path)
    save(source / "Visible Light (VL)" / "zebra.bmp", np.random.default_rng(0), 0)
    with pytest.raises(UserError, match=r"zebra.bmp: no label"):
        read(source)


@pytest.mark.parametrize("name", ["cifar10", "cifar100"])
def test_both_forms_of_cifar_are_the_same_dataset(tmp_path, name):
    binary = write_miniature(name, tmp_path)
    one, other = read(binary), read(binary_to_python(binary, tmp_path / "python"))
    assert other.layout == "CIFAR (python)"
    assert one.classes == other.classes
    for split in ("train", "test"):
        for a, b in zip(getattr(one, split), getattr(other, split), strict=True):
            assert (a.name, a.label) == (b.name, b.label)
            np.testing.assert_array_equal(a.pixels, b.pixels)


def test_cifar_planes_become_pixels(tmp_path):
    binary = write_miniature("cifar10", tmp_path)
    image = picture(np.random.default_rng(5), 0, 32, 32)
    record = bytes([7]) + image.transpose(2, 0, 1).tobytes()
    (binary / "test_batch.bin").write_bytes(record)
    test = read(binary).test
    assert test is not None
    assert test[0].label == 7
    np.testing.assert_array_equal(test[0].pixels, image)


@pytest.mark.parametrize("content", [b"", bytes(3072), bytes(3073 * 2 - 1), bytes([10]) * 3073])
def test_binary_cifar_that_lies(tmp_path, content):
    binary = write_miniature("cifar10", tmp_path)
    (binary / "data_batch_3.bin").write_bytes(content)
    with pytest.raises(UserError, match=r"data_batch_3.bin: "):
        read(binary)


def test_cifar100_has_fine_labels(tmp_path):
    listing = read(write_miniature("cifar100", tmp_path, classes=30))
    assert len(listing.classes) == 30
    assert set(counts(listing, "train").values()) == {4}


class Touch:
    """Unpickling this creates a file, were it allowed."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self):
        return (Path.touch, (self.path,))


def python_cifar(tmp_path: Path) -> Path:
    return binary_to_python(write_miniature("cifar10", tmp_path), tmp_path / "python")


def test_a_pickle_with_a_payload_runs_nothing(tmp_path):
    source = python_cifar(tmp_path)
    with (source / "data_batch_2").open("wb") as file:
        pickle.dump({b"data": Touch(tmp_path / "owned")}, file)
    with pytest.raises(UserError, match=r"data_batch_2: not a CIFAR pickle \(asks for"):
        read(source)
    assert not (tmp_path / "owned").exists()


def test_a_pickle_cannot_allocate_what_it_does_not_hold(tmp_path):
    """numpy.ndarray((1 << 40,)) in few bytes: the stand-in only remembers the shape."""
    source = python_cifar(tmp_path)
    payload = (
        b"\x80\x02}U\x04datacnumpy\nndarray\n\x8a\x06"
        + (1 << 40).to_bytes(6, "little")
        + b"\x85\x85Rs."
    )
    (source / "test_batch").write_bytes(payload)
    with pytest.raises(UserError, match=r"test_batch: the pixels are not a whole"):
        read(source)


@pytest.mark.parametrize(
    "payload",
    [
        b"",
        b"garbage",
        b"\x80\x02]q\x00.",
        b"\x80\x02}r\xff\xff\xff\x7f.",  # a memo index that the compiled unpickler allocates
        b"\x80\x02}(U\x04dataNU\x06labels]u.",
        b"\x80\x05\x96" + (1 << 40).to_bytes(8, "little") + b".",  # a bytearray of a terabyte
    ],
)
def test_pickles_that_lie(tmp_path, payload):
    source = python_cifar(tmp_path)
    (source / "data_batch_1").write_bytes(payload)
    with pytest.raises(UserError, match=r"data_batch_1: "):
        read(source)


@pytest.mark.parametrize(
    "change",
    [
        {b"labels": [0] * 29},
        {b"labels": [0] * 29 + ["0"]},
        {b"labels": [0] * 29 + [10]},
        {b"labels": [0] * 29 + [-1]},
        {b"labels": None},
        {b"data": np.zeros((30, 3071), np.uint8)},
        {b"data": np.zeros((30, 3072), np.int8)},
        {b"data": np.zeros((30, 3072), np.float64)},
        {b"data": np.asfortranarray(np.zeros((30, 3072), np.uint8))},
        {b"data": b"\0" * 30 * 3072},
    ],
)
def test_python_cifar_with_other_content(tmp_path, change):
    source = python_cifar(tmp_path)
    content = {b"data": np.zeros((30, 3072), np.uint8), b"labels": [0] * 30}
    dump(source / "data_batch_1", content | change)
    with pytest.raises(UserError, match=r"data_batch_1: "):
        read(source)


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
    assert "saw 1 folders (empty), 2 images and 1 other files" in line
    assert "split/class/image" in line
    assert "\n" not in line


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
