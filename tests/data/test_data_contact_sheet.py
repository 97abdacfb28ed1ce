"""The picture of a dataset: the right images, in the right rows, whatever their size."""

import miniatures_shifts
import miniatures_transfer
import numpy as np
import pytest
from miniatures import picture, write_miniature
from PIL import Image
from typer.testing import CliRunner

from anynet_study.cli.data import data_app
from anynet_study.data import add_dataset
from anynet_study.data.contact_sheet import COLUMNS, GAP, ROWS, SIDE, TITLE, contact_sheet


def rows_of(sheet: Image.Image, classes: int) -> list[np.ndarray]:
    """The pictures of each row, without the room of the names."""
    pixels = np.asarray(sheet)
    left = sheet.width - COLUMNS * (SIDE + GAP)
    tops = [TITLE + row * (SIDE + GAP) for row in range(classes)]
    return [pixels[top : top + SIDE, left:] for top in tops]


def colour(label: int) -> np.ndarray:
    return picture(np.random.default_rng(0), label, 60, 60).mean(axis=(0, 1))


@pytest.mark.parametrize("size", [16, 24, 100])
def test_a_row_shows_its_class(data_home, tmp_path, size):
    dataset = add_dataset("natural", write_miniature("natural", tmp_path), size=size)
    for label, row in enumerate(rows_of(contact_sheet(dataset), 6)):
        first = row[8 : SIDE - 8, 8 : SIDE - 8].mean(axis=(0, 1))
        np.testing.assert_allclose(first, colour(label), atol=12)


def test_small_images_keep_their_pixels(data_home, tmp_path):
    dataset = add_dataset("natural", write_miniature("natural", tmp_path), size=16)
    first = rows_of(contact_sheet(dataset), 6)[0][:SIDE, :SIDE]
    small = first[::4, ::4]
    np.testing.assert_array_equal(np.kron(small, np.ones((4, 4, 1), np.uint8)), first)
    assert (dataset.images("train")[:] == small).all(axis=(1, 2, 3)).any()


def test_many_classes_are_some_of_them(data_home, tmp_path):
    source = write_miniature("cifar100", tmp_path)
    dataset = add_dataset("cifar100", source)
    sheet = contact_sheet(dataset)
    assert sheet.height == TITLE + ROWS * (SIDE + GAP)


def test_the_command_writes_a_png_and_no_half_of_one(data_home, tmp_path):
    add_dataset("natural", write_miniature("natural", tmp_path), size=16)
    target = tmp_path / "sheet.png"
    arguments = ["info", "natural", "--picture", str(target)]
    result = CliRunner().invoke(data_app, arguments, catch_exceptions=False)
    assert result.exit_code == 0
    with Image.open(target) as sheet:
        assert sheet.format == "PNG"
    first = target.read_bytes()
    CliRunner().invoke(data_app, arguments, catch_exceptions=False)
    assert target.read_bytes() == first


def test_a_test_set_and_several_labels_have_a_sheet_too(data_home, tmp_path):
    random = np.random.default_rng(0)
    root = miniatures_shifts.wnid_folders(tmp_path / "imagenet-a", random, [1, 4])
    assert contact_sheet(add_dataset("a", root, size=16)).height == TITLE + 2 * (SIDE + GAP)
    (tmp_path / "hpa").mkdir()
    miniatures_transfer.hpa(tmp_path / "hpa", random)
    several = add_dataset("hpa", tmp_path / "hpa", size=16)
    assert contact_sheet(several).height == TITLE + 4 * (SIDE + GAP)
