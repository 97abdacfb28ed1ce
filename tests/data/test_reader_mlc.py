"""MLC: patches around annotated points, photo by photo, and patches cut by somebody else."""

import re
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from miniatures import save
from miniatures_study import CORAL_LABELS, PHOTO_SIDE, mlc_points
from PIL import Image
from reading import counts, read, read_with_source, refused

from anynet_study.data import add_dataset
from anynet_study.data.source.images import Decoder
from anynet_study.data.source.source import Choices

RANDOM = np.random.default_rng(0)
NINE = {"CCA", "Turf", "Sand", "Macroalgae", "Porites"}


def test_points_of_the_nine_classes_whatever_their_case(tmp_path):
    points = mlc_points(tmp_path / "mlc", RANDOM)
    listing = read(tmp_path / "mlc", "mlc2008", patch_size=10)
    expected = Counter(
        label.capitalize() if label != "CCA" else label
        for photo, found in points.items()
        if photo.startswith("2008")
        for _, _, label in found
        if label != "Off"
    )
    assert listing.layout == "MLC (photos with points)"
    assert counts(listing, listing.train) == expected
    assert set(listing.classes) == NINE
    assert listing.test is None


def test_only_2008_is_read_and_what_is_left_out_is_said(tmp_path):
    mlc_points(tmp_path / "mlc", RANDOM)
    listing = read(tmp_path / "mlc", "mlc2008", patch_size=10)
    assert {example.file[:4] for example in listing.train} == {"2008"}
    assert any("not read: 2009" in note for note in listing.notes)
    assert any(re.search(r"points of other labels: Off \(\d+\)$", note) for note in listing.notes)
    assert any(
        "patches of 10x10 px around the points of 6 photos" in note for note in listing.notes
    )


def test_patches_show_what_is_at_the_point(tmp_path):
    points = mlc_points(tmp_path / "mlc", RANDOM)
    source, listing = read_with_source(tmp_path / "mlc", "mlc2008", patch_size=10)
    decoder = Decoder(10)
    for example in listing.train[:40]:
        photo = np.asarray(Image.open(tmp_path / "mlc" / example.file))
        row, column = example.area.row, example.area.column
        top, left = (min(max(at - 5, 0), PHOTO_SIDE - 10) for at in (row, column))
        decoded = np.asarray(decoder.decode(listing.encoded(source, example)).image)
        np.testing.assert_array_equal(decoded, photo[top : top + 10, left : left + 10])
        assert (row, column) in {point[:2] for point in points[example.file]}


def test_patches_of_a_photo_stay_on_one_side(data_home, tmp_path):
    mlc_points(tmp_path / "mlc", RANDOM, photos=12)
    choices = Choices(patch_size=12)
    dataset = add_dataset("mlc2008", tmp_path / "mlc", size=12, choices=choices)
    lines = [line.split(",") for line in (dataset.folder / "split.csv").read_text().split()[1:]]
    sides = {(group, split) for _, _, split, _, group in lines}
    assert len({group for group, _ in sides}) == len(sides)
    assert {split for _, split in sides} == {"train", "test"}
    assert dataset.meta.holdout.grouped
    assert dataset.meta.choices == {"patch_size": "12"}


def test_a_point_twice_is_one_patch(tmp_path):
    points = mlc_points(tmp_path / "mlc", RANDOM)
    listing = read(tmp_path / "mlc", "mlc2008", patch_size=10)
    names = [example.name for example in listing.train]
    wanted = sum(label != "Off" for name, p in points.items() if "2008" in name for *_, label in p)
    assert len(set(names)) == len(names) == wanted


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("1; 2", "line 2 is not"),
        ("../1; 2; CCA", "line 2 is not"),
        ("1; -2; CCA", "line 2 is not"),
        ("99999999999; 2; CCA", "line 2 is not"),
        ("\xff\xfe", "not a readable list of points"),
    ],
)
def test_points_that_are_none(tmp_path, line, reason):
    save(tmp_path / "mlc/2008/a.jpg", RANDOM, 0)
    text = f"# Row; Col; Label\n{line}\n".encode("latin-1")
    (tmp_path / "mlc/2008/a.jpg.txt").write_bytes(text)
    refused(rf"a.jpg.txt: {reason}", tmp_path / "mlc", "mlc2008")


def test_a_point_outside_its_photo_is_quarantined(data_home, tmp_path):
    mlc_points(tmp_path / "mlc", RANDOM, photos=12)
    with (tmp_path / "mlc/2008/mcr_lter1_03.jpg.txt").open("a") as file:
        file.write("500; 10; CCA\n")
    choices = Choices(patch_size=12)
    dataset = add_dataset("mlc2008", tmp_path / "mlc", size=12, choices=choices, max_broken=0.1)
    (broken,) = dataset.meta.quarantined
    assert broken.image == "2008/mcr_lter1_03.jpg/00500_00010"
    assert "outside the photo" in broken.reason


@pytest.mark.parametrize("size", [0, 5000])
def test_patch_sizes_out_of_range(tmp_path, size):
    mlc_points(tmp_path / "mlc", RANDOM)
    refused(f"--patch-size {size}", tmp_path / "mlc", "mlc2008", patch_size=size)


def test_no_point_of_the_nine(tmp_path):
    save(tmp_path / "mlc/2008/a.jpg", RANDOM, 0)
    (tmp_path / "mlc/2008/a.jpg.txt").write_text("1; 2; Off\n")
    refused("no point of the classes", tmp_path / "mlc", "mlc2008")


def patches(folder: Path, name: str) -> None:
    for label, coral in enumerate(CORAL_LABELS[:5]):
        for number in range(4):
            path = folder / coral / name.format(photo=f"mcr_{number % 2}", row=number, column=label)
            save(path, RANDOM, label)


def test_patches_are_grouped_where_their_names_say_the_photo(tmp_path):
    patches(tmp_path / "mlc", "{photo}_{row}_{column}.png")
    listing = read(tmp_path / "mlc", "mlc2008")
    assert listing.layout == "MLC (patches)"
    assert {example.group for example in listing.train} == {"mcr_0", "mcr_1"}


def test_patches_without_a_photo_in_their_names_say_so(tmp_path):
    patches(tmp_path / "mlc", "{row}{column}.png")
    listing = read(tmp_path / "mlc", "mlc2008")
    assert {example.group for example in listing.train} == {""}
    assert any("on both sides of the split" in note for note in listing.notes)
