"""Somebody's table of images: guessed, chosen, with splits and groups, and what is refused."""

import csv
from pathlib import Path

import numpy as np
import pytest
from miniatures import save, write_table
from reading import class_of, counts, read

from anynet_study.data.readers import safe_files
from anynet_study.errors import UserError

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


@pytest.mark.parametrize(
    ("header", "told"),
    [
        (("image_id", "label"), "images in column 'image_id', classes in 'label'"),
        (("Image", "what it shows"), "images in column 'Image', classes in 'what it shows'"),
        (("species", "FILE"), "images in column 'FILE', classes in 'species'"),
        (("path", ""), "images in column 'path', classes in ''"),
    ],
)
def test_columns_are_guessed_and_told(tmp_path, header, told):
    names = images(tmp_path)
    rows = [(name, "ab"[n % 2]) for n, name in enumerate(names)]
    rows = [row[::-1] for row in rows] if header[0] == "species" else rows
    table(tmp_path, header, rows)
    (note,) = read(tmp_path).notes
    assert told in note
    assert note.startswith("x.csv: ")


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
        with pytest.raises(UserError, match=told):
            read(tmp_path, **(chosen | {option: "sort"}))
    with pytest.raises(UserError, match=r"no table for --table 'y\.csv': x\.csv has id, where"):
        read(tmp_path, table="y.csv")


def test_a_chosen_column_tells_which_table(tmp_path):
    names = images(tmp_path)
    table(tmp_path, ("path", "class"), [(name, "a") for name in names], "one.csv")
    rows = [(name, "xy"[n % 2]) for n, name in enumerate(names)]
    table(tmp_path, ("path", "kind"), rows, "two.csv")
    assert read(tmp_path, label_column="kind").classes == ("x", "y")


def test_a_column_of_splits(tmp_path):
    names = images(tmp_path, 12)
    parts = ("train", "Train", "val", "test")
    rows = [(name, "ab"[n % 2], parts[n % 4]) for n, name in enumerate(names)]
    table(tmp_path, ("path", "class", "split"), rows)
    listing = read(tmp_path)
    assert (len(listing.train), len(listing.test)) == (6, 3)
    assert class_of(listing, listing.test) == {names[n]: "b" for n in (3, 7, 11)}


def test_validation_is_the_test_split_where_there_is_none(tmp_path):
    names = images(tmp_path)
    rows = [(name, "ab"[n // 4], ("train", "valid")[n % 2]) for n, name in enumerate(names)]
    table(tmp_path, ("path", "class", "split"), rows)
    listing = read(tmp_path)
    assert (len(listing.train), len(listing.test)) == (4, 4)


def test_a_table_a_split(tmp_path):
    names = images(tmp_path)
    rows = [(name, "ab"[n % 2]) for n, name in enumerate(names)]
    table(tmp_path, ("path", "class"), rows[:6], "Train.csv")
    table(tmp_path, ("path", "class"), rows[6:], "test.csv")
    listing = read(tmp_path)
    assert (len(listing.train), len(listing.test)) == (6, 2)


def test_several_tables_are_asked_about(tmp_path):
    names = images(tmp_path)
    rows = [(name, "ab"[n % 2]) for n, name in enumerate(names)]
    table(tmp_path, ("path", "class"), rows, "one.csv")
    table(tmp_path, ("path", "class"), rows[::2], "two.csv")
    with pytest.raises(UserError, match=r"one.csv, two.csv could all be .* --table"):
        read(tmp_path)
    assert len(read(tmp_path, table="one.csv").train) == 8


@pytest.mark.parametrize(
    ("labels", "classes"),
    [(("10", "9", "100"), ("9", "10", "100")), (("b10", "b9", "a"), ("a", "b10", "b9"))],
)
def test_numbers_are_in_their_order(tmp_path, labels, classes):
    names = images(tmp_path, 6)
    table(tmp_path, ("path", "class"), [(n, labels[k % 3]) for k, n in enumerate(names)])
    assert read(tmp_path).classes == classes


def test_a_tab_separated_table_with_a_byte_order_mark(tmp_path):
    names = images(tmp_path)
    lines = ["path\tclass", *(f"{name}\t{'ab'[n % 2]}" for n, name in enumerate(names))]
    (tmp_path / "x.tsv").write_text("\ufeff" + "\r\n".join(lines))
    assert counts(read(tmp_path), read(tmp_path).train) == {"a": 4, "b": 4}


def test_the_table_comes_before_the_folders_and_says_so(tmp_path):
    names = [*images(tmp_path, 4, "a"), *images(tmp_path, 4, "b")]
    table(tmp_path, ("path", "class"), [(name, "xy"[n % 2]) for n, name in enumerate(names)])
    listing = read(tmp_path)
    assert listing.classes == ("x", "y")
    assert any("--layout class-folders" in note for note in listing.notes)
    assert read(tmp_path, layout="class-folders").classes == ("a", "b")


@pytest.mark.parametrize(
    "path", ["../photos/000.jpg", "/etc/passwd", "photos\\000.jpg", "photos/../../x.jpg", ""]
)
def test_paths_that_lead_elsewhere(tmp_path, path):
    (tmp_path / "outside.jpg").touch()
    folder = tmp_path / "in"
    images(folder)
    table(folder, ("path", "class"), [(path, "a"), ("photos/001.jpg", "b")])
    with pytest.raises(UserError, match=r"x.csv: .* is not an image of this folder"):
        read(folder)


@pytest.mark.parametrize(
    ("rows", "reason"),
    [
        (
            [("photos/000.jpg", "a"), ("photos/999.jpg", "b")],
            "1 of its 2 images are not below .* first is photos/999.jpg",
        ),
        ([("000", "a"), ("photos/000.jpg", "b")], "photos/000.jpg is listed twice"),
        ([("photos/000.jpg", ""), ("photos/001.jpg", "b")], "has no class"),
        ([], "the table has no rows"),
    ],
)
def test_tables_that_lie(tmp_path, rows, reason):
    images(tmp_path)
    table(tmp_path, ("path", "class"), rows)
    with pytest.raises(UserError, match=reason):
        read(tmp_path)


def test_a_name_that_two_images_have(tmp_path):
    images(tmp_path, 4, "a")
    images(tmp_path, 4, "b")
    table(tmp_path, ("path", "class"), [("000.jpg", "x"), ("b/001.jpg", "y")])
    with pytest.raises(UserError, match=r"more than one image '000.jpg'"):
        read(tmp_path)


def test_a_split_that_is_none(tmp_path):
    names = images(tmp_path)
    table(tmp_path, ("path", "class", "split"), [(name, "a", "fold 3") for name in names])
    with pytest.raises(UserError, match=r"column 'split' says 'fold 3'; legal: train"):
        read(tmp_path)


def test_a_field_of_a_megabyte(tmp_path):
    images(tmp_path)
    table(tmp_path, ("path", "class"), [("photos/000.jpg", "a" * (1 << 20))])
    with pytest.raises(UserError, match=r"x.csv: not a readable table"):
        read(tmp_path)


def test_a_table_of_endless_rows(tmp_path, monkeypatch):
    monkeypatch.setattr(safe_files, "MAX_ROWS", 100)
    images(tmp_path)
    (tmp_path / "x.csv").write_text("path,label\n" + ",\n" * 101)
    with pytest.raises(UserError, match=r"x\.csv: not a readable table \(more than 100 rows\)"):
        read(tmp_path)


def test_a_table_without_images_is_not_one(tmp_path):
    table(tmp_path, ("path", "class"), [("a.jpg", "a")])
    with pytest.raises(UserError, match="layout not recognised"):
        read(tmp_path)


def test_quoted_text_is_read_as_text(tmp_path):
    names = images(tmp_path)
    with (tmp_path / "x.csv").open("w", newline="") as file:
        rows = csv.writer(file, quoting=csv.QUOTE_ALL)
        rows.writerows(
            [("path", "class"), *((name, f"a, {n % 2}") for n, name in enumerate(names))]
        )
    assert read(tmp_path).classes == ("a, 0", "a, 1")
