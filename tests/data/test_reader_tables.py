"""Tables of images: anybody's, and those of HAM10000, APTOS, SIIM-ISIC, Cassava, HPA and CCT-20."""

import json
import shutil
from pathlib import Path

import miniatures_transfer as miniature
import numpy as np
import pytest
from miniatures import save, write_table
from PIL import Image
from reading import class_of, counts, read, refused

from anynet_study.data import add_dataset
from anynet_study.data.readers import safe_files

RANDOM = np.random.default_rng(0)


def images(folder: Path, count: int = 8, inside: str = "photos") -> list[str]:
    """Images in a folder; their paths."""
    names = [f"{inside}/{number:03d}.jpg" for number in range(count)]
    for number, name in enumerate(names):
        save(folder / name, RANDOM, number % 2)
    return names


def table(folder: Path, header: tuple[str, ...], rows: list[tuple[str, ...]], name="x.csv") -> None:
    folder.mkdir(parents=True, exist_ok=True)
    write_table(folder / name, header, rows)


@pytest.mark.parametrize(
    "form",
    [
        lambda name: name,
        lambda name: f"./{name}",
        lambda name: name.removesuffix(".jpg"),
        lambda name: Path(name).name,
        lambda name: Path(name).stem,
    ],
    ids=["path", "dotted", "bare path", "name", "stem"],
)
def test_images_by_path_or_name(tmp_path, form):
    names = images(tmp_path)
    rows = [(form(name), f"k{n % 2}") for n, name in enumerate(names)]
    table(tmp_path, ("filename", "label"), rows)
    listing = read(tmp_path)
    assert listing.layout == "table of images"
    expected = {name: f"k{n % 2}" for n, name in enumerate(names)}
    assert class_of(listing, listing.train) == expected
    assert listing.ignored == 1


def test_columns_can_be_chosen(tmp_path):
    names = images(tmp_path)
    rows = [(str(n), name, "ab"[n % 2], str(n // 4)) for n, name in enumerate(names)]
    table(tmp_path, ("id", "where", "kind", "camera"), rows)
    chosen = {"image_column": "where", "label_column": "kind", "group_column": "camera"}
    listing = read(tmp_path, **chosen)
    assert listing.classes == ("a", "b")
    assert [example.group for example in listing.train] == ["0"] * 4 + ["1"] * 4
    for option in ("image_column", "label_column", "group_column"):
        told = r"no table for .*'sort'.*: x\.csv has id, where, kind, camera"
        refused(told, tmp_path, **(chosen | {option: "sort"}))
    refused(r"no table for --table 'y\.csv': there: x\.csv", tmp_path, table="y.csv")


def test_a_chosen_column_tells_which_table(tmp_path):
    names = images(tmp_path)
    table(tmp_path, ("path", "class"), [(name, "a") for name in names], "one.csv")
    rows = [(name, "xy"[n % 2]) for n, name in enumerate(names)]
    table(tmp_path, ("path", "kind"), rows, "two.csv")
    assert read(tmp_path, label_column="kind").classes == ("x", "y")


def test_several_tables_are_asked_about(tmp_path):
    names = images(tmp_path)
    rows = [(name, "ab"[n % 2]) for n, name in enumerate(names)]
    table(tmp_path, ("path", "class"), rows, "one.csv")
    table(tmp_path, ("path", "class"), rows[::3], "two.csv")
    refused(r"one.csv, two.csv could all be .* --table", tmp_path)
    assert len(read(tmp_path, table="one.csv").train) == 8


@pytest.mark.parametrize(
    ("labels", "classes"),
    [(("10", "9", "100"), ("9", "10", "100")), (("b10", "b9", "a"), ("a", "b10", "b9"))],
)
def test_numbers_are_in_their_order(tmp_path, labels, classes):
    names = images(tmp_path, 6)
    table(tmp_path, ("path", "class"), [(n, labels[k % 3]) for k, n in enumerate(names)])
    assert read(tmp_path).classes == classes


def test_a_table_that_says_other_classes_than_the_folders_is_asked_about(tmp_path):
    names = [*images(tmp_path, 4, "a"), *images(tmp_path, 4, "b")]
    table(tmp_path, ("path", "class"), [(name, "xy"[n % 2]) for n, name in enumerate(names)])
    refused(r"class folders or x.csv .*choose with --layout class-folders", tmp_path)
    assert read(tmp_path, layout="csv-table").classes == ("x", "y")
    assert read(tmp_path, layout="class-folders").classes == ("a", "b")


@pytest.mark.parametrize(
    ("path", "found"),
    [
        ("../photos/000.jpg", True),
        ("C:\\data\\photos\\000.jpg", True),
        ("/kaggle/input/photos/000.jpg", True),
        ("/etc/passwd", False),
        ("../outside.jpg", False),
        ("", False),
    ],
)
def test_paths_of_other_machines_mean_only_images_below_the_folder(tmp_path, path, found):
    (tmp_path / "outside.jpg").touch()
    folder = tmp_path / "in"
    images(folder)
    rows = [("photos/001.jpg", "b"), ("photos/002.jpg", "a"), (path, "a")]
    table(folder, ("path", "class"), rows)
    listing = read(folder)
    names = [example.name for example in listing.train]
    assert names == ["photos/000.jpg"] * found + ["photos/001.jpg", "photos/002.jpg"]
    assert [broken.image for broken in listing.broken] == [path] * (not found)


@pytest.mark.parametrize(
    ("rows", "reason"),
    [
        ([("000", "a"), ("photos/000.jpg", "b")], "photos/000.jpg is listed twice, as 'a' and 'b'"),
        ([("photos/000.jpg", ""), ("photos/001.jpg", "b")], "has no class"),
        ([("photos/000.jpg", "a", "fold 3")], "column 'split' says 'fold 3', .* --split-values"),
        ([("photos/000.jpg", "a", "test")], "the table has no training image"),
        ([("004.jpg", "x"), ("b/001.jpg", "y")], "more than one image '004.jpg'"),
        ([], "part of a dataset.*x.csv has path, class, split: none names images"),
    ],
)
def test_tables_that_lie(tmp_path, rows, reason):
    images(tmp_path)
    images(tmp_path, 6, "b")
    shutil.copy(tmp_path / "b/004.jpg", tmp_path / "photos")
    for number in range(4):
        (tmp_path / f"b/{number:03d}.jpg").unlink()
    header = ("path", "class", "split")
    table(tmp_path, header[: len(rows[0])] if rows else header, rows)
    refused(reason, tmp_path)


def test_a_table_of_endless_rows(tmp_path, monkeypatch):
    monkeypatch.setattr(safe_files, "MAX_ROWS", 100)
    images(tmp_path)
    (tmp_path / "x.csv").write_text("path,label\n" + "x,\n" * 101)
    refused(r"x\.csv is not read \(not a readable table \(more than 100 rows\)\)", tmp_path)


@pytest.mark.parametrize(
    ("make", "layout", "images"),
    [
        (miniature.cassava, "Cassava", 20),
        (miniature.aptos, "APTOS 2019", 25),
        (miniature.siim_isic, "SIIM-ISIC", 30),
        (miniature.cct20, "CCT-20", 8),
        (miniature.hpa, "HPA", 24),
        (miniature.eurosat, "EuroSAT", 30),
    ],
)
@pytest.mark.parametrize("form", ["folder", "wrapped", "zip"])
def test_each_layout_is_read_under_the_name_of_its_dataset(tmp_path, make, layout, images, form):
    folder = tmp_path / "downloads" / "inner"
    folder.mkdir(parents=True)
    make(folder, RANDOM)
    path = {"folder": folder, "wrapped": folder.parent}.get(form)
    if path is None:
        path = shutil.make_archive(str(tmp_path / "x"), "zip", folder)
    name = make.__name__.replace("_", "-")
    listing = read(tmp_path / path, name)
    assert (listing.layout, len(listing.train)) == (layout, images)
    names = [example.name for example in listing.train]
    assert names == sorted(set(names))


def test_cassava_classes_have_names_in_the_order_of_their_numbers(tmp_path):
    miniature.cassava(tmp_path, RANDOM)
    listing = read(tmp_path, "cassava")
    assert listing.classes == ("Bacterial Blight (CBB)", "Brown Streak", "Mottle", "Healthy")
    assert class_of(listing, listing.train)["train_images/1021.jpg"] == "Healthy"
    assert listing.ignored == 3


def test_cassava_without_a_name(tmp_path):
    miniature.cassava(tmp_path, RANDOM)
    (tmp_path / "label_num_to_disease_map.json").write_text('{"0": "a", "1": "b"}')
    refused(r"train.csv: no name for label '2'; legal: 0, 1", tmp_path, "cassava")


@pytest.mark.parametrize("text", ["", "[]", '{"0": 1}', "[" * 100_000, "\xff"])
def test_cassava_with_another_map(tmp_path, text):
    miniature.cassava(tmp_path, RANDOM)
    (tmp_path / "label_num_to_disease_map.json").write_bytes(text.encode("latin-1"))
    refused(r"disease_map.json: not ", tmp_path, "cassava")


def test_aptos_classes_are_ordered(tmp_path):
    miniature.aptos(tmp_path, RANDOM)
    listing = read(tmp_path, "aptos")
    assert listing.classes == tuple("01234")
    assert class_of(listing, listing.train)["train_images/000000000007.png"] == "2"


@pytest.mark.parametrize("identifier", ["../x", "/etc/passwd", "a\\b", "..", ""])
def test_ids_that_could_name_another_folder(tmp_path, identifier):
    miniature.aptos(tmp_path, RANDOM)
    write_table(tmp_path / "train.csv", ("id_code", "diagnosis"), [(identifier, "1")])
    refused(r"train.csv: .* is not an image id", tmp_path, "aptos")


@pytest.mark.parametrize("part", [None, "trans_test", "cis_val"])
def test_cct20_has_official_parts(tmp_path, part):
    truth = miniature.cct20(tmp_path, RANDOM)
    listing = read(tmp_path, "cct20", test_part=part)
    for examples, name in ((listing.train, "train"), (listing.test, part or "cis_test")):
        found = class_of(listing, examples)
        assert {path.rpartition("/")[2]: kind for path, kind in found.items()} == truth[name]
    assert listing.classes == ("bird", "dog", "opossum", "raccoon")
    # Empty, of two classes, in train and test; and a class that is not trained on.
    left_out = 5 if part is None else 4
    assert any(f"left out: {left_out} photos" in note for note in listing.notes)


def test_cct20_without_one_of_its_files(tmp_path):
    miniature.cct20(tmp_path, RANDOM)
    (tmp_path / "eccv_18_annotation_files/trans_test_annotations.json").unlink()
    refused(r"no trans_test_annotations.json", tmp_path, "cct20", test_part="trans_test")
    refused("--test-part 'test': legal: cis_test, trans_test", tmp_path, "cct20", test_part="test")


@pytest.mark.parametrize(
    "change",
    [
        {"images": None},
        {"images": [{"id": [], "file_name": "a.jpg"}]},
        {"images": [{"id": "a", "file_name": "../../a.jpg"}]},
        {"categories": [{"id": "1", "name": "x"}]},
        {"annotations": [{"image_id": "a", "category_id": {}}]},
    ],
)
def test_cct20_annotations_that_lie(tmp_path, change):
    miniature.cct20(tmp_path, RANDOM)
    path = tmp_path / "eccv_18_annotation_files/train_annotations.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | change))
    refused(r"train_annotations.json: ", tmp_path, "cct20")


def test_hpa_stains_become_channels(data_home, tmp_path):
    folder = tmp_path / "hpa"
    folder.mkdir()
    miniature.hpa(folder, RANDOM)
    dataset = add_dataset("hpa", folder, size=16)
    first = (dataset.folder / "split.csv").read_text().split()[1].split(",")[0]
    red, green, blue, yellow = (
        np.asarray(Image.open(folder / "train" / f"{first}_{stain}.png")).astype(int)
        for stain in ("red", "green", "blue", "yellow")
    )
    half = yellow // 2
    expected = np.stack([(red + half).clip(0, 255), (green + half).clip(0, 255), blue], axis=-1)
    np.testing.assert_array_equal(dataset.images("train")[0], expected)


@pytest.mark.parametrize("target", ["", "28", "-1", "0 x"])
def test_hpa_with_other_targets(tmp_path, target):
    miniature.hpa(tmp_path, RANDOM)
    write_table(tmp_path / "train.csv", ("Id", "Target"), [("00000005-bbb7", target)])
    refused(
        r"train.csv: (no name for label .*; legal: 0, 1, 2, .*27|.* has no class)", tmp_path, "hpa"
    )


def test_eurosat_in_the_folder_of_its_second_edition(tmp_path):
    miniature.eurosat(tmp_path, RANDOM, "EuroSAT_RGB")
    miniature.eurosat(tmp_path, RANDOM, "EuroSAT_MS", ".tif")
    listing = read(tmp_path, "eurosat")
    assert listing.root == "EuroSAT_RGB"
    assert counts(listing, listing.train) == dict.fromkeys(miniature.EUROSAT, 3)
