"""`anynet-study data`: what people and programs see."""

import json
import shutil

import miniatures_shifts
import miniatures_transfer
import numpy as np
import pytest
from command import in_this_process
from miniatures import picture, save, write_miniature
from PIL import Image
from typer.testing import CliRunner

from anynet_study.cli.data import data_app
from anynet_study.data import STUDY, add_dataset
from anynet_study.data import contact_sheet as contact_sheet_of
from anynet_study.data.contact_sheet import COLUMNS, GAP, ROWS, SIDE, TITLE, contact_sheet

RUNNER = CliRunner()


def data(*arguments: object) -> str:
    result = RUNNER.invoke(data_app, list(map(str, arguments)), catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.stdout


def test_add_reports_what_it_found_and_left_out(data_home, tmp_path):
    source = write_miniature("natural", tmp_path)
    broken = source / "seg_train/seg_train/forest/00003.jpg"
    broken.write_bytes(broken.read_bytes()[:-200])
    output = data("add", "natural", "--from", source, "--size", 16, "--max-broken", 0.05)
    assert "natural: 6 classes, 48 training and 24 test images of 16x16 px" in output
    assert "left out: 1 unreadable image\n  seg_train/seg_train/forest/00003.jpg: " in output
    assert "ignored: 5 files" in output


def test_add_takes_the_size_from_the_catalog(data_home, tmp_path):
    source = write_miniature("cifar100", tmp_path, classes=20)
    output = data("add", "cifar100", "--from", source)
    assert "of 32x32 px" in output
    assert "note: the study's cifar100 has 100 classes" in output


def test_add_describes_splits_and_parts(data_home, tmp_path):
    source = write_miniature("ham10000", tmp_path)
    output = data("add", "ham10000", "--from", source, "--size", 8, "--seed", 2, "--fraction", 0.5)
    assert "test split: 20% of each class held out with seed 2, whole groups (split.csv)" in output
    assert "part of the source: a share of 0.5 of each class, with seed 2" in output


def test_list_shows_the_catalog_and_what_is_there(data_home, tmp_path):
    data("add", "mine", "--from", write_miniature("concrete", tmp_path), "--size", 8)
    data("add", "damaged", "--from", tmp_path / "concrete", "--size", 8)
    (data_home / "damaged" / "test_labels.npy").unlink()
    listed = json.loads(data("list", "--json"))
    assert listed["root"] == str(data_home)
    rows = {row["name"]: row for row in listed["datasets"]}
    assert list(rows)[:9] == list(STUDY)
    assert {row["kind"] for row in rows.values()} == {
        *("study", "transfer", "budget", "test set"),
        *("built-in", "own"),
    }
    assert rows["imagenet"]["state"] == "missing"
    assert rows["imagenet"]["classes"] == 1000
    assert rows["digits"]["state"] == "built-in"
    assert rows["damaged"]["state"] == "damaged"
    assert 24 * 8 * 8 * 3 < rows["mine"].pop("bytes") < 20_000
    assert rows["mine"] == {
        "name": "mine",
        "kind": "own",
        "state": "present",
        "classes": 2,
        "train": 24,
        "test": 6,
        "size": 8,
        "source": "concrete",
        "licence": None,
    }
    output = data("list")
    assert all(name in output for name in rows)
    assert max(map(len, output.splitlines()[1:])) <= 80


def test_info_shows_classes_and_statistics(data_home):
    output = data("info", "digits", "--verify")
    assert "digits: 10 classes, 1438 training and 359 test images of 8x8 px" in output
    shown = json.loads(data("info", "digits", "--json"))
    assert shown["classes"] == list("0123456789")
    assert sum(shown["train"]["per_class"]) == 1438
    assert shown["holdout"] == {"seed": 0, "share": 0.2, "grouped": False}
    assert len(shown["mean"]) == len(shown["std"]) == 3
    assert shown["quarantined"] == []


def test_info_names_what_repeats(data_home, tmp_path):
    source = write_miniature("natural", tmp_path)
    train, test = source / "seg_train/seg_train", source / "seg_test/seg_test"
    shutil.copy(train / "sea/00001.jpg", test / "sea/leak.jpg")
    shutil.copy(train / "sea/00001.jpg", train / "street/twin.jpg")
    data("add", "natural", "--from", source, "--size", 16)
    output = data("info", "natural")
    assert "1 test image also in train, 1 repeat within train, 0 within test" in output
    first = "seg_train/seg_train/sea/00001.jpg"
    assert f"  seg_train/seg_train/street/twin.jpg is {first}, of another class\n" in output
    assert f"  seg_test/seg_test/sea/leak.jpg is {first} in train\n" in output
    repeated = json.loads(data("info", "natural", "--json"))["repeated"]
    assert {(row["split"], row["first_split"], row["same_class"]) for row in repeated} == {
        ("train", "train", False),
        ("test", "train", True),
    }


def test_a_test_set_is_told_as_one(data_home, tmp_path):
    folder = tmp_path / "imagenet-r"
    miniatures_shifts.wnid_folders(folder, np.random.default_rng(0), [1, 4])
    output = data("add", "imagenet-r", "--from", folder, "--size", 12)
    assert "imagenet-r: 2 classes, 6 test images of 12x12 px" in output
    assert "test set only: nothing to train on" in output
    assert "test mean " in output
    assert "note: the known imagenet-r has 200 classes" in output
    (row,) = (
        row for row in json.loads(data("list", "--json"))["datasets"] if row["name"] == "imagenet-r"
    )
    assert (row["state"], row["kind"], row["train"], row["test"]) == ("present", "test set", 0, 6)


def test_names_do_not_command_the_terminal(data_home, tmp_path):
    """Names of classes are anybody's text: a line each, without control characters."""
    source = tmp_path / "odd"
    for number, name in enumerate(("two\nlines", "\x1b[31mred", "\x9bclear")):
        for image in range(4):
            save(source / name / f"{image}.png", np.random.default_rng(4 * number + image), number)
    (source / "two\nlines" / "\x1b[2J.svg").touch()
    output = data("add", "odd", "--from", source, "--size", 8) + data("info", "odd")
    assert not [letter for letter in output if not letter.isprintable() and letter != "\n"]
    assert r"two\x0alines" in output
    assert r"(two\x0alines/\x1b[2J.svg)" in output
    assert data("info", "odd", "--picture", tmp_path / "odd.png")


def test_errors_do_not_command_the_terminal(tmp_path):
    (tmp_path / "a\x1b[31m").mkdir()
    arguments = ("data", "add", "x", "--size", 8, "--from", tmp_path / "a\x1b[31m")
    done = in_this_process(tmp_path, *arguments, expect=2)
    assert r"a\x1b[31m: layout not recognised" in done.stderr


def test_class_names_are_not_markup(data_home, tmp_path):
    source = write_miniature("concrete", tmp_path)
    (source / "Positive").rename(source / "[red]Positive")
    assert "[red]Positive" in data("add", "x", "--from", source, "--size", 8) + data("info", "x")


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


def test_a_test_set_and_several_labels_have_a_sheet_too(data_home, tmp_path):
    random = np.random.default_rng(0)
    root = miniatures_shifts.wnid_folders(tmp_path / "imagenet-a", random, [1, 4])
    assert contact_sheet(add_dataset("a", root, size=16)).height == TITLE + 2 * (SIDE + GAP)
    (tmp_path / "hpa").mkdir()
    miniatures_transfer.hpa(tmp_path / "hpa", random)
    several = add_dataset("hpa", tmp_path / "hpa", size=16)
    assert contact_sheet(several).height == TITLE + 4 * (SIDE + GAP)


def test_names_in_any_script_are_drawn_or_said_to_be_lacking() -> None:
    font = contact_sheet_of._font()
    assert contact_sheet_of._lacking(font, ["Äpfel grün", "Яблоко", "μήλο"]) == 0
    assert contact_sheet_of._lacking(font, ["苹果", "a"]) == 2
