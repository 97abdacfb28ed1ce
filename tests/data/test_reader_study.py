"""ImageNet as on Kaggle, HAM10000 and Powerline: labels in tables and in file names."""

import csv
import shutil
from collections import defaultdict
from pathlib import Path

import numpy as np
import pytest
from miniatures import HAM, save, write_miniature
from reading import class_of, counts, read

from anynet_study.errors import UserError


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


def test_kaggle_with_its_table_inside(tmp_path):
    source = write_miniature("imagenet_kaggle", tmp_path)
    labels = class_of(read(source), read(source).test)
    (source / "LOC_val_solution.csv").rename(source / "ILSVRC/LOC_val_solution.csv")
    found = read(source / "ILSVRC")
    assert {
        f"ILSVRC/{name}": label for name, label in class_of(found, found.test).items()
    } == labels


def test_kaggle_with_its_archive_beside_the_table(tmp_path):
    source = write_miniature("imagenet_kaggle", tmp_path)
    archive = str(source / "imagenet_object_localization_patched2019")
    expected = counts(read(source), read(source).test)
    shutil.make_archive(archive, "gztar", source, "ILSVRC")
    shutil.rmtree(source / "ILSVRC")
    listing = read(source)
    assert listing.layout == "ImageNet (Kaggle)"
    assert counts(listing, listing.test) == expected


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
    assert counts(listing, listing.train) == HAM
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
    assert counts(listing, listing.train) == {"no powerline": 16, "powerline": 16}


def test_powerline_image_without_a_label(tmp_path):
    source = write_miniature("powerline", tmp_path)
    save(source / "Visible Light (VL)" / "zebra.bmp", np.random.default_rng(0), 0)
    with pytest.raises(UserError, match=r"zebra.bmp: no label"):
        read(source)
