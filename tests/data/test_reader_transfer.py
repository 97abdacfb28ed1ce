"""The datasets for transfer: tables, annotations, four stains an image."""

import json
import shutil
from collections import defaultdict

import miniatures_transfer as miniature
import numpy as np
import pytest
from miniatures import save, write_table
from PIL import Image
from reading import class_of, counts, read

from anynet_study.data import add_dataset
from anynet_study.data.source.source import Choices
from anynet_study.errors import UserError

RANDOM = np.random.default_rng(0)


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
def test_each_layout_is_recognised(tmp_path, make, layout, images, form):
    folder = tmp_path / "downloads" / "inner"
    folder.mkdir(parents=True)
    make(folder, RANDOM)
    path = {"folder": folder, "wrapped": folder.parent}.get(form)
    if path is None:
        path = shutil.make_archive(str(tmp_path / "x"), "zip", folder)
    listing = read(tmp_path / path)
    assert (listing.layout, len(listing.train)) == (layout, images)
    names = [example.name for example in listing.train]
    assert names == sorted(set(names))


def test_cassava_classes_have_names_in_the_order_of_their_numbers(tmp_path):
    miniature.cassava(tmp_path, RANDOM)
    listing = read(tmp_path)
    assert listing.classes == ("Bacterial Blight (CBB)", "Brown Streak", "Mottle", "Healthy")
    assert class_of(listing, listing.train)["train_images/1021.jpg"] == "Healthy"
    assert listing.ignored == 3


def test_cassava_without_a_name(tmp_path):
    miniature.cassava(tmp_path, RANDOM)
    (tmp_path / "label_num_to_disease_map.json").write_text('{"0": "a", "1": "b"}')
    with pytest.raises(UserError, match=r"disease_map.json: no name for label '2'"):
        read(tmp_path)


@pytest.mark.parametrize("text", ["", "[]", '{"0": 1}', "[" * 100_000, "\xff"])
def test_cassava_with_another_map(tmp_path, text):
    miniature.cassava(tmp_path, RANDOM)
    (tmp_path / "label_num_to_disease_map.json").write_bytes(text.encode("latin-1"))
    with pytest.raises(UserError, match=r"disease_map.json: not "):
        read(tmp_path)


def test_aptos_classes_are_ordered(tmp_path):
    miniature.aptos(tmp_path, RANDOM)
    listing = read(tmp_path)
    assert listing.classes == tuple("01234")
    assert class_of(listing, listing.train)["train_images/000000000007.png"] == "2"


@pytest.mark.parametrize("identifier", ["../x", "/etc/passwd", "a\\b", "..", ""])
def test_ids_that_could_name_another_folder(tmp_path, identifier):
    miniature.aptos(tmp_path, RANDOM)
    write_table(tmp_path / "train.csv", ("id_code", "diagnosis"), [(identifier, "1")])
    with pytest.raises(UserError, match=r"train.csv: .* is not an image id"):
        read(tmp_path)


def test_an_id_twice(tmp_path):
    miniature.aptos(tmp_path, RANDOM)
    rows = [("000000000007", "1"), ("000000000007", "2")]
    write_table(tmp_path / "train.csv", ("id_code", "diagnosis"), rows)
    with pytest.raises(UserError, match=r"000000000007\.png is listed twice"):
        read(tmp_path)


def test_siim_isic_patients_stay_on_one_side(data_home, tmp_path):
    folder = tmp_path / "isic"
    folder.mkdir()
    miniature.siim_isic(folder, RANDOM)
    listing = read(folder)
    assert counts(listing, listing.train) == {"malignant": 6, "benign": 24}
    dataset = add_dataset("isic", folder, size=12)
    assert dataset.meta.holdout.grouped
    sides = defaultdict(set)
    for line in (dataset.folder / "split.csv").read_text().split()[1:]:
        _, _, split, _, patient = line.split(",")
        sides[patient].add(split)
    assert len(sides) == 10
    assert all(len(found) == 1 for found in sides.values())


def test_siim_isic_with_another_target(tmp_path):
    miniature.siim_isic(tmp_path, RANDOM)
    header = ("image_name", "patient_id", "target")
    write_table(tmp_path / "train.csv", header, [("ISIC_0000000", "IP_0", "2")])
    with pytest.raises(UserError, match=r"train.csv: target '2'; legal: 0, 1"):
        read(tmp_path)


@pytest.mark.parametrize("part", [None, "trans_test", "cis_val"])
def test_cct20_has_official_parts(tmp_path, part):
    truth = miniature.cct20(tmp_path, RANDOM)
    listing = read(tmp_path, test_part=part)
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
    with pytest.raises(UserError, match=r"no trans_test_annotations.json"):
        read(tmp_path, test_part="trans_test")
    with pytest.raises(UserError, match="--test-part 'test': legal: cis_test, trans_test"):
        read(tmp_path, test_part="test")


@pytest.mark.parametrize(
    "change",
    [
        {"images": None},
        {"images": [{"id": 1}]},
        {"images": [{"id": [], "file_name": "a.jpg"}]},
        {"images": [{"id": "a", "file_name": "../../a.jpg"}]},
        {"categories": [{"id": "1", "name": "x"}]},
        {"annotations": [{"image_id": "a", "category_id": 999}]},
        {"annotations": [{"image_id": "a", "category_id": {}}]},
        {"annotations": 5},
    ],
)
def test_cct20_annotations_that_lie(tmp_path, change):
    miniature.cct20(tmp_path, RANDOM)
    path = tmp_path / "eccv_18_annotation_files/train_annotations.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | change))
    with pytest.raises(UserError, match=r"train_annotations.json: "):
        read(tmp_path)


def test_hpa_images_have_several_classes(data_home, tmp_path):
    folder = tmp_path / "hpa"
    folder.mkdir()
    truth = miniature.hpa(folder, RANDOM)
    dataset = add_dataset("hpa", folder, size=16)
    assert dataset.multi_label
    assert dataset.classes == ("0", "2", "16", "25")
    found = {}
    for split in ("train", "test"):
        lines = (dataset.folder / "split.csv").read_text().split()[1:]
        names = [line.split(",")[0] for line in lines if line.split(",")[2] == split]
        for name, row in zip(names, dataset.labels(split), strict=True):
            found[name] = {dataset.classes[label] for label in np.flatnonzero(row)}
    assert found == {name: set(map(str, labels)) for name, labels in truth.items()}


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


def test_hpa_without_a_stain(tmp_path):
    miniature.hpa(tmp_path, RANDOM)
    (tmp_path / "train/00000005-bbb7_yellow.png").unlink()
    with pytest.raises(UserError, match=r"train.csv: 1 of its 96 images .* 00000005-bbb7_yellow"):
        read(tmp_path)


@pytest.mark.parametrize("target", ["", "28", "-1", "0 x"])
def test_hpa_with_other_targets(tmp_path, target):
    miniature.hpa(tmp_path, RANDOM)
    write_table(tmp_path / "train.csv", ("Id", "Target"), [("00000005-bbb7", target)])
    with pytest.raises(UserError, match=r"train.csv: target .* legal are numbers 0 to 27"):
        read(tmp_path)


def test_eurosat_in_the_folder_of_its_second_edition(tmp_path):
    miniature.eurosat(tmp_path, RANDOM, "EuroSAT_RGB")
    miniature.eurosat(tmp_path, RANDOM, "EuroSAT_MS", ".tif")
    listing = read(tmp_path)
    assert listing.root == "EuroSAT_RGB"
    assert counts(listing, listing.train) == dict.fromkeys(miniature.EUROSAT, 3)


def test_eurosat_of_13_bands_is_refused(tmp_path):
    miniature.eurosat(tmp_path, RANDOM, "EuroSAT_MS", ".tif")
    with pytest.raises(UserError, match="EuroSAT_MS: the TIFFs of 13 bands are not read"):
        read(tmp_path)


def test_ten_folders_of_other_names_are_not_eurosat(tmp_path):
    for label in range(10):
        save(tmp_path / f"class{label}" / "1.jpg", RANDOM, label)
    assert read(tmp_path).layout == "class/image"


def test_a_choice_of_another_layout(tmp_path):
    miniature.eurosat(tmp_path, RANDOM)
    with pytest.raises(UserError, match="--test-part means nothing to layout 'EuroSAT'; legal: no"):
        add_dataset("x", tmp_path, size=8, choices=Choices(test_part="v4"))
