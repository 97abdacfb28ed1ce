"""Images as people publish them: each kind of layout is understood, or refused with the option."""

import json
from collections.abc import Callable, Iterable
from pathlib import Path

import numpy as np
import pytest
from miniatures import save
from PIL import Image
from reading import class_of, counts, read, refused

from anynet_study.core.errors import UserError
from anynet_study.data import add_dataset

RANDOM = np.random.default_rng(0)


def images(folder: Path, names: Iterable[str]) -> list[str]:
    """Small images at these paths."""
    found = list(names)
    for number, name in enumerate(found):
        save(folder / name, RANDOM, number % 2)
    return found


def flat(folder: Path, count: int = 9, inside: str = "images") -> list[str]:
    """Images called im000, im001, ... in one folder; their names without suffix."""
    images(folder, (f"{inside}/im{number:03d}.png" for number in range(count)))
    return [f"im{number:03d}" for number in range(count)]


def write(path: Path, lines: Iterable[str]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(lines) + "\n")


def tabled(folder: Path, header: str, row: Callable[[int, str], str]) -> None:
    """Eight images, and a table with a row for each, of its number and name."""
    rows = [row(number, name) for number, name in enumerate(flat(folder, 8))]
    write(folder / "x.csv", [header, *rows])


@pytest.mark.parametrize(
    "folders",
    [
        ("train-000000", "train-000001"),
        ("images_001", "images_002"),
        ("X_Training_Input", "X_Test_Input"),
        ("fold1", "fold2", "fold3"),
        ("JPEGImages", "SegmentationClass"),
        ("img", "ground_truth"),
        ("images", "masks"),
        ("trainA", "trainB", "testA", "testB"),
        ("patient_000_node_1", "patient_020_node_4"),
        ("0-999", "1000-1999"),
        ("rgb", "depth"),
        ("original", "augmented"),
    ],
)
def test_folders_of_parts_are_no_classes(tmp_path, folders):
    images(tmp_path, (f"{folder}/{number}.png" for folder in folders for number in range(3)))
    refused("part of a dataset, not a class.*--layout class-folders", tmp_path)
    assert len(read(tmp_path, layout="class-folders").classes) == len(folders)


@pytest.mark.parametrize(
    "folders",
    [
        ("0", "1"),
        ("c0", "c1"),
        ("001.crow", "002.tern"),
        ("n01440764", "n01443537"),
        ("with-mask", "without-mask"),
        ("class_1", "class_2"),
    ],
)
def test_folders_with_numbers_may_be_classes(tmp_path, folders):
    images(tmp_path, (f"{folder}/{number}.png" for folder in folders for number in range(3)))
    assert read(tmp_path).classes == folders


def test_a_table_that_says_something_else_does_not_override_folders(tmp_path):
    names = images(tmp_path, (f"{kind}/{n:03d}.png" for kind in ("cat", "dog") for n in range(6)))
    rows = [f"{name},{('CC0', 'CC-BY')[n % 2]}" for n, name in enumerate(names)]
    write(tmp_path / "licenses.csv", ["filename,license", *rows])
    listing = read(tmp_path)
    assert counts(listing, listing.train) == {"cat": 6, "dog": 6}
    assert any("licenses.csv is not read" in note for note in listing.notes)


def test_thumbnails_of_a_network_drive_are_litter(tmp_path):
    images(tmp_path, (f"{kind}/{n:03d}.png" for kind in "ab" for n in range(5)))
    images(
        tmp_path, (f"{k}/@eaDir/{n:03d}.png/SYNOPHOTO_THUMB_M.jpg" for k in "ab" for n in range(5))
    )
    assert counts(read(tmp_path), read(tmp_path).train) == {"a": 5, "b": 5}


@pytest.mark.parametrize("inside", ["thumbs", "masks", "small"])
def test_images_of_images_are_asked_about(tmp_path, inside):
    images(tmp_path, (f"{kind}/{n:03d}.png" for kind in "ab" for n in range(5)))
    images(tmp_path, (f"{kind}/{inside}/{n:03d}.png" for kind in "ab" for n in range(5)))
    refused(f"masks or thumbnails.*--ignore {inside}", tmp_path)
    assert counts(read(tmp_path, ignore=inside), read(tmp_path, ignore=inside).train) == {
        "a": 5,
        "b": 5,
    }
    assert len(read(tmp_path, layout="class-folders").train) == 20


def test_a_copy_of_the_dataset_inside_itself(tmp_path):
    images(
        tmp_path,
        (f"{kind}/{n}.png" for kind in ("cat", "dog", "pets/cat", "pets/dog") for n in range(3)),
    )
    refused("holds folders called as other classes.*--ignore pets", tmp_path)
    assert read(tmp_path, ignore="pets").classes == ("cat", "dog")
    refused("--ignore 'dogs': no such", tmp_path, ignore="dogs")


@pytest.mark.parametrize(
    "column", ["patient_id", "Patient ID", "PatientID", "patientId", "case_id", "Slide", "seq-id"]
)
def test_groups_under_any_spelling(tmp_path, column):
    names = flat(tmp_path, 20)
    rows = [f"{name}.png,{'ab'[n // 4 % 2]},P{n // 4}" for n, name in enumerate(names)]
    write(tmp_path / "labels.csv", [f"Image,Label,{column}", *rows])
    listing = read(tmp_path, image_column="Image", label_column="Label")
    assert [example.group for example in listing.train] == [f"P{n // 4}" for n in range(20)]
    listing = read(tmp_path, label_column="Label", group_column="none")
    assert {example.group for example in listing.train} == {""}


@pytest.mark.parametrize(("group", "told"), [(2, "2 of 4 groups have both"), (4, "")])
def test_groups_on_both_sides_of_an_official_split_are_told_of(tmp_path, group, told):
    parts = ["train", "test", "train", "train", "test", "test", "test", "train"]
    parts = parts if group == 2 else ["train"] * 4 + ["test"] * 4
    row = lambda n, name: f"{name}.png,{'ab'[n % 2]},{parts[n]},P{n // group}"  # noqa: E731
    tabled(tmp_path, "image,label,split,patient_id", row)
    notes = [note for note in read(tmp_path).notes if "both" in note]
    assert len(notes) == bool(told)
    assert all(note.startswith(told) for note in notes)


def test_columns_that_look_like_groups_are_named(tmp_path):
    names = flat(tmp_path, 20)
    rows = [f"{name}.png,{'ab'[n // 4 % 2]},{n // 4}" for n, name in enumerate(names)]
    write(tmp_path / "labels.csv", ["image,label,volunteer_no", *rows])
    assert any("volunteer_no repeats: is it a group?" in note for note in read(tmp_path).notes)


def test_images_by_their_content(tmp_path):
    images(tmp_path, (f"a/{n}.png" for n in range(3)))
    for number in range(3):
        save(tmp_path / f"b/{number}.jpg", RANDOM, 1)
        (tmp_path / f"b/{number}.jpg").rename(tmp_path / f"b/{number}.{('jfif', 'x', '')[number]}")
    (tmp_path / "b/notes.txt").write_text("not an image")
    assert counts(read(tmp_path), read(tmp_path).train) == {"a": 3, "b": 3}


def test_links_that_lead_nowhere_are_images_that_cannot_be_read(tmp_path):
    images(tmp_path, (f"{kind}/{n:03d}.png" for kind in "ab" for n in range(3)))
    for number in range(3, 10):
        (tmp_path / f"b/{number:03d}.png").symlink_to(f"../.git/annex/gone-{number}.png")
    assert counts(read(tmp_path), read(tmp_path).train) == {"a": 3, "b": 10}


def test_a_class_called_train_among_split_folders(tmp_path):
    kinds = ("bus", "tractor", "train")
    images(tmp_path, (f"train/{kind}/{n}.png" for kind in kinds for n in range(4)))
    images(tmp_path, (f"test/{kind}/{n}.png" for kind in kinds for n in range(2)))
    listing = read(tmp_path)
    assert (listing.classes, len(listing.train), len(listing.test)) == (kinds, 12, 6)


def test_a_class_called_train_is_asked_about(tmp_path):
    images(tmp_path, (f"{kind}/{n}.png" for kind in ("bus", "tractor", "train") for n in range(4)))
    refused("train: its name says part of a dataset.*--layout class-folders", tmp_path)
    assert read(tmp_path, layout="class-folders").classes == ("bus", "tractor", "train")


@pytest.mark.parametrize(
    ("train", "test"),
    [("training_set", "test_set"), ("Train Images", "Test Images"), ("TRAIN", "Validation-Set")],
)
def test_split_folders_under_any_spelling(tmp_path, train, test):
    images(
        tmp_path,
        (f"{part}/{kind}/{n}.png" for part in (train, test) for kind in "ab" for n in range(3)),
    )
    listing = read(tmp_path)
    assert (listing.classes, len(listing.train), len(listing.test)) == (("a", "b"), 6, 6)


@pytest.mark.parametrize("table", ["{part}/labels.csv", "{part}_labels.csv"])
def test_tables_in_or_beside_the_folder_of_each_split(tmp_path, table):
    """Images of one name in each split: a table of a part means those of its folder."""
    for part in ("train", "test"):
        rows = [f"{name}.png,{'ab'[n % 2]}" for n, name in enumerate(flat(tmp_path, 6, part))]
        write(tmp_path / table.format(part=part), ["file,label", *rows])
    listing = read(tmp_path)
    assert counts(listing, listing.train) == counts(listing, listing.test) == {"a": 3, "b": 3}


def test_words_of_splits_are_declared(tmp_path):
    names = flat(tmp_path, 18)
    rows = [f"{name}.png,{(1, -1)[n % 2]},{n // 6}" for n, name in enumerate(names)]
    write(tmp_path / "attr.csv", ["image_id,Smiling,partition", *rows])
    refused(r"says '0'.*--split-values 0=\.\.\.,1=\.\.\.,2=", tmp_path, label_column="Smiling")
    words = "0=train,1=validation,2=test"
    listing = read(tmp_path, label_column="Smiling", split_values=words)
    assert (listing.classes, len(listing.train), len(listing.test)) == (("-1", "1"), 6, 6)
    assert read(tmp_path, label_column="Smiling", split_column="none").test is None
    refused("--split-values: '0=a' is not WORD=PART", tmp_path, split_values="0=a")


def test_further_parts_of_wilds_are_declared(tmp_path):
    names = flat(tmp_path, 20)
    parts = ("train", "train", "val", "test", "id_val")
    rows = [f"{n},{name}.png,{n // 10},{parts[n % 5]}" for n, name in enumerate(names)]
    write(tmp_path / "metadata.csv", [",filename,y,split", *rows])
    refused("says 'id_val'.*--split-values", tmp_path)
    listing = read(tmp_path, split_values="id_val=none")
    assert (len(listing.train), len(listing.test)) == (8, 4)
    assert "4 images left out, as declared" in listing.notes
    assert not any("in no table" in note for note in listing.notes)


@pytest.mark.parametrize(
    ("file", "header", "row", "classes"),
    [
        ("labels.csv", "filename;label", "{name}.png;{label}", ("a", "b")),
        ("train.txt", None, "images/{name}.png {label}", ("a", "b")),
        ("GroundTruth.csv", "image,MEL,NV", "{name},{first}.0,{second}.0", ("MEL", "NV")),
        ("labels.csv", ",image,breed", "{n},{name}.png,{label}", ("a", "b")),
        ("labels.csv", "sep=;\nfile;label", "{name}.png;{label}", ("a", "b")),
        ("labels.csv", "id,label", "{n},{label}", ("a", "b")),
        ("labels.csv", "id,label", "{n}.0,{label}", ("a", "b")),
        ("split_0.csv", "file,Class Name", "{name}.png,{label}", ("a", "b")),
        ("labels.tsv", "\ufefffile\tlabel\r", "{name}.png\t{label}\r", ("a", "b")),
    ],
)
def test_tables_in_every_dialect(tmp_path, file, header, row, classes):
    names = flat(tmp_path, 9)
    if header == "id,label":
        for n in range(9):
            (tmp_path / f"images/im{n:03d}.png").rename(tmp_path / f"images/{n:05d}.png")
    rows = [
        row.format(n=n, name=name, label="ab"[n % 2], first=(n + 1) % 2, second=n % 2)
        for n, name in enumerate(names)
    ]
    write(tmp_path / file, [*([] if header is None else [header]), *rows])
    listing = read(tmp_path)
    assert listing.classes == classes
    assert [example.label for example in listing.train] == [n % 2 for n in range(9)]


def test_a_table_that_is_not_understood_is_named(tmp_path):
    names = flat(tmp_path)
    rows = [f"{name}.png,{n},{n % 3}" for n, name in enumerate(names)]
    write(tmp_path / "data.csv", ["file,weight,colour", *rows])
    refused(r"data.csv.*images in column 'file'.*--label-column", tmp_path)
    assert len(read(tmp_path, label_column="colour").classes) == 3


def test_two_columns_of_classes_that_do_not_agree(tmp_path):
    tabled(tmp_path, "file,label,category", lambda n, name: f"{name}.png,{n % 4},{n % 2}")
    refused("'label' or 'category', which do not agree.*--label-column", tmp_path)
    assert len(read(tmp_path, label_column="category").classes) == 2


def test_several_classes_in_a_cell_are_declared(tmp_path):
    names = flat(tmp_path, 6)
    cells = ("a", "b", "a|b", "c", "b|c", "a")
    write(
        tmp_path / "x.csv",
        ["file,label", *(f"{n}.png,{c}" for n, c in zip(names, cells, strict=True))],
    )
    refused(r"says 'a\|b': several classes\? .*--label-separator", tmp_path)
    listing = read(tmp_path, label_separator="|")
    assert (listing.classes, listing.multi_label) == (("a", "b", "c"), True)
    found = {e.name[-5]: sorted(listing.class_names(e)) for e in listing.train}
    assert found == {str(n): cell.split("|") for n, cell in enumerate(cells)}


def test_classes_that_differ_in_case_or_blanks(tmp_path):
    names = flat(tmp_path, 6)
    cells = ("cat", " cat", "Cat", "dog", "dog ", "dog")
    write(
        tmp_path / "x.csv",
        ["file,label", *(f"{n}.png,{c}" for n, c in zip(names, cells, strict=True))],
    )
    refused("classes 'Cat' and 'cat' differ in case.*--ignore-case", tmp_path)
    listing = read(tmp_path, ignore_case="yes")
    assert sorted(counts(listing, listing.train).values()) == [3, 3]


def test_rows_that_repeat_or_lead_nowhere_are_listed(tmp_path):
    names = flat(tmp_path, 8)
    rows = [f"{name}.png,{'ab'[n % 2]}" for n, name in enumerate(names)]
    write(tmp_path / "x.csv", ["file,label", *rows, rows[0], "gone.png,a"])
    listing = read(tmp_path)
    assert len(listing.train) == 8
    assert {(b.image, b.reason.split()[-1]) for b in listing.broken} == {("gone.png", "there")}
    assert "1 row repeat an image of the same class" in listing.notes


def test_accents_are_one_however_they_are_written(tmp_path):
    images(tmp_path, (f"{kind}/{n}.png" for kind in ("Cafe\u0301", "Bar") for n in range(3)))
    assert read(tmp_path).classes == ("Bar", "Caf\u00e9")
    rows = (f"Caf\u00e9/{n}.png,x" for n in range(3))
    write(tmp_path / "x.csv", ["file,label", *rows])
    assert set(class_of(read(tmp_path), read(tmp_path).train).values()) == {"Bar", "Caf\u00e9"}


def test_pixels_of_12_bits_in_files_of_16_are_told(data_home, tmp_path):
    """Scaled from 65535 they are nearly black: a note says so, if no pixel is brighter."""
    for number in range(8):
        for kind, top in (("a", 4095), ("b", 4095)):
            pixels = RANDOM.integers(0, top + 1, (16, 16)).astype(np.uint16)
            (tmp_path / "x" / kind).mkdir(parents=True, exist_ok=True)
            Image.fromarray(pixels).save(tmp_path / "x" / kind / f"{number}.png")
    dataset = add_dataset("dark", tmp_path / "x", size=8)
    assert any("no pixel of 16 images of 16 bits exceeds 4" in note for note in dataset.meta.notes)
    bright = RANDOM.integers(0, 65536, (16, 16)).astype(np.uint16)
    Image.fromarray(bright).save(tmp_path / "x/a/0.png")
    assert add_dataset("bright", tmp_path / "x", size=8).meta.notes == ()


def test_animated_images_are_their_first_frame(data_home, tmp_path):
    frames = [Image.new("RGB", (8, 8), colour) for colour in ("red", "blue")]
    for kind in "ab":
        (tmp_path / "x" / kind).mkdir(parents=True)
        for number in range(4):
            path = tmp_path / "x" / kind / f"{number}.gif"
            frames[0].save(path, save_all=True, append_images=frames[1:])
    dataset = add_dataset("moving", tmp_path / "x", size=8, max_duplicates=1)
    assert dataset.images("train")[0][0, 0].tolist() == [255, 0, 0]


def copied(folder: Path, copies: dict[str, str]) -> None:
    """16 unlike images of two classes in two splits; and copies: of which, called what."""
    for part, count in (("train", 6), ("test", 2)):
        images(folder, (f"{part}/{kind}/{n}.png" for kind in "ab" for n in range(count)))
    for name, other in copies.items():
        (folder / other).write_bytes((folder / name).read_bytes())


@pytest.mark.parametrize(
    ("copies", "told"),
    [
        (
            {"train/a/0.png": "test/a/0.png"},
            r"1 of 4 test images are also training images \(25.0%\).* test/a/0.png.*train/a/0.png",
        ),
        (
            {"train/a/0.png": "train/b/0.png"},
            r"1 of 16 images are in another class too \(6.2%\), such as train/b/0.png",
        ),
    ],
)
def test_images_that_repeat_across_splits_and_classes(data_home, tmp_path, copies, told):
    copied(tmp_path / "x", copies)
    with pytest.raises(UserError, match=told):
        add_dataset("x", tmp_path / "x", size=16)
    assert not (data_home / "x").exists()
    assert add_dataset("x", tmp_path / "x", size=16, max_duplicates=0.3).meta.duplicates


def test_images_that_repeat_within_a_class_are_told_alone(data_home, tmp_path):
    copied(tmp_path / "x", {"train/a/0.png": "train/a/1.png"})
    assert add_dataset("x", tmp_path / "x", size=16).meta.duplicates.within_train == 1


def test_several_columns_of_yes_and_no(tmp_path):
    """Rows with several or no yes are classes if they are declared; also CelebA's 1 and -1."""
    names = flat(tmp_path, 6)
    marks = [(1, 0, 0), (1, 1, 0), (0, 0, 0), (0, 0, 1), (0, 1, 0), (1, 0, 1)]
    rows = [f"{name}.png,{','.join(map(str, row))}" for name, row in zip(names, marks, strict=True)]
    write(tmp_path / "x.csv", ["image,cat,dog,cow", *rows])
    refused("several classes of an image\\? --label-column cat,dog,cow", tmp_path)
    refused("im002.png has no class.*--no-class", tmp_path, label_column="cat,dog,cow")
    listing = read(tmp_path, label_column="cat,dog,cow", no_class="nothing")
    found = {e.name[-5]: sorted(listing.class_names(e)) for e in listing.train}
    assert (found["1"], found["2"]) == (["cat", "dog"], ["nothing"])
    listing = read(tmp_path, label_column="cat,dog", no_class="none")
    assert len(listing.train) == 4
    rows = [row.replace(",0", ",-1") for row in rows]
    write(tmp_path / "x.csv", ["image,cat,dog,cow", *rows])
    assert len(read(tmp_path, label_column="cat,dog,cow", no_class="none").train) == 5
    refused("no column 'bird'|has image, cat", tmp_path, label_column="cat,bird")


def test_two_columns_of_images_are_asked_about(tmp_path):
    flat(tmp_path, 8, "masks")
    columns = "images/{0}.png,masks/{0}.png,{1}"
    tabled(tmp_path, "first,second,label", lambda n, name: columns.format(name, "ab"[n % 2]))
    refused("images in columns 'first' and 'second'; choose with --image-column", tmp_path)
    assert len(read(tmp_path, image_column="first").train) == 8


@pytest.mark.parametrize("column", ["age", "target"])
def test_numbers_with_decimals_are_no_classes_unless_declared(tmp_path, column):
    tabled(tmp_path, f"file,{column}", lambda n, name: f"{name}.png,{20 + n // 2}.5")
    refused(f"x.csv has '{column}', numbers with decimals; as classes: --label-column", tmp_path)
    assert len(read(tmp_path, label_column=column).classes) == 4
    tabled(tmp_path, f"file,{column}", lambda n, name: f"{name}.png,{n % 2}.0")
    assert len(read(tmp_path).classes) == 2


def test_a_folder_of_documents_is_no_class(tmp_path):
    images(tmp_path, [*(f"{c}/{n}.png" for c in "ab" for n in range(3)), "docs/logo.png"])
    refused("folder docs: its name says part of a dataset.*--ignore docs", tmp_path)
    assert read(tmp_path, ignore="docs").classes == ("a", "b")


def test_parts_of_one_table_are_read_together(tmp_path):
    """Tables of one header that differ in numbers alone, unless they list the same images."""
    names = flat(tmp_path, 8)
    rows = [f"{name}.png,{'ab'[n % 2]}" for n, name in enumerate(names)]
    write(tmp_path / "labels_1.csv", ["file,label", *rows[:4]])
    write(tmp_path / "labels_2.csv", ["file,label", *rows[4:]])
    assert len(read(tmp_path).train) == 8
    write(tmp_path / "labels_2.csv", ["file,label", *rows[3:]])
    refused("could all be the table of images; choose one with --table", tmp_path)


def test_masks_beside_the_images_of_a_class_are_asked_about(tmp_path):
    for kind in ("benign", "normal"):
        images(tmp_path, (f"{kind}/{kind} ({n}).png" for n in range(3)))
        images(tmp_path, (f"{kind}/{kind} ({n})_mask.png" for n in range(2)))
        images(tmp_path, [f"{kind}/{kind} (0)_mask_1.png"])
    refused(r"called as .* beside it: a mask\? --ignore '\*_mask\*'", tmp_path)
    assert len(read(tmp_path, ignore="*_mask*").train) == 6


def test_lists_of_splits_in_a_folder_beside_that_of_the_images(tmp_path):
    """Food-101: images/class/number.jpg, and meta/train.txt of class/number, no header."""
    kinds = ("pie", "soup")
    images(tmp_path, (f"images/{kind}/{n}.jpg" for kind in kinds for n in range(4)))
    for part, numbers in (("train", (0, 1, 2)), ("test", (3,))):
        write(tmp_path / f"meta/{part}.txt", (f"{k}/{n}" for k in kinds for n in numbers))
    write(tmp_path / "meta/classes.txt", kinds)
    listing = read(tmp_path)
    assert (listing.classes, len(listing.train), len(listing.test)) == (kinds, 6, 2)


def test_several_official_splits_are_named_not_mixed(tmp_path):
    images(tmp_path, (f"images/{kind}/{n}.jpg" for kind in "ab" for n in range(4)))
    for number in (1, 2):
        for part, numbers in (("train", (0, 1, number + 1)), ("test", (4 - number,))):
            names = (f"{kind}/{n}.jpg" for kind in "ab" for n in numbers)
            write(tmp_path / f"labels/{part}{number}.txt", names)
    write(tmp_path / "labels/joint_annotations.txt", (f"{k}/{n}.jpg" for k in "ab" for n in "0123"))
    listing = read(tmp_path)
    assert listing.test is None
    assert any("lists test: --ignore other tables" in note for note in listing.notes)
    assert len(read(tmp_path, ignore="*2.txt").test) == 2


def test_an_index_of_images_is_no_table_of_classes(tmp_path):
    """CUB-200: a number for each image; its labels and splits are by these numbers."""
    kinds = ("001.Crow", "002.Tern")
    found = images(tmp_path, (f"images/{kind}/x{n}.jpg" for kind in kinds for n in range(4)))
    write(tmp_path / "images.txt", (f"{n + 1} {name[7:]}" for n, name in enumerate(found)))
    write(tmp_path / "train_test_split.txt", (f"{n + 1} {n % 2}" for n in range(8)))
    listing = read(tmp_path)
    assert listing.classes == kinds
    assert any("train_test_split.txt has" in note for note in listing.notes)


@pytest.mark.parametrize(
    ("column", "words", "told"),
    [
        ("type", ("train", "test"), None),
        ("phase", ("Training", "Testing"), None),
        ("split", ("train", "valid"), None),
        ("is_valid", ("False", "True"), "--split-values False=...,True=..."),
        ("Usage", ("Training", "PublicTest"), "--split-values PublicTest=...,Training=..."),
        ("is_train", ("1", "0"), "--split-values 0=...,1=..."),
    ],
)
def test_columns_of_splits_by_name_or_content(tmp_path, column, words, told):
    names = flat(tmp_path, 8)
    rows = [f"{name}.png,{'ab'[n % 2]},{words[n // 4]}" for n, name in enumerate(names)]
    write(tmp_path / "x.csv", [f"file,label,{column}", *rows])
    if told is not None:
        refused(told, tmp_path)
    values = {} if told is None else {"split_values": f"{words[0]}=train,{words[1]}=test"}
    listing = read(tmp_path, **values)
    assert (len(listing.train), len(listing.test)) == (4, 4)


@pytest.mark.parametrize(
    ("cells", "told"),
    [
        (("x,y", "x", "y"), "--label-separator ','"),
        (("x/y", "x", "y"), "--label-separator '/'"),
        (("x y", "x", "y"), "--label-separator ' '"),
        (("[1, 2]", "[1]", "[2]"), "--label-separator ','"),
        (("x", "NA", "y"), "no class in column 'label'.*--no-class"),
        (("with mask", "with_mask", "no"), "--ignore-case"),
        (("red-fox", "red fox", "no"), "--ignore-case"),
    ],
)
def test_cells_that_may_be_something_else_are_asked_about(tmp_path, cells, told):
    names = flat(tmp_path, 6)
    rows = (f'{name}.png,"{cells[n % 3]}"' for n, name in enumerate(names))
    write(tmp_path / "x.csv", ["file,label", *rows])
    refused(told, tmp_path)


@pytest.mark.parametrize(
    ("cells", "classes"),
    [
        (("0.0", "1.0"), ("0", "1")),
        (("-1", "1"), ("-1", "1")),
        (("red fox", "grey fox"), ("grey fox", "red fox")),
        (("Lion, male", "Lion, female"), ("Lion, female", "Lion, male")),
    ],
)
def test_cells_that_are_classes(tmp_path, cells, classes):
    names = flat(tmp_path, 6)
    rows = (f'{name}.png,"{cells[n % 2]}"' for n, name in enumerate(names))
    write(tmp_path / "x.csv", ["file,label", *rows])
    assert read(tmp_path).classes == classes


@pytest.mark.parametrize(
    ("file", "told"),
    [
        ("labels.xlsx", "a spreadsheet: save it as CSV"),
        ("annotations.json", "annotations.json is not read"),
        ("setid.mat", "variables of MATLAB: save the classes as CSV"),
        ("labels.pkl", "a pickle, which can run code"),
        ("labels.csv.gz", "compressed: unpack it"),
    ],
)
def test_files_of_classes_that_are_not_read_are_named(tmp_path, file, told):
    flat(tmp_path, 4)
    write(tmp_path / file, ['{"images": [1, 2], "annotations": [1]}'])
    refused(told, tmp_path)


def test_a_link_within_a_folder_is_a_second_name(tmp_path):
    images(tmp_path, (f"{kind}/{n}.png" for kind in "ab" for n in range(5)))
    (tmp_path / "a/9.png").symlink_to("0.png")
    (tmp_path / "c").mkdir()
    (tmp_path / "c/1.png").symlink_to("../a/1.png")
    assert counts(read(tmp_path), read(tmp_path).train) == {"a": 5, "b": 5, "c": 1}


def test_one_table_of_images_in_the_folders_of_splits(tmp_path):
    """Folders called train and test say the split, if the table does not, and unless declined."""
    rows = [f"{part}/{n}.png,{'ab'[n % 2]}" for part in ("train", "test") for n in range(4)]
    images(tmp_path, (row.partition(",")[0] for row in rows))
    write(tmp_path / "metadata.csv", ["file_name,label", *rows])
    listing = read(tmp_path)
    assert (len(listing.train), len(listing.test)) == (4, 4)
    assert all(example.name.startswith("test/") for example in listing.test)
    assert listing.splits_from == "the folders of the images"
    assert read(tmp_path, split_column="none").test is None


def test_lists_and_groups_beside_a_table_of_classes(tmp_path):
    """Chest X-rays: a table, and lists of the official parts; ISIC: a further table of lesions."""
    names = [f"{name}.png" for name in flat(tmp_path, 8)]
    rows = (f"{name},{'ab'[n % 2]}" for n, name in enumerate(names))
    write(tmp_path / "Data_Entry.csv", ["Image Index,Finding Label", *rows])
    write(tmp_path / "train_val_list.txt", names[:6])
    write(tmp_path / "test_list.txt", names[6:])
    lesions = (f"{name},L{n // 2},{'xy'[n % 3 > 0]}" for n, name in enumerate(names))
    write(tmp_path / "Lesions.csv", ["image,lesion_id,confirmed", *lesions])
    for choices in ({"label_column": "Finding Label"}, {"ignore": "Lesions.csv"}):
        listing = read(tmp_path, **choices)
        assert (listing.classes, len(listing.train), len(listing.test)) == (("a", "b"), 6, 2)
        groups = {example.group for example in listing.train}
        assert groups == ({""} if "ignore" in choices else {"L0", "L1", "L2"})
    assert read(tmp_path, label_column="Finding Label", split_column="none").test is None
    (tmp_path / "test_list.txt").write_text("im007.png 2\n")
    write(tmp_path / "eval_partition.txt", (f"{name} {n // 6}" for n, name in enumerate(names)))
    refused("column '2' says '0'.*--split-values", tmp_path, ignore="*_list.txt,Lesions.csv")


def test_a_table_in_the_folder_of_each_class(tmp_path):
    """GTSRB: the names of images repeat in the folders of classes, whose tables are one."""
    for number in range(2):
        place = f"Final_Training/Images/0000{number}"
        images(tmp_path, (f"{place}/00000_{n}.png" for n in range(3)))
        rows = (f"00000_{n}.png;30;{number}" for n in range(3))
        write(tmp_path / place / f"GT-0000{number}.csv", ["Filename;Width;ClassId", *rows])
    images(tmp_path, (f"Final_Test/Images/0000{n}.png" for n in range(3)))
    write(tmp_path / "Final_Test/Images/GT-test.csv", ["Filename;Width", "00000.png;3"])
    assert counts(read(tmp_path), read(tmp_path).train) == {"0": 3, "1": 3}


def test_a_flat_split_with_a_table_beside_class_folders(tmp_path):
    """Tiny ImageNet: class folders for training, and a table that says classes of validation."""
    kinds = ("n01443537", "n01629819")
    for kind in kinds:
        found = images(tmp_path, (f"train/{kind}/images/{kind}_{n}.jpg" for n in range(4)))
        write(tmp_path / f"train/{kind}/{kind}_boxes.txt", (f"{f[-15:]}\t0\t9" for f in found))
    rows = (f"val_{n}.jpg\t{kinds[n % 2]}\t0\t32" for n in range(4))
    images(tmp_path, (f"val/images/val_{n}.jpg" for n in range(4)))
    refused("images without class folders, so without labels", tmp_path)
    rows = [*rows]
    write(tmp_path / "val_predicted.txt", rows)  # which may be predictions
    refused("images without class folders, so without labels", tmp_path)
    write(tmp_path / "val_truth.csv", ["file,label", *(",".join(r.split()[:2]) for r in rows)])
    assert counts(read(tmp_path), read(tmp_path).test) == dict.fromkeys(kinds, 2)
    (tmp_path / "val_truth.csv").unlink()
    write(tmp_path / "val/val_annotations.txt", rows)
    listing = read(tmp_path)
    assert counts(listing, listing.train) == dict.fromkeys(kinds, 4)
    assert counts(listing, listing.test) == dict.fromkeys(kinds, 2)
    assert "2 alike" not in str(listing.notes)
    assert "n01443537_boxes.txt and 1 alike" in str(listing.notes)


def test_annotations_in_the_format_of_coco(tmp_path):
    names = flat(tmp_path, 6)
    marks = [{"image_id": n, "category_id": n % 2} for n in (0, 1, 2, 3, 3, 4)]
    content = {
        "images": [
            {"id": n, "file_name": f"{x}.png", "seq_id": n // 2} for n, x in enumerate(names)
        ],
        "annotations": marks,
        "categories": [{"id": 0, "name": "deer"}, {"id": 1, "name": "fox"}],
    }
    write(tmp_path / "instances.json", [json.dumps(content)])
    refused("im005.png has no class.*--no-class", tmp_path)
    listing = read(tmp_path, no_class="none")
    assert (counts(listing, listing.train), listing.multi_label) == ({"deer": 3, "fox": 2}, False)
    assert {example.group for example in listing.train} == {"0", "1", "2"}
    content["annotations"] += [{"image_id": 5, "category_id": 0}, {"image_id": 5, "category_id": 1}]
    write(tmp_path / "instances.json", [json.dumps(content)])
    assert read(tmp_path).multi_label


def test_one_class_alone_is_none(tmp_path):
    """A table for submissions, in which all images have one class."""
    write(tmp_path / "sample.csv", ["id,label", *(f"{name},0" for name in flat(tmp_path, 4))])
    refused("one class alone, '0', from column label of sample.csv.*--label-column", tmp_path)
    rows = (f"im{n:03d},{n % 2}" for n in range(3))
    write(tmp_path / "labels.csv", ["id,label", *rows])
    listing = read(tmp_path)
    assert counts(listing, listing.train) == {"0": 2, "1": 1}
    assert listing.tables == {"sample.csv": "is not read: one class alone"}


def test_folders_of_numbers_that_hold_class_folders_are_no_classes(tmp_path):
    images(tmp_path, (f"1025{p}/{k}/x{n}_class{k}.png" for p in "37" for k in "01" for n in "12"))
    refused("layout not recognised.*give a folder in it: 10253", tmp_path)
